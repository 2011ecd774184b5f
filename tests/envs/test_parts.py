"""The parts of a `Game`, and the old spellings from before it had parts."""

from __future__ import annotations

import pickle
import warnings
from copy import deepcopy
from dataclasses import fields, replace

import numpy as np
import pytest
from games.corridor import corridor
from games.external import POOL_OPTIONS, TicTacToeEngine, tic_tac_toe
from games.high_card import HIGH_CARD

import ludory
from ludory.envs import (
    Analysis,
    Field,
    Game,
    GameFacts,
    Head,
    Kernels,
    Look,
    ObservationSpec,
    Records,
    Rules,
    flat_segments,
    header,
    make_engine,
    make_game,
)
from ludory.envs.game import OLD_NAMES, POSITIONS
from ludory.errors import PluginError

FACTS, RULES = HIGH_CARD.facts, HIGH_CARD.rules


def name(head, value):
    return f"move {value}"


def draw(state, i, seat):
    return "a card"


# --- Parts ----------------------------------------------------------------------------------------------------------------


def test_a_game_is_copied_and_pickled_by_its_parts():
    own = Game(FACTS, RULES, Look(text=draw), analysis=Analysis(progress=draw), family="cards")
    assert deepcopy(own) is own
    assert pickle.loads(pickle.dumps(own)) == own
    assert repr(own) == repr(replace(own, look=Look()))


def test_a_replaced_part_is_not_lost_by_pickle():
    game = make_game("Arena-v0")
    assert pickle.loads(pickle.dumps(replace(game, look=replace(game.look, text=draw)))).look.text is draw


def test_conventions_follow_an_option_of_the_engine():
    records = Records({"slots": "left to right"}, {"workers": lambda workers: {"rules": f"of {workers} workers"}})
    game = Game(FACTS, Rules(engine=TicTacToeEngine, engine_options=POOL_OPTIONS), records=records)
    assert game.records.conventions == {"slots": "left to right", "rules": "of 0 workers"}
    assert make_game(game, workers=2).records.conventions["rules"] == "of 2 workers"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (
            {"rules": HIGH_CARD.rules.kernels},
            r"Game\(rules=\) is of type Kernels, must be Rules; type rules=Rules\(",
        ),
        ({"look": {"text": draw}}, r"Game\(look=\) is of type dict, must be Look; type look=Look\(...\)"),
        ({"language": "rules"}, r"Game\(language=\) is of type str, must be TextCodec; type language=TextCodec\("),
        ({"analysis": None}, r"Game\(analysis=\) is of type NoneType, must be Analysis; type analysis=Analysis\("),
        ({"records": Look()}, r"Game\(records=\) is of type Look, must be Records; type records=Records\(...\)"),
    ],
)
def test_a_part_of_the_wrong_type_is_refused_in_one_line(parts, said):
    with pytest.raises(PluginError, match=said) as caught:
        Game(FACTS, **{"rules": RULES, **parts})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Game(FACTS, RULES, famly="cards"), r"Game\(famly=\): unknown keyword; did you mean family=\?"),
        (lambda: Game(FACTS, RULES, txt=draw), r"Game\(txt=\): .* did you mean look=Look\(text=\)\?"),
        (lambda: Game(FACTS, kernel=RULES), r"did you mean rules=Rules\(kernels=\)\?"),
        (lambda: replace(HIGH_CARD, codecs=None), r"did you mean language=\?"),
        (lambda: Look(txt=draw), r"Look\(txt=\): unknown keyword; did you mean text=\?"),
        (lambda: Rules(kernel=None), r"Rules\(kernel=\): unknown keyword; did you mean kernels=\?"),
        (lambda: Analysis(zzz=None), r"Analysis\(zzz=\): unknown keyword; it takes rooms=, progress=, "),
    ],
)
def test_an_unknown_keyword_is_answered_with_the_nearest_one(make, said):
    with pytest.raises(TypeError, match=said):
        make()


# --- Old spellings --------------------------------------------------------------------------------------------------------

OLD = pytest.mark.filterwarnings("ignore:.* is the old spelling:DeprecationWarning")


