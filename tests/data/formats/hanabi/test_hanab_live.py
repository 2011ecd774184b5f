"""Games of hanab.live: read as an independent simulator of the site played them, written back equal, every fault named with its move."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from reference.hanab_live import SiteTable, random_game

from ludory.agents.evaluation.record import record
from ludory.cli import main
from ludory.data import Columns, StoredGames, TrajectoryDataset
from ludory.data.formats.core import formats_of
from ludory.data.formats.hanabi.format import HanabLiveFormat
from ludory.data.formats.hanabi.moves import Hands, SiteMove, TableSize, sizes_of
from ludory.data.formats.hanabi.writing import FILE
from ludory.data.shards import write_dataset
from ludory.data.viewing.recorded_games import replay_of
from ludory.envs import make_game
from ludory.errors import DataError, LogFormatError, LudoryError, OptionError, ReplayError
from ludory.plugins import formats

Json = dict[str, Any]


class Case(NamedTuple):
    """A game of the simulator, and how it ended."""

    end: str
    players: int
    seed: int
    suits: int = 5
    careful: float = 0.97
    moves: int | None = None
    last: Json | None = None
    """The action after the moves."""
    first: int = 0


CASES = (
    Case("deck", 2, 0),
    Case("deck", 3, 0),
    Case("deck", 4, 0),  # ends with no clue left
    Case("deck", 5, 0),
    Case("bomb", 2, 1, 5, 0.8),
    Case("bomb", 3, 0, 5, 0.8),
    Case("bomb", 4, 1, 5, 0.8),
    Case("bomb", 5, 2, 5, 0.8),
    Case("perfect", 3, 13, 5, 1),
    Case("perfect", 4, 267, 5, 1),
    Case("perfect", 5, 380, 5, 1),
    Case("perfect", 2, 15, 4, 1),
    Case("deck", 3, 0, 3),
    Case("bomb", 5, 58, 3, 0.8),
    Case("timeout", 2, 3, moves=17, last={"type": 4, "target": 1, "value": 3}),
    Case("terminated", 3, 4, moves=31, last={"type": 4, "target": 1, "value": 4}),
    Case("idle", 4, 5, moves=2, last={"type": 4, "target": -1, "value": 6}),
    Case("vote", 5, 6, moves=44, last={"type": 5, "target": -1, "value": 10}),
    Case("cut", 2, 7, moves=40),
    Case("deck", 3, 8, first=2),
)


def played(case: Case) -> tuple[SiteTable, Json]:
    table = random_game(case.players, case.seed, case.suits, case.careful, case.moves, case.first)
    content = table.as_json(id=case.seed, notes=[[]] * case.players, seed="p2v0s1")
    if case.last:
        content["actions"].append(case.last)
    return table, content


def write(file: Path, *games: Json) -> Path:
    file.write_text("".join(json.dumps(one) + "\n" for one in games))
    return file


def read(*files: Path, **options: Any) -> StoredGames:
    return HanabLiveFormat(**options).read(files)


def one_game(file: Path, **options: Any) -> Columns:
    (columns,) = read(file, **options).parts
    return columns


def same(one: Columns, other: Columns) -> bool:
    pairs = zip(one[:-1], other[:-1], strict=True)
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)


def all_same(ones: Iterable[Columns], others: Iterable[Columns]) -> bool:
    return all(same(one, other) for one, other in zip(ones, others, strict=True))


@pytest.fixture(scope="module")
def plain() -> Json:
    """A whole game of two."""
    return random_game(2, 0).as_json(id=5)


@pytest.mark.plain
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.players}-{case.suits}-{case.end}")
def test_a_game_is_what_the_site_played(case: Case, tmp_path: Path) -> None:
    table, content = played(case)
    stored = read(write(tmp_path / "game.json", content))
    (columns,) = stored.parts
    length = len(table.actions)
    assert (stored.header.players, len(columns.games)) == (case.players, length)
    assert set(columns.extras["score"]) == {table.score}
    assert set(columns.extras["end"]) == {case.end}
    assert set(columns.extras["site_game"]) == {case.seed}
    assert columns.seats.tolist() == [(case.first + step) % case.players for step in range(length)]
    finished = case.end in ("deck", "bomb", "perfect")
    ends = (np.arange(length) >= length - case.players).tolist()
    assert columns.terminated.tolist() == (ends if finished else [False] * length)
    assert columns.truncated.tolist() == ([False] * length if finished else ends)
    # every seat gets the same: what it got before its first decision, and after each
    for seat in range(min(case.players, length)):
        rows = columns.seats == seat
        assert columns.extras["earned"][rows][0] + columns.rewards[rows].sum() == table.score
    # bits of the mask are the moves of the simulator
    again = SiteTable(case.players, suits=case.suits, deck=table.deck, first=case.first)
    masks = np.unpackbits(columns.masks, axis=1, count=stored.header.num_actions)
    hands = Hands(TableSize(case.players, case.suits))
    for step, action in enumerate(table.actions):
        hands.orders = again.hands
        legal = {hands.action(SiteMove(**one), again.mover) for one in again.legal()}
        assert set(np.flatnonzero(masks[step]).tolist()) == legal
        assert columns.actions[step, 0] == hands.action(SiteMove(**action), again.mover)
        again.act(action)


@pytest.mark.plain
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.players}-{case.suits}-{case.end}")
def test_a_game_is_written_as_it_was_read(case: Case, tmp_path: Path) -> None:
    _, content = played(case)
    stored = read(write(tmp_path / "game.json", content))
    (columns,) = stored.parts
    write_dataset(tmp_path / "set", stored.header, [columns])
    HanabLiveFormat().write(TrajectoryDataset(tmp_path / "set"), tmp_path / "out")
    back = json.loads((tmp_path / "out" / FILE).read_text())
    assert back == {name: value for name, value in content.items() if name != "seed"}
    assert same(one_game(tmp_path / "out" / FILE), columns)


@pytest.mark.plain
@pytest.mark.parametrize("players", [2, *(pytest.param(players, marks=pytest.mark.slow) for players in (3, 4)), 5])
def test_recorded_games_come_back_equal(players: int, tmp_path: Path) -> None:
    record("hanabi/iggi", f"Hanabi{players}P-v0", 3, tmp_path / "set", seed=players)
    assert (
        main(
            ["convert", f"{tmp_path / 'set'}", "--from", "ludory", "--to", "hanab-live", "--out", f"{tmp_path / 'out'}"]
        )
        == 0
    )
    assert main(["convert", f"{tmp_path / 'out' / FILE}", "--from", "hanab-live", "--out", f"{tmp_path / 'back'}"]) == 0
    ours, back = (next(TrajectoryDataset(tmp_path / name).batches(10**6)) for name in ("set", "back"))
    for name in (
        "observations",
        "masks",
        "actions",
        "rewards",
        "returns",
        "terminated",
        "truncated",
        "seats",
        "games",
        "steps",
    ):
        assert np.array_equal(getattr(ours, name), getattr(back, name)), name


@pytest.mark.slow
def test_hundreds_of_random_games_come_back_equal(tmp_path: Path) -> None:
    for players in range(2, 6):
        tables = [random_game(players, seed, careful=(0.97, 0.8, 1)[seed % 3]) for seed in range(60)]
        stored = read(write(tmp_path / f"{players}.jsonl", *(one.as_json() for one in tables)))
        parts = list(stored.parts)
        assert [int(one.extras["score"][0]) for one in parts] == [one.score for one in tables]
        write_dataset(tmp_path / f"set{players}", stored.header, parts)
        HanabLiveFormat().write(TrajectoryDataset(tmp_path / f"set{players}"), tmp_path / f"out{players}")
        assert all_same(read(tmp_path / f"out{players}" / FILE).parts, parts)


# other ways to write the same game


def test_files_are_an_object_a_list_lines_gzip_or_a_folder_of_them(plain: Json, tmp_path: Path) -> None:
    games = [random_game(2, seed).as_json(id=seed) for seed in range(3)]
    expected = list(read(write(tmp_path / "lines.jsonl", *games)).parts)
    (tmp_path / "list.json").write_text(json.dumps(games))
    (tmp_path / "packed.json.gz").write_bytes(gzip.compress(json.dumps(games).encode()))
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    for number, one in enumerate(games):  # as people's tools print it
        (tmp_path / "folder" / ("deep" if number else "") / f"{number}.json").write_text(json.dumps(one, indent=2))
    for name in ("list.json", "packed.json.gz", "folder"):
        assert [one.id for one in formats_of(tmp_path / name)] == ["hanab-live"], name
        found = list(read(tmp_path / name).parts)
        assert len(found) == 3
        assert all_same(found, expected), name
    assert [int(one.games[0]) for one in expected] == [0, 1, 2]


def older(content: Json, words: bool) -> Json:
    """A game as the site exported it before April 2020, with `words` before 2019."""
    types = {0: "play", 1: "discard", 2: "clue", 3: "clue"} if words else {0: 1, 1: 2, 2: 0, 3: 0}
    actions = []
    for one in content["actions"]:
        clue = {"clue": {"type": 1 if one["type"] == 2 else 0, "value": one["value"]}} if one["type"] >= 2 else {}
        actions.append({**clue, "target": one["target"], "type": types[one["type"]]})
    deck = [{"suit": card["suitIndex"], "rank": card["rank"]} for card in content["deck"]]
    return {"actions": actions, "deck": deck, "players": content["players"], "variant": content["options"]["variant"]}


@pytest.mark.parametrize("words", [True, False])
def test_older_exports_are_the_same_games(plain: Json, words: bool, tmp_path: Path) -> None:
    expected = one_game(write(tmp_path / "new.json", plain))
    old = older(plain, words)
    assert same(one_game(write(tmp_path / "old.json", old)), expected)
    assert [one.id for one in formats_of(tmp_path / "old.json")] == ["hanab-live"]
    timed_out = copy.deepcopy(old)
    timed_out["actions"][20:] = [{"target": 0, "type": 4}]
    if not words:
        found = one_game(write(tmp_path / "timeout.json", timed_out))
        assert (len(found.games), found.extras["end"][0]) == (20, "timeout")
    later = {**older(random_game(3, 1, first=2).as_json(), words), "firstPlayer": 2}
    assert one_game(write(tmp_path / "first.json", later)).seats[0] == 2


def test_the_first_suit_key_and_wrapped_actions_are_read(plain: Json, tmp_path: Path) -> None:
    other = copy.deepcopy(plain)
    other["deck"] = [{"suit": card["suitIndex"], "rank": card["rank"]} for card in plain["deck"]]
    other["actions"] = [{"action": one} for one in plain["actions"]]
    assert same(one_game(write(tmp_path / "a.json", plain)), one_game(write(tmp_path / "b.json", other)))


def as_arrays(tables: list[SiteTable]) -> dict[str, Any]:
    """Games as AH2AC2 stores them."""
    players = tables[0].players
    sizes, longest = TableSize(players, 5), max(len(one.actions) for one in tables) + 3
    wait = make_game(f"Hanabi{players}P-v0").facts.num_actions
    actions = np.full((len(tables), longest, players), wait)
    for row, table in enumerate(tables):
        again, hands = SiteTable(players, deck=table.deck), Hands(sizes)
        for step, action in enumerate(table.actions):
            hands.orders = again.hands
            actions[row, step, again.mover] = hands.action(SiteMove(**action), again.mover)
            again.act(action)
    return {
        "num_players": np.array(players),
        "game_ids": np.arange(len(tables)) + 70,
        "scores": np.array([table.score for table in tables]),
        "num_actions": np.array([len(table.actions) for table in tables]),
        "decks": np.array([[(suit, rank - 1) for suit, rank in table.deck] for table in tables]),
        "actions": actions,
    }


@pytest.mark.parametrize("players", [2, 3])
def test_arrays_of_ah2ac2_are_the_same_games(players: int, tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    tables = [random_game(players, seed, careful=(0.97, 0.8)[seed % 2]) for seed in range(4)]
    save_file(as_arrays(tables), tmp_path / "games.safetensors")
    expected = read(write(tmp_path / "games.jsonl", *(one.as_json() for one in tables))).parts
    found = list(read(tmp_path / "games.safetensors").parts)
    assert all_same(found, expected)
    assert [int(one.extras["site_game"][0]) for one in found] == [70, 71, 72, 73]
    assert [one.id for one in formats_of(tmp_path / "games.safetensors")] == ["hanab-live"]


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [
        ("scores", 1, 24, r"game 71, field 'score': got 24, must be 16"),
        ("decks", (0, 3), (0, 7), r"game 70, field 'decks\[0, 3\]': got \[0, 7\]"),
        ("decks", (0, 3), (4, 4), r"game 70, field 'deck': got 50 cards"),
        ("actions", (1, 5, 0), 3, r"game 71, field 'actions': got 3 of player 0 at move 6"),
        ("actions", (1, 4, 0), 99, r"game 71, move 5, field 'actions': got 99"),
        ("num_actions", 0, 500, r"game 70, field 'num_actions': got 500"),
        ("num_players", (), 7, r"field 'num_players': got 7"),
    ],
)
def test_wrong_arrays_are_named(name: str, index: Any, value: Any, message: str, tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    arrays = as_arrays([random_game(2, 3), random_game(2, 4)])
    arrays[name][index] = value
    save_file(arrays, tmp_path / "games.safetensors")
    with pytest.raises(LogFormatError, match=message):
        read(tmp_path / "games.safetensors")
    for change in (
        lambda: arrays.pop("decks"),
        lambda: arrays.update(decks=np.zeros(3)),
        lambda: arrays.update(decks=np.zeros((2, 3), int)),
    ):
        change()
        save_file(arrays, tmp_path / "games.safetensors")
        with pytest.raises(LogFormatError, match=r"field '(decks|num_players)'"):
            read(tmp_path / "games.safetensors")
    (tmp_path / "games.safetensors").write_bytes(b"no arrays")
    with pytest.raises(LogFormatError, match="field 'file'"):
        read(tmp_path / "games.safetensors")


# what is refused


def put(content: Json, path: tuple[Any, ...], value: Any) -> None:
    """Set a field; `...` takes it away."""
    for key in path[:-1]:
        content = content[key]
    if value is ...:
        del content[path[-1]]
    else:
        content[path[-1]] = value


DAMAGES: tuple[tuple[tuple[Any, ...], Any, str], ...] = (
    (("players",), ..., "field 'players': got nothing, must be a list"),
    (("players",), ["a"], "field 'players': got 1 players, must be 2 to 5"),
    (("players",), list("abcdef"), "field 'players': got 6 players, must be 2 to 5"),
    (("players", 1), 7, r"field 'players\[1\]': got 7, must be a text"),
    (("deck",), ..., "field 'deck': got nothing"),
    (("deck",), [], "field 'deck': got 0 cards, 0 of them of suit 0, rank 1, must be 50 cards, 3 of them"),
    (("deck", 49), ..., "field 'deck': got 49 cards"),
    (("deck", 7), "r1", r"field 'deck\[7\]': got 'r1', must be a JSON object"),
    (("deck", 7, "suitIndex"), 5, r"field 'deck\[7\]': got suit 5"),
    (("deck", 7, "rank"), 0, r"field 'deck\[7\]': got suit ., rank 0"),
    (("deck", 7, "rank"), 2.5, r"field 'deck\[7\]': got suit ., rank 2.5"),
    (("deck", 7, "rank"), ..., r"field 'deck\[7\]': got suit ., rank None"),
    (("actions",), {}, r"field 'actions': got \{\}, must be a list"),
    (("actions", 4), 3, r"move 5, field 'actions\[4\]': got 3, must be a JSON object"),
    (("actions", 4, "type"), 6, r"move 5, field 'actions\[4\].type': got 6"),
    (("actions", 4, "type"), True, r"move 5, field 'actions\[4\].type': got True"),
    (("actions", 4, "target"), ..., r"move 5, field 'actions\[4\].target': got nothing"),
    (
        ("actions", 4),
        {"type": 0, "target": 49},
        "move 5, field 'target': got card 49, which is not in the hand of player 0",
    ),
    (
        ("actions", 4),
        {"type": 1, "target": 5},
        "move 5, field 'target': got card 5, which is not in the hand of player 0",
    ),
    (("actions", 0), {"type": 1, "target": 0}, "move 1, field 'type': got a discard with all 8 clues"),
    (
        ("actions", 0),
        {"type": 2, "target": 0, "value": 1},
        "move 1, field 'target': got 0, the player that gives the clue",
    ),
    (
        ("actions", 0),
        {"type": 2, "target": 2, "value": 1},
        "move 1, field 'target': got 2, must be another player, one of 1",
    ),
    (("actions", 0), {"type": 2, "target": 1, "value": 5}, "move 1, field 'value': got 5, must be a colour, 0..4"),
    (("actions", 0), {"type": 3, "target": 1, "value": 0}, "move 1, field 'value': got 0, must be a rank, 1..5"),
    (("actions", 0), {"type": 3, "target": 1}, r"move 1, field 'actions\[0\].value': got nothing"),
    (
        ("actions", 9),
        {"type": 4, "target": 0, "value": 4},
        r"move 11, field 'actions\[10\]': got an action after the end of the game",
    ),
    (
        ("actions", 9),
        {"type": 4, "target": 0, "value": 1},
        r"move 10, field 'actions\[9\].value': got 1, must be the reason",
    ),
    (("options",), [1], r"field 'options': got \[1\], must be a JSON object"),
    (
        ("options", "variant"),
        "Rainbow (5 Suits)",
        r"field 'options.variant': got 'Rainbow \(5 Suits\)', must be one of No Variant, 4 Suits",
    ),
    (("options", "variant"), "6 Suits", "field 'options.variant': got '6 Suits'"),
    (("options", "variant"), "4 Suits", r"field 'deck\[.*\]': got suit 4"),
    (("options", "variant"), 3, "field 'options.variant': got 3, must be a text"),
    (("options", "emptyClues"), True, "field 'options.emptyClues': got True, must be left out"),
    (("options", "deckPlays"), True, "field 'options.deckPlays': got True"),
    (("options", "oneExtraCard"), True, "field 'options.oneExtraCard': got True"),
    (("options", "oneLessCard"), True, "field 'options.oneLessCard': got True"),
    (("options", "allOrNothing"), True, "field 'options.allOrNothing': got True"),
    (("options", "cardCycle"), True, "field 'options.cardCycle': got True"),
    (("options", "detrimentalCharacters"), True, "field 'options.detrimentalCharacters': got True"),
    (("options", "startingPlayer"), 2, r"field 'startingPlayer': got 2, must be a player 0..1"),
    (("characters",), [{"name": "Fuming"}] * 2, "field 'characters': got detrimental characters"),
    (("score",), 3, "field 'score': got 3, must be 13, to which the moves lead"),
    (("id",), "five", "field 'id': got 'five'"),
    (("notes",), "none", "field 'notes': got 'none', must be a list"),
    (("seed",), 4, "field 'seed': got 4, must be a text"),
)


@pytest.mark.parametrize(("path", "value", "message"), DAMAGES)
def test_every_fault_is_named(plain: Json, path: tuple[Any, ...], value: Any, message: str, tmp_path: Path) -> None:
    content = copy.deepcopy(plain)
    put(content, path, value)
    sound = random_game(2, 1).as_json(id=6)
    with pytest.raises(LogFormatError, match=message) as caught:
        read(write(tmp_path / "games.jsonl", sound, content))
    assert "line 2" in str(caught.value)
    assert path == ("id",) or "game 5" in str(caught.value)
    assert "\n" not in str(caught.value)
    stored = read(tmp_path / "games.jsonl", skip_bad=True)
    assert [int(one.extras["site_game"][0]) for one in stored.parts] == [6]
    assert len(stored.left_out) == 1


def test_moves_that_break_the_rules_are_named(plain: Json, tmp_path: Path) -> None:
    after = {**plain, "actions": [*plain["actions"], {"type": 0, "target": 1}]}
    ended = {**plain, "actions": [*plain["actions"], {"type": 4, "target": 0, "value": 4}]}
    # a clue of each player uses up all eight
    clues = [{"type": 3, "target": (k + 1) % 2, "value": _held(plain, (k + 1) % 2)} for k in range(9)]
    untouched = {"type": 3, "target": 1, "value": next(rank for rank in range(1, 6) if rank not in _ranks(plain, 1))}
    for actions, message in (
        (after["actions"], r"move 75, field 'actions': got a move after the end of the game \(deck\)"),
        (ended["actions"], r"field 'actions': got terminated after the end of the game \(deck\)"),
        (clues, "move 9, field 'type': got a clue with no clue left"),
        ([untouched], "move 1, field 'value': got a clue that touches no card of player 1"),
    ):
        with pytest.raises(LogFormatError, match=message):
            read(write(tmp_path / "game.json", {**plain, "actions": actions}))


def _ranks(content: Json, player: int) -> list[int]:
    return [card["rank"] for card in content["deck"][5 * player : 5 * player + 5]]


def _held(content: Json, player: int) -> int:
    return _ranks(content, player)[0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no record"),
        (b"[]", "no record"),
        (b"[1]", "a int"),
        (b'{"players": ["a", "b"], "deck": [', "the file ends inside a record"),
        (b'{\n "players": ["a", "b"],\n "deck": [', "the file ends inside a record"),
        (b"\xff\xfe", "field 'file'"),
        (gzip.compress(b'{"players": []}', mtime=0)[:-9], "gzip data that are cut off"),
        (b'{"players": NaN}', "field 'players': got nan"),
        (b"[" * 5000, "field 'file'"),
    ],
)
def test_files_that_are_no_games_are_named(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "games.json").write_bytes(data)
    with pytest.raises(LogFormatError, match=message):
        read(tmp_path / "games.json", skip_bad=True)


def test_junk_in_any_place_is_never_more_than_an_error(tmp_path: Path) -> None:
    base, chance = random_game(3, 2, moves=12).as_json(id=1, notes=[[]], seed="s"), np.random.default_rng(0)
    junk = (None, -1, 99, 1 << 70, 1.5, float("nan"), True, "x", [], {}, [[]], {"a": 1})
    places = [(name,) for name in base] + [("deck", k) for k in range(3)] + [("actions", k) for k in range(12)]
    places += [
        ("deck", 0, "rank"),
        ("options", "variant"),
        *(("actions", k, name) for k in range(12) for name in ("type", "target", "value")),
    ]
    errors = 0
    for _ in range(300):
        content = copy.deepcopy(base)
        put(content, places[chance.integers(len(places))], copy.deepcopy(junk[chance.integers(len(junk))]))
        try:
            read(write(tmp_path / "game.json", content))
        except LudoryError:
            errors += 1
    assert errors > 200


# choices


def test_names_are_kept_only_if_asked_for(plain: Json, tmp_path: Path) -> None:
    file = write(tmp_path / "game.json", {**plain, "players": ["Alice", "Bob"]})
    for options, names in ([], ["player 0", "player 1"]), (["--keep-names"], ["Alice", "Bob"]):
        folder = tmp_path / f"set{len(options)}"
        assert main(["convert", f"{file}", "--from", "hanab-live", "--out", f"{folder}", *options]) == 0
        assert any(b"Alice" in part.read_bytes() for part in folder.iterdir()) == bool(options)
        out = tmp_path / f"out{len(options)}"
        assert main(["convert", f"{folder}", "--from", "ludory", "--to", "hanab-live", "--out", f"{out}"]) == 0
        assert json.loads((out / FILE).read_text())["players"] == names


def test_unfinished_games_and_games_without_moves_are_counted(tmp_path: Path) -> None:
    cut, whole = random_game(2, 0, moves=9).as_json(), random_game(2, 1).as_json()
    empty = {**cut, "actions": [{"type": 4, "target": 0, "value": 4}]}
    file = write(tmp_path / "games.jsonl", cut, empty, whole)
    stored = read(file, only_finished=True)
    assert len(list(stored.parts)) == 1
    assert stored.notes[1:] == ["left out 1 games without a move", "left out 1 games that did not end by the rules"]
    assert len(list(read(file).parts)) == 2
    assert "1 games are there more than once" in read(write(tmp_path / "twice.jsonl", cut, whole, cut)).notes
    with pytest.raises(DataError, match="no game with a move"):
        read(write(tmp_path / "empty.json", empty))


def test_games_of_several_sizes_need_a_choice(tmp_path: Path) -> None:
    games = [random_game(players, seed).as_json() for players, seed in ((2, 0), (3, 0), (3, 1))]
    file = write(tmp_path / "games.jsonl", *games, random_game(3, 2, suits=4).as_json())
    with pytest.raises(OptionError, match=r"2 of 3 players, 5 suits; .*name it, such as --game Hanabi3P-v0 --skip-bad"):
        read(file)
    stored = HanabLiveFormat(skip_bad=True).read([file], make_game("Hanabi3P-v0"))
    assert len(list(stored.parts)) == 2
    assert sum("whose rules are others" in line for line in stored.left_out) == 2
    with pytest.raises(LogFormatError, match="2 problems in the log"):
        HanabLiveFormat().read([file], make_game("Hanabi3P-v0"))


def test_other_rules_are_counted_when_they_are_left_out(plain: Json, tmp_path: Path) -> None:
    pink = {**plain, "options": {"variant": "Pink (5 Suits)"}}
    file = write(tmp_path / "games.jsonl", pink, plain, pink, {**plain, "options": {"emptyClues": True}})
    assert read(file, skip_bad=True).left_out == [
        "2 games with options.variant 'Pink (5 Suits)', whose rules are others",
        "1 games with options.emptyClues True, whose rules are others",
    ]


def test_options_that_do_not_change_the_rules_are_taken(plain: Json, tmp_path: Path) -> None:
    timed = {"timed": True, "timeBase": 120, "timePerTurn": 20, "speedrun": True, "emptyClues": False, "tableName": "t"}
    assert same(
        one_game(write(tmp_path / "a.json", {**plain, "options": timed})), one_game(write(tmp_path / "b.json", plain))
    )


def test_the_game_names_the_observation_and_the_count_of_a_bomb(tmp_path: Path) -> None:
    table = random_game(2, 1, careful=0.6)
    assert table.strikes == 3
    assert sum(table.stacks)
    file = write(tmp_path / "game.json", table.as_json())
    game = make_game("Hanabi2P-v0", observation="v0_belief", bomb="keep")
    stored = HanabLiveFormat().read([file], game)
    (columns,) = stored.parts
    assert stored.header.observation == game.facts.observation
    assert columns.observations.shape[1] == game.facts.observation.size
    assert columns.extras["earned"][0] + columns.rewards[columns.seats == 0].sum() == sum(table.stacks)
    assert set(columns.extras["score"]) == {0}


@pytest.mark.parametrize(
    ("game", "options"),
    [("HanabiSmall2P-v0", {}), ("Hanabi-v0", {"hand_size": 4}), ("Hanabi-v0", {"colors": 2}), ("TicTacToe-v0", {})],
)
def test_games_that_the_site_does_not_have_are_refused(game: str, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=r"hanab\.live"):
        sizes_of(make_game(game, **options))


def test_only_whole_games_with_a_deck_are_written(tmp_path: Path) -> None:
    record("hanabi/iggi", "Hanabi2P-v0", 1, tmp_path / "set")
    dataset = TrajectoryDataset(tmp_path / "set")
    HanabLiveFormat().write(dataset, tmp_path / "out")
    with pytest.raises(DataError, match="exists; name another folder"):
        HanabLiveFormat().write(dataset, tmp_path / "out")
    (rows,) = formats.load("ludory")().read([tmp_path / "set"]).parts
    wrong = rows.observations.copy()
    wrong[5, 3] ^= 1
    for number, (change, message) in enumerate(
        (({"seeds": rows.seeds * 0 - 1}, "its deck is not known"), ({"observations": wrong}, "field 'observations'"))
    ):
        extras = {"earned": rows.extras.get("earned", np.zeros(len(rows.games), np.float32))}
        write_dataset(tmp_path / f"bad{number}", dataset.header, [rows._replace(**change, extras=extras)])
        with pytest.raises(DataError, match=message):
            HanabLiveFormat().write(TrajectoryDataset(tmp_path / f"bad{number}"), tmp_path / f"no{number}")
        assert not (tmp_path / f"no{number}" / FILE).exists()


def test_commands_sum_up_and_show_games(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tables = [random_game(3, seed, careful=0.9) for seed in range(3)]
    file = write(tmp_path / "games.jsonl", *(one.as_json() for one in tables))
    assert main(["check", "data", f"{file}"]) == 0
    shown = capsys.readouterr().out
    assert "3 games of Hanabi3P-v0" in shown
    assert f"mean score {np.mean([one.score for one in tables]):.3f}; ends: " in shown
    assert main(["convert", f"{file}", "--from", "hanab-live", "--out", f"{tmp_path / 'set'}"]) == 0
    assert main(["check", "data", f"{tmp_path / 'set'}"]) == 0
    capsys.readouterr()
    assert main(["watch", f"{tmp_path / 'set'}", "--row", "1"]) == 0
    assert f"Finished after {len(tables[1].actions)} moves, return {tables[1].score}." in capsys.readouterr().out


def test_another_player_may_begin(tmp_path: Path) -> None:
    game = make_game("Hanabi-v0", players=3, random_start_player=True)
    record("hanabi/iggi", game, 6, tmp_path / "set", seed=2)
    HanabLiveFormat().write(TrajectoryDataset(tmp_path / "set"), tmp_path / "out")
    firsts = [
        json.loads(line)["options"].get("startingPlayer", 0)
        for line in (tmp_path / "out" / FILE).read_text().splitlines()
    ]
    assert len(set(firsts)) > 1
    assert [int(one.seats[0]) for one in read(tmp_path / "out" / FILE).parts] == firsts


@pytest.mark.parametrize("start", ["", "[]", '{"deck": ['])
def test_a_damaged_start_is_named(start: str, plain: Json, tmp_path: Path) -> None:
    stored = read(write(tmp_path / "game.json", plain))
    (columns,) = stored.parts
    wrong = np.full(len(columns.games), start, object)
    write_dataset(tmp_path / "set", stored.header, [columns._replace(extras=columns.extras | {"start": wrong})])
    with pytest.raises(ReplayError, match="game 0, field 'start'"):
        replay_of(tmp_path / "set", 0)
    with pytest.raises(DataError, match="game 0"):
        HanabLiveFormat().write(TrajectoryDataset(tmp_path / "set"), tmp_path / "out")


@pytest.mark.slow
def test_cloning_learns_from_converted_games(tmp_path: Path) -> None:
    pytest.importorskip("lightning", reason="supervised learners need ludory[lightning]")
    from ludory.algorithms import BC

    record("hanabi/smartbot", "Hanabi2P-v0", 50, tmp_path / "set", seed=1)
    HanabLiveFormat().write(TrajectoryDataset(tmp_path / "set"), tmp_path / "out")
    stored = read(tmp_path / "out" / FILE)
    write_dataset(tmp_path / "back", stored.header, stored.parts)
    model = BC("mlp", "Hanabi2P-v0", dataset=str(tmp_path / "back"), num_epochs=4, seed=1)
    model.learn()
    decisions = next(TrajectoryDataset(tmp_path / "back").batches(10**6))
    seen = np.unpackbits(decisions.observations.numpy(), axis=1, count=658)
    masks = np.unpackbits(decisions.masks.numpy(), axis=1, count=20).astype(bool)
    chosen, _ = model.predict(seen, action_masks=masks, deterministic=True)
    made = decisions.actions[:, 0].numpy()
    share = np.bincount(made).max() / len(made)  # of the most frequent move
    assert (np.asarray(chosen).ravel() == made).mean() > 1.3 * share


def test_every_fault_has_a_test_of_its_own() -> None:
    assert len({message for _, _, message in DAMAGES}) >= 30
    assert len(CASES) >= 20
