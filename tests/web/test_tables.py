"""Tables: kept in files that survive a kill, played by persons and by agents, moves taken back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette", reason='the server needs pip install "ludory[web]"')

from ludory.data.replay import frames
from ludory.errors import DataError, OptionError, UnknownIdError
from ludory.web.kept import KeptTexts
from ludory.web.players import PlayerPool
from ludory.web.position import started_position
from ludory.web.tables import GameTable, Tables, WrongMoveError

pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def players() -> Iterator[PlayerPool]:
    pool = PlayerPool(1)
    yield pool
    pool.close()


@pytest.fixture
def tables(tmp_path: Path, players: PlayerPool) -> Tables:
    return Tables(tmp_path / "tables", players)


def play_to_end(tables: Tables, table: GameTable, seed: int = 0) -> None:
    """Persons choose at random."""
    random = np.random.default_rng(seed)
    for _ in range(1000):
        tables.settle(table, 60)
        assert not table.problem
        position = tables.position(table)
        if position.over:
            return
        for seat in position.deciding():
            if table.seats[seat].human:
                heads = position.legal(seat)
                tables.play(table, seat, tuple(int(random.choice([one.value for one in head])) for head in heads))
    raise AssertionError("the game does not end")


@pytest.mark.slow
@pytest.mark.parametrize("game", ["TicTacToe-v0", "Hanabi2P-v0", "FrozenLakeRagen1-v0"])
def test_a_game_of_persons_and_agents_ends_and_can_be_replayed(tables: Tables, game: str) -> None:
    seats = [""] if game.startswith("Frozen") else ["", "random(seed=1)"]
    table = tables.start(game, {}, 5, seats)
    play_to_end(tables, table)
    assert table.finished
    assert len(list(frames(tables.replay(table)))) == len(table.moves) + 1


def test_all_seats_move_at_once(tables: Tables) -> None:
    table = tables.start("Arena2P-v0", {}, 5, ["", ""])
    start = tables.position(table).legal(0)
    action = tuple(head[0].value for head in start)
    tables.play(table, 0, action)
    assert not table.moves, "seat 1 has not chosen"
    with pytest.raises(WrongMoveError, match="not the turn of seat 0"):
        tables.play(table, 0, action)
    tables.play(table, 1, action)
    assert table.moves == [(-1, (action, action))]


def test_another_server_finds_the_same_position(tables: Tables, tmp_path: Path, players: PlayerPool) -> None:
    table = tables.start("ConnectFour-v0", {}, 1, ["", ""], person="me")
    for number, column in enumerate((3, 3, 4)):
        tables.play(table, number % 2, (column,))
    again = Tables(tmp_path / "tables", players)
    found = again.get(table.id)
    assert found.moves == table.moves
    assert found.seats_of("me") == (0,)
    assert found.seats_of("somebody else") == ()
    assert again.position(found).picture(None) == tables.position(table).picture(None)


def test_a_line_that_a_kill_cut_off_is_left_out(tables: Tables, tmp_path: Path, players: PlayerPool) -> None:
    table = tables.start("ConnectFour-v0", {}, 1, ["", ""])
    tables.play(table, 0, (3,))
    file = tmp_path / "tables" / f"{table.id}.jsonl"
    file.write_bytes(file.read_bytes() + b'{"move":[1,')
    again = Tables(tmp_path / "tables", players)
    found = again.get(table.id)
    assert found.moves == [(0, 3)]
    again.play(found, 1, (3,))
    assert Tables(tmp_path / "tables", players).get(table.id).moves == [(0, 3), (1, 3)]


def test_files_that_are_no_tables_are_left_alone(tmp_path: Path, players: PlayerPool) -> None:
    for name, text in (
        ("0123456789ab.jsonl", "{}"),
        ("notes.jsonl", "{}"),
        ("ab.txt", ""),
        ("ffffffffffff.jsonl", "\xff"),
    ):
        (tmp_path / name).write_text(text)
    assert Tables(tmp_path, players).recent() == []


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [*lines[:2], lines[2].replace(b"[1,3]", b"[1,4]")],
        lambda lines: [lines[0].replace(b'"seed":1', b'"seed":1e999'), *lines[1:]],
        lambda lines: [b"[" * 100_000],
    ],
    ids=["move lost", "move changed", "infinite seed", "deep"],
)
def test_a_damaged_table_is_refused_by_name_and_the_others_are_there(
    change: Callable[[list[bytes]], list[bytes]], tables: Tables, tmp_path: Path, players: PlayerPool
) -> None:
    damaged, whole = (tables.start("ConnectFour-v0", {}, 1, ["", ""]) for _ in range(2))
    for number in range(2):
        tables.play(damaged, number, (3,))
    file = tmp_path / "tables" / f"{damaged.id}.jsonl"
    file.write_bytes(b"".join(change(file.read_bytes().splitlines(keepends=True))))
    again = Tables(tmp_path / "tables", players)
    assert [one.id for one in again.recent()] == [whole.id]
    with pytest.raises(DataError, match=f"{damaged.id}.jsonl"):
        again.get(damaged.id)


def test_a_text_of_a_visitor_that_was_changed_is_refused(tmp_path: Path) -> None:
    kept = KeptTexts(tmp_path, "s", "nothing")
    id = kept.add("é a text\r\n")
    assert kept.file(id).read_bytes() == "é a text\r\n".encode()
    kept.file(id).write_text("another")
    with pytest.raises(DataError, match=f"{id}.json: damaged"):
        kept.file(id)


def test_a_move_is_taken_back_and_the_record_says_so(tables: Tables, tmp_path: Path, players: PlayerPool) -> None:
    table = tables.start("TicTacToe-v0", {}, 1, ["", "random(seed=1)"])
    tables.play(table, 0, (4,))
    tables.settle(table, 60)
    assert [seat for seat, _ in table.moves] == [0, 1]
    assert tables.take_back(table, 0) == 2
    assert (table.moves, table.taken_back) == ([], [(0, 2)])
    assert not tables.position(table).words(None)
    with pytest.raises(WrongMoveError, match="nothing to take back"):
        tables.take_back(table, 0)
    assert Tables(tmp_path / "tables", players).get(table.id).taken_back == [(0, 2)]


def test_moves_out_of_turn_illegal_or_for_an_old_page_are_refused(tables: Tables) -> None:
    table = tables.start("TicTacToe-v0", {}, 1, ["", ""])
    seen = table.version
    for seat, action, words in [
        (1, (0,), "not the turn of seat 1"),
        (0, (9,), "no action"),
        (0, (-1,), "no action"),
        (0, (0, 0), "no action"),
    ]:
        with pytest.raises(WrongMoveError, match=words):
            tables.play(table, seat, action)
    tables.play(table, 0, (4,), seen)
    with pytest.raises(WrongMoveError, match="b2 is not legal now"):
        tables.play(table, 1, (4,))
    with pytest.raises(WrongMoveError, match="has changed"):
        tables.play(table, 1, (0,), seen)
    assert table.moves == [(0, 4)]


def test_what_cannot_be_started_leaves_no_file(tables: Tables, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="has 2 seats, got 3"):
        tables.start("TicTacToe-v0", {}, 1, ["", "", ""])
    with pytest.raises(UnknownIdError):
        tables.start("NoSuchGame-v0", {}, 1, [""])
    assert not list(tmp_path.rglob("*.jsonl"))
    with pytest.raises(UnknownIdError, match="no such table"):
        tables.get("../../etc/passwd")


def test_only_its_owner_can_read_a_tables_file(tables: Tables, tmp_path: Path) -> None:
    table = tables.start("TicTacToe-v0", {}, 1, ["", ""], person="my secret")
    file = tmp_path / "tables" / f"{table.id}.jsonl"
    assert file.stat().st_mode & 0o077 == 0
    assert "my secret" not in file.read_text()
    assert json.loads(file.read_text().splitlines()[0])["format"] == "ludory table 1"


def test_an_agent_that_fails_is_named_and_can_be_replaced(tables: Tables) -> None:
    table = tables.start("TicTacToe-v0", {}, 1, ["", "hanabi/iggi"])
    tables.play(table, 0, (4,))
    tables.settle(table, 60)
    assert "hanabi/iggi in seat 1 cannot move" in table.problem
    assert table.moves == [(0, 4)]
    tables.replace_agent(table, 1, "random")
    tables.settle(table, 60)
    assert not table.problem
    assert len(table.moves) == 2


def test_an_error_that_nobody_expected_is_shown_and_the_agent_can_be_asked_again(
    tables: Tables, players: PlayerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tables.start("TicTacToe-v0", {}, 1, ["", "random"])
    with monkeypatch.context() as patch:
        patch.setattr(players, "choose", lambda _: 1 // 0)
        tables.play(table, 0, (4,))
        tables.settle(table, 60)
    assert "ZeroDivisionError" in table.problem
    tables.ask_again(table)
    tables.settle(table, 60)
    assert not table.problem
    assert len(table.moves) == 2


@pytest.mark.parametrize(
    "game",
    [
        "TicTacToe-v0",
        "ConnectFour-v0",
        "Hanabi3P-v0",
        "Texas42-v0",
        "LeducPoker-v0",
        "Sokoban-v0",
        "Sudoku4-v0",
        pytest.param("Arena2P-v0", marks=pytest.mark.slow),
    ],
)
def test_every_legal_action_can_be_clicked_in_the_picture(game: str) -> None:
    position, random = started_position(game, {}, 3), np.random.default_rng(0)
    for _ in range(40):
        if position.over:
            break
        chosen = {}
        for seat in position.deciding():
            heads = position.legal(seat)
            picture = position.picture(seat, [action for head in heads for action in head])
            clickable = {code for part in picture.split('data-action="')[1:] for code in part.partition('"')[0].split()}
            allowed = {action.code for head in heads for action in head}
            if len(heads) == 1:
                assert clickable == allowed
            else:  # some values in between have no place of their own
                assert clickable - {"send"} < allowed
                assert "send" in clickable
            chosen[seat] = tuple(int(random.choice([action.value for action in head])) for head in heads)
        if position.game.facts.simultaneous:
            position.play(-1, position.joint_action(chosen))
        else:
            [(seat, action)] = chosen.items()
            position.play(seat, action[0])


@pytest.mark.slow
@pytest.mark.parametrize("game", ["Hanabi2P-v0", "Texas42-v0", "LeducPoker-v0", "Arena2P-v0"])
def test_a_seats_board_does_not_depend_on_what_it_may_not_know(tables: Tables, game: str) -> None:
    from ludory.web.position import board_of

    players = started_position(game, {}, 3).game.facts.players
    table, random = tables.start(game, {}, 3, [""] * players), np.random.default_rng(0)
    changed = False
    for _ in range(12):
        position = tables.position(table)
        if position.over:
            break
        for seat in range(players):
            board = board_of(position, table, seat)
            everything = position.picture(None)
            before = position.engine
            position.engine = before.clone()
            position.engine.redeal(seat, 11)
            assert board_of(position, table, seat) == board
            changed |= position.picture(None) != everything
            position.engine = before
        for seat in list(position.deciding()):
            heads = position.legal(seat)
            tables.play(table, seat, tuple(int(random.choice([one.value for one in head])) for head in heads))
    assert changed, "the deal was drawn anew, so something else must have changed"
