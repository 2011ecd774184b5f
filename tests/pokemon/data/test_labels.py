"""Labels that a spectator's log gives are the choices that were made, or they are missing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from ludory.data.pokemon.conversion import Conversion, ConvertedBattle, converted
from ludory.data.pokemon.labels import spectator_trajectories
from ludory.data.pokemon.rejections import REASONS, Rejection
from ludory.data.pokemon.replays import RecordedBattle, battle_of, read_battles
from ludory.data.pokemon.resimulation import request_trajectories
from ludory.data.pokemon.sides import Decision
from ludory.data.pokemon.spectator import watch
from ludory.data.pokemon.trajectories import MISSING, BattleTrajectory
from ludory.errors import RejectedBattleError

from .recorded import BATTLES, SERVER_LOGS, battles, resimulations

FORMATS = {
    # share of decisions at the start of a turn whose choice is seen
    "gen1randombattle": 0.84,
    "gen4randombattle": 0.86,
    "gen9battlefactory": 0.86,
    "gen9randombattle": 0.84,
}


def choice_of(decision: Decision, request: dict, choice: str) -> bool:  # type: ignore[type-arg]
    """Whether a label says what the choice says."""
    verb, *words = choice.replace(",", " ").split()
    if verb in ("switch", "team"):
        nick = request["side"]["pokemon"][int(words[0]) - 1]["ident"].split(": ", 1)[1]
        return decision.verb == "switch" and decision.target is not None and decision.target.nick == nick
    gimmick = {"terastallize": "tera"}.get(words[-1], "")
    return (decision.verb, decision.move, decision.gimmick) == ("move", words[0], gimmick)


@pytest.mark.parametrize("format", FORMATS)
def test_every_label_is_the_choice_or_missing(format: str) -> None:
    found: Counter[str] = Counter()
    for battle in (one for one in battles() if one.format == format):
        if any("Zoroark" in line for line in battle.lines):
            continue  # rejected, see below
        view, truth = watch(battle.lines), resimulations()[battle.id]
        for seat in (0, 1):
            mine = [one for one in view.decisions if one.seat == seat]
            theirs = truth.decisions[seat]
            assert len(mine) == len(theirs), battle.id
            for decision, chosen in zip(mine, theirs, strict=True):
                request = json.loads(truth.streams[seat][chosen.at - 1][1:])["request"]
                voluntary = not request.get("forceSwitch") and not request.get("teamPreview")
                if decision.source == "missing":
                    found["missing"] += 1
                    assert voluntary, "who enters is always seen"
                    found["missing voluntary"] += 1
                else:
                    right = choice_of(decision, request, chosen.choice)
                    found["exact" if right else "wrong"] += 1
                    found["exact voluntary"] += right and voluntary
    assert found["wrong"] == 0
    assert found["exact"] > 500
    share = found["exact voluntary"] / (found["exact voluntary"] + found["missing voluntary"])
    assert share == pytest.approx(FORMATS[format], abs=0.03)


def test_decisions_stand_where_the_requests_came() -> None:
    """A label's place in the log has the lines that the seat had seen, and no more."""
    for battle in battles()[::5]:
        if any("Zoroark" in line for line in battle.lines):
            continue
        view, truth = watch(battle.lines), resimulations()[battle.id]
        for seat in (0, 1):
            for decision, chosen in zip(
                [one for one in view.decisions if one.seat == seat], truth.decisions[seat], strict=True
            ):
                before = [
                    line
                    for line in truth.streams[seat][: chosen.at]
                    if line.startswith(("|turn|", "|faint|", "|switch|"))
                ]
                mine = [
                    line for line in battle.lines[: decision.at] if line.startswith(("|turn|", "|faint|", "|switch|"))
                ]
                assert [line.split("|")[1:3] for line in before] == [line.split("|")[1:3] for line in mine]


@pytest.fixture(scope="module")
def spectated() -> list[BattleTrajectory]:
    found: list[BattleTrajectory] = []
    for one in converted([BATTLES], Conversion(labels="log")):
        if isinstance(one, ConvertedBattle):
            found.extend(one.trajectories)
        else:
            assert one.name == "illusion"
    return found


