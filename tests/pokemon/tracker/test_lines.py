"""Single rules of the protocol: Illusion, Transform, Baton Pass, called moves, toxic, stages, strictness."""

from __future__ import annotations

import pytest

from ludory.envs.pokemon.tracker import BattleState, Tracker
from ludory.errors import BattleLineError, OptionError

START = """|player|p1|A|
|player|p2|B|
|teamsize|p1|6
|teamsize|p2|6
|start
|switch|p1a: Gengar|Gengar, L80, M|200/200
|switch|p2a: Blissey|Blissey, L75, F|100/100
|turn|1"""


def after(lines: str, gen: int = 4, perspective: int | None = 0) -> BattleState:
    """What is known after the start and these lines."""
    tracker = Tracker(gen, perspective, strict=True)
    tracker.feed_all(START.split("\n"))
    tracker.feed_all(line.strip() for line in lines.strip().split("\n") if line.strip())
    return tracker.snapshot()


def test_an_illusion_that_ends_gives_the_shown_one_back_what_it_had() -> None:
    state = after(
        """|switch|p2a: Zapdos|Zapdos, L76|100/100
        |-damage|p2a: Zapdos|80/100
        |switch|p2a: Blissey|Blissey, L75, F|100/100
        |turn|2
        |switch|p2a: Zapdos|Zapdos, L76|80/100
        |move|p2a: Zapdos|Night Daze|p1a: Gengar
        |-damage|p2a: Zapdos|30/100
        |-boost|p2a: Zapdos|spa|2
        |replace|p2a: Zoroark|Zoroark, L78, M
        |-end|p2a: Zoroark|Illusion""",
        gen=5,
    )
    blissey, zapdos, zoroark = state.foe.pokemon[:3]
    assert (zapdos.species, zapdos.hp, zapdos.moves, zapdos.active) == ("zapdos", 80, (), False)
    assert (zoroark.species, zoroark.hp, zoroark.active, zoroark.stages[2]) == ("zoroark", 30, True, 2)
    assert [move.id for move in zoroark.moves] == ["nightdaze"]
    assert blissey.hp == 100
    assert state.foe.active == 2


def test_a_pokemon_that_was_only_ever_an_illusion_is_unseen_again() -> None:
    state = after(
        """|switch|p2a: Zapdos|Zapdos, L76|100/100
        |replace|p2a: Zoroark|Zoroark, L78, M""",
        gen=5,
    )
    assert [pokemon.species for pokemon in state.foe.pokemon] == ["blissey", "zoroark", None, None, None, None]


def test_transform_lasts_until_it_leaves() -> None:
    lines = """|switch|p2a: Ditto|Ditto, L80|100/100
        |move|p1a: Gengar|Shadow Ball|p2a: Ditto
        |-boost|p1a: Gengar|spa|1
        |-transform|p2a: Ditto|p1a: Gengar
        |move|p2a: Ditto|Shadow Ball|p1a: Gengar"""
    ditto = after(lines).foe.pokemon[1]
    assert (ditto.species, ditto.types, ditto.transformed, ditto.stages[2]) == ("gengar", ("ghost", "poison"), True, 1)
    assert [(move.id, move.pp) for move in ditto.temporary_moves] == [("shadowball", 4)]
    assert ditto.moves == ()
    later = after(lines + "\n|switch|p2a: Blissey|Blissey, L75, F|100/100").foe.pokemon[1]
    assert (later.species, later.types, later.transformed, later.temporary_moves) == ("ditto", ("normal",), False, ())


@pytest.mark.parametrize(("how", "stages", "volatiles"), [("switch", 2, {"substitute"}), ("drag", 0, set())])
def test_baton_pass_hands_on_stages_and_listed_conditions(how: str, stages: int, volatiles: set[str]) -> None:
    state = after(
        f"""|-boost|p2a: Blissey|spa|2
        |-start|p2a: Blissey|Substitute
        |-start|p2a: Blissey|Encore
        |move|p2a: Blissey|Baton Pass|p2a: Blissey
        |{how}|p2a: Zapdos|Zapdos, L76|100/100"""
    )
    assert state.foe.pokemon[1].stages[2] == stages
    assert set(state.foe.volatiles) == volatiles
    assert state.foe.pokemon[0].stages[2] == 0