@OLD
@pytest.mark.parametrize("make", [lambda: HIGH_CARD, tic_tac_toe, corridor])
def test_old_keywords_and_attributes_are_those_of_the_parts(make):
    game = make()
    old = {spelling: getattr(game, spelling) for spelling in OLD_NAMES}
    assert Game(game.facts, **old, id=game.id, options=game.options, family=game.family) == game
    for spelling, (part, new) in OLD_NAMES.items():
        whole = getattr(game, part)
        assert old[spelling] is (getattr(whole, new) if new else whole)
    assert {*OLD_NAMES, "facts", "id", "options", "family"} == {*POSITIONS}


@OLD
def test_old_positions():
    fields_of_state, kernels = header(2) | {"count": Field("int8")}, RULES.kernels
    assert Game(FACTS, fields_of_state, kernels) == Game(FACTS, Rules(fields_of_state, kernels))
    assert Game(FACTS, fields_of_state, kernels, name) == Game(
        FACTS, Rules(fields_of_state, kernels), Look(action_name=name)
    )
    assert Game(*(getattr(HIGH_CARD, spelling) for spelling in POSITIONS)) == HIGH_CARD


@OLD
def test_replacing_by_old_keywords_keeps_the_rest_of_a_part():
    bare = RULES.kernels._replace(redeal=None)
    changed = replace(HIGH_CARD, kernels=bare, text=draw, codec=None, id="Mine")
    assert changed == replace(
        HIGH_CARD,
        rules=replace(RULES, kernels=bare),
        look=replace(HIGH_CARD.look, text=draw),
        language=None,
        id="Mine",
    )
    assert changed.look.info is HIGH_CARD.look.info


@OLD
def test_a_game_in_the_old_spelling_plays():
    game = Game(FACTS, fields=RULES.fields, kernels=RULES.kernels)
    games = [make_engine(one, 4, seed=1, compiled=False) for one in (game, HIGH_CARD)]
    for engine in games:
        engine.reset()
    assert np.array_equal(games[0].legal(), games[1].legal())
    assert all(np.array_equal(a, b) for a, b in zip(games[0].state, games[1].state, strict=True))


def test_the_warning_names_the_new_spelling_once_for_each_place():
    spec = ObservationSpec("nothing", (1,), "uint8", flat_segments({"nothing": 1}))
    facts = GameFacts("odd", 1, "sequential", "general", False, False, (Head("a", 1),), spec, 1, 0, 0)
    kernels = Kernels(*[draw] * 4)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            game = Game(facts, fields=header(1), kernels=kernels, text=draw)
            game = replace(game, svg=draw)
            assert game.text is draw
            assert game.codec is None
    assert [str(one.message) for one in told] == [
        "Game(fields=, kernels=, text=) is the old spelling; type rules=Rules(fields=, kernels=), look=Look(text=)",
        "Game(svg=) is the old spelling; type look=Look(svg=)",
        "game.text is the old spelling; type game.look.text",
        "game.codec is the old spelling; type game.language",
    ]
    assert {one.filename for one in told} == {__file__}
    assert [one.lineno - told[0].lineno for one in told] == [0, 1, 2, 3]
    assert {one.category for one in told} == {DeprecationWarning}


def test_the_new_spelling_has_no_warning_and_no_other_attributes():
    with pytest.raises(AttributeError, match="'Game' object has no attribute 'txt'"):
        _ = HIGH_CARD.txt
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        game = replace(HIGH_CARD, look=Look(text=draw))
        assert not hasattr(game, "_repr_png_")
        assert [one.name for one in fields(game)][:3] == ["facts", "rules", "look"]


@pytest.mark.parametrize("moved", ["Head", "Symmetry", "header", "State"])
def test_the_old_module_still_has_what_has_moved(moved):
    import ludory.envs.game as old_home

    with pytest.warns(DeprecationWarning, match=f"{moved} has moved; type ludory.envs.{moved}"):
        assert getattr(old_home, moved) is getattr(ludory.envs, moved)
    with pytest.raises(AttributeError, match="no attribute 'Kernel'"):
        _ = old_home.Kernel