def test_masks_of_a_spectator_contain_the_truth(spectated: list[BattleTrajectory]) -> None:
    """A choice that is legal by the request is legal by the log: its verb, and the slot it goes to."""
    by_id = {battle.id: battle for battle in battles()}
    for one in spectated:
        true = request_trajectories(by_id[one.replay_id], resimulations()[one.replay_id])[one.seat]
        for seen, told in zip(one.steps, true.steps, strict=True):
            switches = [len([a for a in step.mask if 4 <= a <= 9]) for step in (seen, told)]
            if told.kind != "single" and seen.kind != "single":
                assert switches[0] >= switches[1], (one.replay_id, seen.at)
                assert (0 in seen.mask) == any(not 4 <= a <= 9 for a in told.mask)
            if seen.kind == "single":
                assert told.kind == "single"


def test_labels_and_rewards_vary(spectated: list[BattleTrajectory]) -> None:
    actions = {step.action for one in spectated for step in one.steps} - {MISSING}
    assert len(actions) >= 10
    rewards: dict[str, list[float]] = {}
    for one in spectated:
        assert [step.reward for step in one.steps[:-1]] == [0.0] * (len(one.steps) - 1)
        assert [step.done for step in one.steps] == [False] * (len(one.steps) - 1) + [True]
        assert one.steps[-1].reward == one.total_reward
        rewards.setdefault(one.replay_id, []).append(one.total_reward)
    assert all(sorted(both) in ([-1.0, 1.0], [0.0, 0.0]) for both in rewards.values())
    assert {max(both) for both in rewards.values()} == {0.0, 1.0}


def test_winners_are_those_recorded() -> None:
    records = {one["id"]: one["winner"] for one in map(json.loads, _gzip_lines(BATTLES))}
    for one in converted([BATTLES], Conversion(labels="log")):
        if isinstance(one, ConvertedBattle):
            rewards = [t.total_reward for t in one.trajectories]
            assert rewards == {"p1": [1, -1], "p2": [-1, 1], "tie": [0, 0]}[records[one.battle.id]]


def _gzip_lines(file: Path) -> list[str]:
    import gzip

    return gzip.decompress(file.read_bytes()).decode().splitlines()


def test_server_logs_are_read_or_rejected_by_name() -> None:
    found = list(converted([SERVER_LOGS], Conversion(labels="log")))
    names = Counter(one.name for one in found if isinstance(one, Rejection))
    assert len(found) == 19
    assert names == {"illusion": 8, "too_short": 2, "not_singles": 1}
    doubles = next(one for one in found if isinstance(one, Rejection) and one.name == "not_singles")
    assert doubles.battle == "battle-gen6doublesou-1"


def test_human_logs_are_read_or_rejected_by_name(human_replays: Path) -> None:
    files = sorted(human_replays.rglob("human_gen9ou_dev.jsonl.gz"))
    if not files:
        pytest.skip(f"LUDORY_SHARED_GOLDEN={human_replays} has no human_gen9ou_dev.jsonl.gz")
    found = list(converted(files, Conversion(labels="log")))
    names = Counter(one.name for one in found if isinstance(one, Rejection))
    assert set(names) <= {"illusion", "too_short", "no_result"}
    assert len(found) - sum(names.values()) >= 50
    kinds = Counter(
        step.kind for one in found if isinstance(one, ConvertedBattle) for t in one.trajectories for step in t.steps
    )
    assert {"free", "forced_switch", "pivot", "preview"} <= set(kinds)


HEAD = [
    "|gametype|singles",
    "|player|p1|Ann|1",
    "|player|p2|Bob|2",
    "|gen|9",
    "|tier|[Gen 9] OU",
    "|teamsize|p1|3",
    "|teamsize|p2|3",
    "|start",
]
ENTER = ["|switch|p1a: A|Abra|100/100", "|switch|p2a: B|Bulbasaur|100/100"]