@pytest.mark.parametrize(
    "tag", ["[from] move: Sleep Talk", "[from]Metronome", "[from] ability: Dancer", "[from]lockedmove"]
)
def test_called_moves_are_not_learnt_and_cost_nothing(tag: str) -> None:
    assert after(f"|move|p2a: Blissey|Ice Beam|p1a: Gengar|{tag}").foe.pokemon[0].moves == ()


def test_pressure_costs_two() -> None:
    state = after(
        "|-ability|p1a: Gengar|Pressure\n|move|p2a: Blissey|Ice Beam|p1a: Gengar\n|move|p2a: Blissey|Soft-Boiled|p2a: Blissey"
    )
    assert [(move.id, move.pp, move.max_pp) for move in state.foe.pokemon[0].moves] == [
        ("icebeam", 14, 16),
        ("softboiled", 15, 16),
    ]


def test_toxic_counts_from_its_entry_and_sleep_by_turns_slept() -> None:
    state = after(
        """|-status|p2a: Blissey|tox
        |upkeep
        |turn|2
        |upkeep"""
    )
    assert state.foe.pokemon[0].status_turns == 2
    state = after(
        """|-status|p2a: Blissey|tox
        |upkeep
        |switch|p2a: Zapdos|Zapdos, L76|100/100
        |switch|p2a: Blissey|Blissey, L75, F|100/100 tox"""
    )
    assert (state.foe.pokemon[0].status, state.foe.pokemon[0].status_turns) == ("tox", 0)
    state = after("|-status|p2a: Blissey|slp\n|upkeep\n|cant|p2a: Blissey|slp\n|upkeep\n|cant|p2a: Blissey|slp")
    assert state.foe.pokemon[0].status_turns == 2


def test_stages() -> None:
    moved = """|-boost|p2a: Blissey|atk|6
        |-boost|p2a: Blissey|atk|3
        |-unboost|p2a: Blissey|spe|1
        |-setboost|p1a: Gengar|spa|4"""
    assert after(moved).foe.pokemon[0].stages == (6, 0, 0, 0, -1, 0, 0)
    assert after(moved + "\n|-clearnegativeboost|p2a: Blissey").foe.pokemon[0].stages == (6, 0, 0, 0, 0, 0, 0)
    assert (
        after(moved + "\n|-clearpositiveboost|p2a: Blissey|p1a: Gengar|move: Spectral Thief").foe.pokemon[0].stages[0]
        == 0
    )
    assert after(moved + "\n|-invertboost|p2a: Blissey").foe.pokemon[0].stages == (-6, 0, 0, 0, 1, 0, 0)
    assert after(moved + "\n|-copyboost|p1a: Gengar|p2a: Blissey").own.pokemon[0].stages == (6, 0, 0, 0, -1, 0, 0)
    swapped = after(moved + "\n|-swapboost|p1a: Gengar|p2a: Blissey|atk, spa")
    assert swapped.own.pokemon[0].stages == (6, 0, 0, 0, 0, 0, 0)
    assert swapped.foe.pokemon[0].stages == (0, 0, 4, 0, -1, 0, 0)
    assert after(moved + "\n|-clearallboost").foe.pokemon[0].stages == (0,) * 7


def test_sides_can_be_swapped_and_cleared() -> None:
    lines = "|-sidestart|p1: A|Spikes\n|-sidestart|p1: A|Spikes\n|-sidestart|p2: B|move: Sticky Web\n|-sidestart|p2: B|Reflect"
    state = after(lines + "\n|-swapsideconditions")
    assert (state.own.conditions, state.foe.conditions) == ({"stickyweb": 1, "reflect": 1}, {"spikes": 2})
    assert after(lines + "\n|-sideend|p1: A|Spikes|[from] move: Rapid Spin").own.conditions == {}


