"""The rules of Sokoban, room by room, and what holds in every game."""

from __future__ import annotations

import numpy as np
import pytest
from games.own_games import check_variant
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.envs.make import make_engine, make_game
from ludory.envs.sokoban import dead
from ludory.envs.sokoban.level_files import LEVEL_SYMBOLS, level_text
from ludory.envs.sokoban.state import BOX, BOX_ON_TARGET, PLAYER, WALL, drawn_codes, start_codes
from ludory.errors import OptionError

UP, DOWN, LEFT, RIGHT = range(4)


def room(*rows: str) -> np.ndarray:
    """Codes of a room in the symbols of level files."""
    return np.array([[LEVEL_SYMBOLS.index(symbol) for symbol in row] for row in rows], np.uint8)


SIDE = 10
"""All rooms are played in a corner of one size, so that kernels are compiled once."""


def cornered(codes: np.ndarray, last: bool = False) -> np.ndarray:
    """The room in the first corner of one of 10x10, or in the last one; the rest is wall."""
    rows, columns = codes.shape
    large = np.zeros((SIDE, SIDE), np.uint8)
    large[(slice(-rows, None), slice(-columns, None)) if last else (slice(rows), slice(columns))] = codes
    return large


def played(codes: np.ndarray, path: list[int], last: bool = False, **options):
    """An engine after the actions `path` in one room, and the rewards."""
    engine = make_engine(make_game("Sokoban-v0", rooms=cornered(codes, last)[None], **options))
    engine.reset()
    rewards = []
    for action in path:
        engine.step(np.array([action]))
        rewards.append(float(engine.rewards[0, 0]))
    return engine, rewards


def drawn(engine, rows: int, columns: int) -> str:
    """The first corner of the engine's game."""
    return level_text(drawn_codes(engine.state, [0])[0, :rows, :columns]).split("\n", 1)[1].rstrip("\n")


CORRIDOR = room("######", "#@$ .#", "######")


def test_two_pushes_solve_a_corridor():
    engine, rewards = played(CORRIDOR, [RIGHT, RIGHT])
    assert drawn(engine, 3, 6) == "######\n#  @*#\n######"
    assert rewards == [np.float32(-0.1), np.float32(10.9)]
    assert engine.terminated.tolist() == [True]
    assert engine.game.look.info(engine.state, 0)["success"]


def test_a_box_before_a_wall_or_a_box_does_not_move():
    engine, rewards = played(room("#######", "#@$$..#", "#######"), [RIGHT])
    assert drawn(engine, 3, 7) == "#######\n#@$$..#\n#######"
    assert rewards == [np.float32(-0.1)]
    assert not engine.game.look.info(engine.state, 0)["moved_player"]


def test_leaving_a_target_costs_one():
    two = room("########", "#@$.$ .#", "########")
    _engine, rewards = played(two, [RIGHT, RIGHT])
    assert rewards == [np.float32(0.9), np.float32(-0.1)]  # the second push is stopped by the other box
    _engine, rewards = played(room("#########", "#@$.  $.#", "#########"), [RIGHT, RIGHT])
    assert rewards == [np.float32(0.9), np.float32(-1.1)]


def test_nothing_moves_beyond_the_edge_of_an_open_room():
    engine, _ = played(room("@  ", " $ ", " . "), [UP, LEFT, RIGHT])
    assert drawn(engine, 3, 3) == " @ \n $ \n . "
    engine, _ = played(room(" $@", ".  "), [LEFT, LEFT])  # the second push meets the edge
    assert drawn(engine, 2, 3) == "$@ \n.  "
    engine, _ = played(room("  @", ".$ ", "   "), [DOWN, DOWN, DOWN, RIGHT], last=True)
    assert int(engine.state.player[0]) == SIDE * SIDE - 1


def test_moves_of_nine_never_push():
    engine, _ = played(CORRIDOR, [8, 0], actions="move9")
    assert drawn(engine, 3, 6) == "######\n#@$ .#\n######"
    engine, _ = played(CORRIDOR, [4, 7], actions="move9")
    assert drawn(engine, 3, 6) == "######\n#@ $.#\n######"


def test_a_room_is_truncated_after_its_steps():
    engine, _ = played(CORRIDOR, [LEFT, LEFT], max_steps=2)
    assert engine.truncated.tolist() == [True]
    assert engine.terminated.tolist() == [False]
    engine, _ = played(CORRIDOR, [RIGHT, RIGHT], max_steps=2)  # solved in the last step
    assert (engine.truncated | ~engine.terminated).tolist() == [False]


@pytest.mark.parametrize(("gym_count", "first"), [(False, -0.1), (True, 0.9)])
def test_gym_counts_covered_targets_from_zero(gym_count, first):
    codes = room("######", "#@*  #", "#  $ #", "#  . #", "######")
    codes[1, 1], codes[2, 1] = 1, PLAYER
    _engine, rewards = played(codes, [DOWN], gym_count=gym_count)
    assert rewards == [np.float32(first)]