def log_of(*turns: list[str], gen: int = 9, end: str = "|win|Ann") -> RecordedBattle:
    """A battle in which the sides do what `turns` say; the last three turns are empty."""
    lines = [line.replace("|gen|9", f"|gen|{gen}").replace("Gen 9", f"Gen {gen}") for line in HEAD] + ENTER
    for number, events in enumerate([*turns, [], [], []], 1):
        lines += [f"|turn|{number}", "|", *events]
    return battle_of({"id": "b", "log": "\n".join([*lines, end]), "formatid": f"gen{gen}ou"})


def labels_of(battle: RecordedBattle, seat: int = 0) -> list[tuple[str, str, str]]:
    """(kind, label, source) of the first turn's decisions."""
    found = [one for one in watch(battle.lines).decisions if one.seat == seat and one.turn == 1]
    return [(one.kind, one.move or (one.target.species if one.target else ""), one.source) for one in found]


FAINT = "|-damage|p1a: A|0 fnt", "|faint|p1a: A"
NEXT = "|switch|p1a: C|Clefable|100/100"
FOE = "|move|p2a: B|Tackle|p1a: A"


@pytest.mark.parametrize(
    ("events", "gen", "labels"),
    [
        (["|move|p1a: A|Psychic|p2a: B"], 9, [("free", "psychic", "seen")]),
        ([NEXT], 9, [("free", "Clefable", "seen")]),
        ([FOE, *FAINT, "|", NEXT], 1, [("free", "", "missing"), ("forced_switch", "Clefable", "seen")]),
        (["|move|p1a: A|Psychic|p2a: B", FOE, *FAINT, "|", NEXT], 9, [("free", "psychic", "seen"), ("forced_switch", "Clefable", "seen")]),
        (["|move|p1a: A|Teleport|p1a: A", "|", NEXT], 9, [("free", "teleport", "seen"), ("pivot", "Clefable", "seen")]),
        ([FOE, "|-enditem|p1a: A|Eject Button", "|", NEXT], 9, [("free", "", "missing"), ("pivot", "Clefable", "seen")]),
        ([FOE, "|drag|p1a: C|Clefable|100/100"], 9, [("free", "", "missing")]),
        (["|cant|p1a: A|slp"], 9, [("free", "", "missing")]),
        (["|cant|p1a: A|move: Taunt|Calm Mind"], 9, [("free", "calmmind", "inferred")]),
        (["|cant|p1a: A|recharge"], 9, [("single", "recharge", "seen")]),
        (["|cant|p1a: A|ability: Damp|Explosion|[of] p2a: B", "|move|p1a: A|Psychic|p2a: B"], 9, [("free", "psychic", "seen")]),
        (["|move|p1a: A|Outrage|p2a: B|[from] lockedmove"], 9, [("single", "outrage", "seen")]),
        (["|move|p1a: A|Metronome|p1a: A", "|move|p1a: A|Surf|p2a: B|[from] move: Metronome"], 9, [("free", "metronome", "seen")]),
        (["|move|p1a: A|Swords Dance|p1a: A|[from] ability: Dancer", "|move|p1a: A|Psychic|p2a: B"], 9, [("free", "psychic", "seen")]),
        (["|-singlemove|p1a: A|Instruct|[of] p2a: B", "|move|p1a: A|Surf|p2a: B", "|move|p1a: A|Psychic|p2a: B"], 9, [("free", "psychic", "seen")]),
        (["|-start|p1a: A|Encore", "|move|p1a: A|Surf|p2a: B"], 9, [("free", "", "missing")]),
        (["|move|p2a: B|Pursuit|p1a: A|[from] Pursuit", *FAINT, NEXT], 4, [("free", "Clefable", "seen")]),
        (["|move|p2a: B|Pursuit|p1a: A|[from] move: Pursuit", *FAINT, "|", NEXT], 7, [("free", "", "missing"), ("forced_switch", "Clefable", "seen")]),
    ],
)  # fmt: skip
def test_rules_of_labels(events: list[str], gen: int, labels: list[tuple[str, str, str]]) -> None:
    assert labels_of(log_of(events, gen=gen)) == labels