def test_items_and_abilities_are_inferred() -> None:
    state = after(
        """|-damage|p1a: Gengar|150/200|[from] ability: Rough Skin|[of] p2a: Blissey
        |-heal|p2a: Blissey|100/100|[from] item: Leftovers"""
    )
    assert (state.foe.pokemon[0].ability, state.foe.pokemon[0].item) == ("roughskin", "leftovers")
    lost = after("|-enditem|p2a: Blissey|Leftovers|[from] move: Knock Off|[of] p1a: Gengar").foe.pokemon[0]
    assert (lost.item, lost.item_lost) == ("", True)
    stolen = after("|-item|p1a: Gengar|Leftovers|[from] move: Thief|[of] p2a: Blissey", gen=2)
    assert (stolen.own.pokemon[0].item, stolen.foe.pokemon[0].item) == ("leftovers", "")


def test_terastallizing_changes_types_for_good() -> None:
    lines = "|-terastallize|p2a: Blissey|Water"
    assert after(lines, gen=9).foe.pokemon[0].types == ("water",)
    assert after(lines, gen=9).foe.spent == ("tera",)
    back = after(lines + "\n|switch|p2a: Zapdos|Zapdos, L76|100/100", gen=9).foe.pokemon[0]
    assert (back.types, back.terastallized, back.tera_type) == (("water",), True, "water")


def test_preview_orders_the_foe() -> None:
    tracker = Tracker(9, 0, strict=True)
    tracker.feed_all(["|clearpoke", "|poke|p2|Arceus-*|", "|poke|p2|Zapdos, L76|", "|teampreview"])
    assert tracker.snapshot().preview
    tracker.feed("|switch|p2a: Z|Zapdos, L76|100/100")
    tracker.feed("|switch|p2a: God|Arceus-Water|100/100")
    foe = tracker.snapshot().foe
    assert [(pokemon.nickname, pokemon.species) for pokemon in foe.pokemon[:2]] == [
        ("God", "arceuswater"),
        ("Z", "zapdos"),
    ]


def test_a_nickname_may_be_the_name_of_another_species() -> None:
    state = after("|switch|p2a: Zapdos|Magikarp, L90|100/100\n|-damage|p2a: Zapdos|50/100")
    assert (state.foe.pokemon[1].species, state.foe.pokemon[1].hp) == ("magikarp", 50)


@pytest.mark.parametrize(
    "line",
    [
        "|-newkind|p1a: Gengar",
        "|-damage|p2a: Blissey|x/100",
        "|-boost|p2a: Blissey|luck|1",
        "|move|p2a: Blissey|Nonsense|",
        "|turn|",
        "|-item||Leftovers|[from] ability: Frisk",
    ],
)
def test_bad_lines_are_kept_or_refused(line: str) -> None:
    tracker = Tracker(4, 0)
    tracker.feed_all(START.split("\n"))
    tracker.feed(line)
    assert tracker.unknown == [line]
    with pytest.raises(BattleLineError, match="cannot read the line"):
        after(line)


@pytest.mark.parametrize(
    "line", ["|tier|[Gen 4] OU", "|j|☆Somebody", "|c|Somebody|tie", "|raw|<b>x</b>", "|inactive|60 sec", "|", "hello"]
)
def test_chat_and_the_like_change_nothing(line: str) -> None:
    assert after(line) == after("")


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(OptionError, match="perspective"):
        Tracker(4, 2)
    with pytest.raises(OptionError, match="generation"):
        Tracker(11, 0)
    with pytest.raises(OptionError, match="spectator"):
        Tracker(4, None).request({"side": {"pokemon": []}}, [])