@pytest.mark.parametrize(
    ("codes", "problem"),
    [
        (room("####", "#@ #", "####"), "must be 1 player and 1 of each"),
        (room("#####", "#@*##", "#####"), "solved already"),
        (room("#####", "# $.#", "#####"), "has 0 players"),
        (np.full((3, 5), 9), "codes are 0..6"),
        (room("#@$.#", "#####"), "`size=` says"),
    ],
)
def test_wrong_rooms_are_refused(codes, problem):
    engine = make_engine(make_game("Sokoban-v0", size=SIDE))
    with pytest.raises(OptionError, match=problem):
        engine.reset(options={"room": codes if codes.shape[0] == 2 else cornered(codes)})


def test_fixed_and_codes_say_what_the_player_stands_on():
    fixed, codes = cornered(room("#####", "#. .#", "#####")), cornered(room("#####", "#@$ #", "#####"))
    fixed[1, 3] = 1
    engine = make_engine(make_game("Sokoban-v0", size=SIDE))
    engine.reset(options={"fixed": fixed, "codes": codes})
    assert drawn(engine, 3, 5) == "#####\n#+$ #\n#####"


def test_corners_and_walls_without_a_target_are_dead():
    engine, _ = played(room("######", "#    #", "# @$ #", "#  . #", "######"), [UP, RIGHT])
    assert not dead(engine.state, 0)
    engine, _ = played(room("######", "#    #", "#  $ #", "#  @.#", "######"), [UP])
    assert dead(engine.state, 0)  # along the upper wall there is no target


@pytest.mark.slow
def test_dead_boxes_are_those_that_no_search_brings_home():
    from ludory.agents.puzzles.sokoban_search import UNSOLVED, shortest_moves

    generator, game = np.random.default_rng(3), make_game("Sokoban-v0", size=SIDE)
    rooms = game.analysis.rooms.draw(np.arange(60))["room"]
    engine = make_engine(game, len(rooms))
    engine.reset(options={"room": rooms})
    for _ in range(12):
        engine.step(generator.integers(0, 4, len(rooms)))
    running = np.flatnonzero(~engine.over)
    unsolvable = shortest_moves(drawn_codes(engine.state, running)) == UNSOLVED
    marked = np.array([dead(engine.state, int(row)) for row in running])
    assert marked.any()
    assert not (marked & ~unsolvable).any()


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 8), min_size=1, max_size=40))
def test_what_holds_in_every_game(seed, actions):
    game = make_game("SokobanLarge-v0", actions="move9")
    engine = make_engine(game)
    engine.reset(options=game.analysis.rooms.draw(np.array([seed])))
    before = start_codes(engine.state, [0])[0]
    for action in actions:
        if engine.over[0]:
            break
        mask = np.zeros(9, bool)
        changed = play_is_a_change(engine, action)
        mask[action] = changed
        now = drawn_codes(engine.state, [0])[0]
        assert (np.isin(now, (BOX, BOX_ON_TARGET)).sum(), np.isin(now, (2, 3, 6)).sum()) == (2, 2)
        assert ((now == WALL) == (before == WALL)).all()
        covered = int((now == BOX_ON_TARGET).sum())
        assert engine.terminated[0] == (covered == 2)


def play_is_a_change(engine, action: int) -> bool:
    """Play, and compare: the state changed if and only if something moved."""
    before = drawn_codes(engine.state, [0]).copy()
    engine.step(np.array([action]))
    changed = not np.array_equal(before, drawn_codes(engine.state, [0]))
    assert changed == bool(engine.state.moved[0])
    return changed


@pytest.mark.parametrize("actions", ["push4", "move9"])
def test_the_mask_of_moves_is_what_changes_the_state(actions):
    count = 4 if actions == "push4" else 9
    game = make_game("Sokoban-v0", size=SIDE, actions=actions, mask="moves")
    free = make_engine(make_game("Sokoban-v0", size=SIDE, actions=actions), 64)
    rooms = game.analysis.rooms.draw(np.arange(64))
    generator = np.random.default_rng(1)
    engine = make_engine(game, 64)
    engine.reset(options=rooms)
    free.reset(options=rooms)
    for _ in range(10):
        masks = engine.legal()
        for action in range(count):
            trial = free.clone()
            trial.step(np.full(64, action))
            changed = (drawn_codes(trial.state, range(64)) != drawn_codes(free.state, range(64))).any((1, 2))
            over = np.asarray(free.over)
            assert (masks[~over, action] == changed[~over]).all()
        chosen = np.array([generator.choice(np.flatnonzero(mask)) for mask in masks])
        engine.step(chosen)
        free.step(chosen)


def test_a_push_is_undone_by_a_pull_backward():
    """Playing a push backward, by hand, restores the room."""
    engine, _ = played(CORRIDOR, [RIGHT])
    after = drawn_codes(engine.state, [0])[0]
    pulled = after.copy()
    row, column = np.argwhere(after == PLAYER)[0]
    pulled[row, column - 1], pulled[row, column], pulled[row, column + 1] = PLAYER, BOX, 1
    assert np.array_equal(pulled, cornered(CORRIDOR))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"actions": "move9", "mask": "moves", "observation": "codes"}])
def test_the_contract_is_kept(options):
    check_variant(make_game("SokobanLarge-v0", **options), games=2, compiled=False)