def test_a_gimmick_shown_before_the_act_is_part_of_the_action() -> None:
    battle = log_of(["|-terastallize|p1a: A|Fire", "|move|p1a: A|Psychic|p2a: B"])
    step = spectator_trajectories(battle)[0].steps[0]
    assert (step.action, step.gimmick, step.choice) == (10, "tera", "move psychic tera")
    plain = spectator_trajectories(battle, gimmick="never")[0].steps[0]
    assert (plain.action, plain.gimmick) == (0, "tera")
    assert max(plain.mask) <= 9
    later = spectator_trajectories(battle)[0].steps[1]
    assert max(later.mask) <= 9, "a side terastallizes once"


def test_moves_are_in_the_order_of_their_ids_over_the_whole_log() -> None:
    surf, psychic = "|move|p1a: A|Surf|p2a: B", "|move|p1a: A|Psychic|p2a: B"
    steps = spectator_trajectories(log_of([surf], [psychic]))[0].steps
    assert [step.action for step in steps[:2]] == [1, 0]


def test_a_slot_means_one_pokemon_all_battle_long() -> None:
    """Switching to the same Pokémon is the same action, whoever has fainted or entered between."""
    back = "|switch|p1a: A|Abra|100/100"
    other = "|switch|p1a: D|Ditto|100/100"
    steps = spectator_trajectories(log_of([NEXT], [other], [back], [NEXT]))[0].steps
    assert [step.action for step in steps[:4]] == [5, 6, 4, 5]


MOVES_OF_FIVE = [[f"|move|p1a: A|{name}|p2a: B"] for name in ("Surf", "Psychic", "Rest", "Thunder", "Toxic")]


@pytest.mark.parametrize(
    ("battle", "name"),
    [
        (log_of(end="|upkeep"), "no_result"),
        (log_of(end="|win|Cid"), "winner_not_a_player"),
        (log_of(["|replace|p1a: Z|Zoroark|100/100"]), "illusion"),
        (log_of(*MOVES_OF_FIVE), "too_many_moves"),
        (log_of([NEXT], ["|switch|p1a: D|Ditto|100/100"], ["|switch|p1a: E|Eevee|100/100"]), "too_many_pokemon"),
        (log_of([*FAINT]), "unmatched_forced_switch"),
        (log_of(["|move|p1a: A|Surf|p2a: B", NEXT]), "unmatched_forced_switch"),
        (log_of(["|move|p1a: A|Surf|p2a: B|"]*1, ["|switch|p1a"]), "bad_line"),
        (log_of(["|-damage|p1a: A|x/y"]), "bad_line"),
        (log_of(["|-damage|p1a: A|1e309/100"], [NEXT], ["|switch|p1a: A|Abra|30/100"]), "bad_line"),
        (log_of(["|-damage|p1a: A|nan/100"]), "bad_line"),
        (log_of(["|-damage|p1a: A|-5/100"]), "bad_line"),
        (log_of(["|-heal|p1a: A|120/100"]), "bad_line"),
        (log_of(["|-heal|p1a: A|50/1e309"]), "bad_line"),
        (log_of(["|teamsize|p1|900000000"]), "bad_line"),
        (log_of(["|turn|0"]), "bad_line"),
        (log_of(["|move|p1a: A|Psychic|p2a: B", "|turn|1"]), "bad_line"),
        (log_of(["|move|p1b: A|Surf|p2a: B"]), "not_singles"),
        (log_of(["|raw|This battle has custom rules"]), "custom_rules"),
        (log_of(*[["|move|p1a: A|Blizzard|p2a: B"]] * 9), "negative_pp"),
        (log_of([NEXT], ["|switch|p1a: A|Abra|30/100"]), "illusion"),
        (log_of()._replace(format="gen1ou"), "format_mismatch"),
        (log_of()._replace(format="randombattle"), "unknown_format"),
        (log_of()._replace(format="gen9ou@@@banlevel"), "custom_rules"),
        (log_of()._replace(lines=tuple(HEAD)), "unfinished"),
        (log_of()._replace(lines=(*HEAD, *ENTER, "|turn|1", "|win|Ann")), "too_short"),
        (log_of()._replace(lines=(*HEAD[:1], *HEAD[3:], *ENTER, "|turn|1", "|win|Ann")), "no_players"),
        (log_of()._replace(lines=("|gametype|doubles", *HEAD[1:])), "not_singles"),
    ],
)  # fmt: skip
def test_battles_are_rejected_by_name(battle: RecordedBattle, name: str) -> None:
    with pytest.raises(RejectedBattleError) as caught:
        spectator_trajectories(battle)
    assert caught.value.name == name
    assert name in REASONS


def test_hit_points_that_are_no_number_are_named_by_their_line() -> None:
    battle = log_of(["|-damage|p1a: A|1e309/100"], [NEXT], ["|switch|p1a: A|Abra|30/100"])
    with pytest.raises(RejectedBattleError, match=r"bad_line.*'\|-damage\|p1a: A\|1e309/100'"):
        spectator_trajectories(battle)


def test_a_turn_that_is_said_twice_is_one_turn() -> None:
    once, twice = log_of([NEXT], [], []), log_of([NEXT], ["|turn|2", "|c|Ann|hi", "|turn|2"], [])
    assert twice.lines.count("|turn|2") == 3
    assert labels_of(twice) == labels_of(once)
    assert len(watch(twice.lines).decisions) == len(watch(once.lines).decisions)


def test_a_battle_comes_once(tmp_path: Path) -> None:
    record = {"id": "one", "formatid": "gen9ou", "log": "\n".join(log_of().lines)}
    other = record | {"id": "two"}
    file = tmp_path / "replays.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in (record, record, other)))
    found = list(converted([file], Conversion(labels="log")))
    assert [one.name if isinstance(one, Rejection) else "" for one in found] == ["", "duplicate_id", "duplicate_id"]


@pytest.mark.parametrize(
    ("content", "ids", "names"),
    [
        (b"", [], ["bad_json"]),
        (b"{", [], ["bad_json"]),
        (b"[1]", [], ["bad_json"]),
        (b"7\n{}\n", [], ["bad_json", "bad_json"]),
        (b'{"id": "a", "log": 5}\n', [], ["bad_json"]),
        (b'{"id": "a", "log": ["|turn|1", 5]}\n', [], ["bad_line"]),
        (b"<html><body>no log</body></html>", [], ["bad_json"]),
        (b'{\n "id": "a",\n "formatid": "gen9ou",\n "log": "|turn|1"\n}\n', ["a"], []),
        (b'[{"id": "a", "log": "x"}, {"id": "b", "log": "y"}]', ["a", "b"], []),
        (b'<input name="replayid" value="c"><script type="text/plain" class="battle-log-data">|tier|[Gen 9] OU\n|turn|1<\\/x></script>', ["c"], []),
    ],
)  # fmt: skip
def test_files_are_told_apart_by_their_content(
    tmp_path: Path, content: bytes, ids: list[str], names: list[str]
) -> None:
    file = tmp_path / "anything.txt"
    file.write_bytes(content)
    found = list(read_battles(file))
    assert [one.id for one in found if isinstance(one, RecordedBattle)] == ids
    assert [one.name for one in found if isinstance(one, Rejection)] == names


def test_a_page_and_a_cut_gzip_file(tmp_path: Path) -> None:
    import gzip

    log = "\n".join(log_of().lines)
    page = f'<html><input name="replayid" value="gen9ou-1"><script class="battle-log-data">\n{log}\n</script>'
    (tmp_path / "page.html").write_text(page)
    (found,) = read_battles(tmp_path / "page.html")
    assert isinstance(found, RecordedBattle)
    assert (found.id, found.format) == ("gen9ou-1", "gen9ou")
    assert len(spectator_trajectories(found)[0].steps) == 3
    packed = gzip.compress((json.dumps({"id": "a", "log": log}) + "\n").encode() * 300)
    (tmp_path / "cut.gz").write_bytes(packed[: len(packed) // 2])
    *_, last = read_battles(tmp_path / "cut.gz")
    assert isinstance(last, Rejection)
    assert "cut off" in last.detail
