"""Sudoku: recorded games, unique puzzles, the solver, rewards and ends, masks, reset options, texts that invert."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.envs.make import make_engine
from ludory.envs.make import make_game as make_registered
from ludory.envs.rooms import SPLITS, split_of
from ludory.envs.sudoku import count_solutions, make_game, parse_text, puzzle_hash, render_text, solve
from ludory.envs.sudoku.rooms import DRAWN, SudokuRooms, bank_key, draw_bank, read_drawn, relabelled, write_drawn
from ludory.envs.sudoku.solver import solve_all
from ludory.envs.sudoku.text import STYLES, action_name
from ludory.errors import OptionError

pytestmark = pytest.mark.plain
GOLDEN = Path(__file__).parents[2] / "golden" / "text_games" / "golden_ragen_dev.jsonl.gz"
PUZZLE = [[0, 1, 3, 4], [0, 4, 0, 2], [0, 0, 0, 1], [1, 2, 4, 3]]
SOLUTION = [[2, 1, 3, 4], [3, 4, 1, 2], [4, 3, 2, 1], [1, 2, 4, 3]]


def recorded() -> list[dict[str, Any]]:
    with gzip.open(GOLDEN, "rt") as lines:
        episodes = [json.loads(line) for line in lines]
    return [episode for episode in episodes if episode["env"] == "ragen-sudoku"]


def sudoku(puzzle: Any = PUZZLE, **options: Any) -> Any:
    engine = make_engine(make_game(size=len(puzzle), rooms=1, **options), seed=0)
    engine.reset(options={"puzzle": puzzle})
    return engine


def play(engine: Any, *names: str) -> list[float]:
    """Place one value after another; returns the rewards."""
    rewards = []
    for name in names:
        engine.step(np.array([engine.game.language.decode(name).action]))
        rewards.append(round(float(engine.rewards[0, 0]), 6))
    return rewards


# --- Recorded games ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "count", "placements"), [(4, 60, 666), (9, 15, 600)])
def test_recorded_games_are_replayed_exactly(size, count, placements):
    game = make_game(size, rewards="ragen2", mask="all", max_steps=40, rooms=1)
    engine, steps = make_engine(game, seed=0), 0
    episodes = [episode for episode in recorded() if episode["size"] == size]
    for episode in episodes:
        engine.reset(options={"puzzle": episode["puzzle"], "solution": episode["solution"]})
        assert render_text(engine.state, 0) == episode["obs0"]
        for placement, text, reward, done, success, accepted in episode["steps"]:
            engine.step(np.array([game.language.decode(placement).action]))
            info = game.look.info(engine.state, 0)
            assert render_text(engine.state, 0) == text
            assert engine.rewards[0, 0] == np.float32(reward)
            assert bool(engine.terminated[0] | engine.truncated[0]) == done
            assert (info["success"], info["accepted"]) == (success, accepted)
            steps += 1
    assert (len(episodes), steps) == (count, placements)


# --- Rules ---------------------------------------------------------------------------------------------------------------


def test_own_entries_can_be_overwritten_and_given_cells_cannot():
    engine = sudoku()
    play(engine, "3,2,3")
    assert engine.game.look.info(engine.state, 0)["accepted"]
    for refused in ("3,2,3", "1,2,2", "1,1,1"):
        assert not engine.legal()[0, engine.game.language.decode(refused).action]
    blanks = engine.game.look.info(engine.state, 0)["blanks"]
    other = sudoku([[0, 0, 0, 0]] * 4)
    play(other, "1,1,1", "1,1,2", "2,2,1")
    assert other.state.codes[0].tolist() == [[2, 0, 0, 0], [0, 1, 0, 0], [0] * 4, [0] * 4]
    assert (blanks, other.game.look.info(other.state, 0)["blanks"]) == (5, 14)


@pytest.mark.parametrize(
    ("rewards", "expected"), [("default", [0, -0.1, 10]), ("ragen2", [1, -0.1, 11]), ("spa", [0, 0, 1])]
)
def test_each_kind_of_rewards_pays_as_specified(rewards, expected):
    solution = np.array(SOLUTION)
    puzzle = solution.copy()
    puzzle[0, 0] = puzzle[2, 3] = 0
    engine = sudoku(puzzle, rewards=rewards, mask="all")
    assert play(engine, "1,1,2", "1,1,2", "3,4,1") == expected
    assert engine.terminated[0]
    assert engine.game.look.info(engine.state, 0)["success"]


def test_another_solution_than_the_stored_one_counts_as_solved_and_pays_half():
    engine = make_engine(make_game(rewards="ragen2", rooms=1))
    two = [[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]]
    swapped = [[2, 1, 3, 4], [3, 4, 1, 2], [1, 2, 4, 3], [4, 3, 2, 1]]
    puzzle = np.where(np.array(two) == np.array(swapped), two, 0)
    assert count_solutions(puzzle) == 2
    engine.reset(options={"puzzle": puzzle, "solution": two})
    assert play(engine, "1,1,2", "1,2,1", "3,1,1", "3,2,2") == [0.5, 0.5, 0.5, 10.5]
    assert engine.terminated[0]


def test_a_refused_placement_never_ends_a_game_of_ragen2():
    engine = sudoku(rewards="ragen2", mask="all", max_steps=3)
    play(engine, "1,1,2", "1,1,2", "1,1,2", "1,1,2")
    assert not engine.truncated[0]
    play(engine, "2,1,3")
    assert engine.truncated[0]
    default = sudoku(mask="all", max_steps=3)
    play(default, "1,1,2", "1,1,2", "1,1,2")
    assert default.truncated[0]


def test_the_mask_shows_what_is_accepted():
    game = make_game(rooms=64)
    engine, generator = make_engine(game, 200, seed=4), np.random.default_rng(5)
    engine.reset()
    for _ in range(12):
        legal = engine.legal()
        free = make_engine(make_game(mask="all", rooms=64), 200, seed=4)
        free.load_fields({**engine.fields(), "setup": free.fields()["setup"]})
        actions = generator.integers(0, 64, 200)
        free.step(actions)
        running = ~(engine.terminated | engine.truncated)
        some = running & ~legal.all(axis=1)
        accepted = np.array([game.look.info(free.state, row)["accepted"] for row in range(200)])
        np.testing.assert_array_equal(accepted[some], legal[some, actions[some]])
        wish = np.where(legal, generator.random(legal.shape), -1)
        engine.step(wish.argmax(axis=1))


# --- Puzzles -------------------------------------------------------------------------------------------------------------


def solutions_by_trial(puzzle: np.ndarray) -> int:
    """All ways to fill the blanks of a 4 x 4 puzzle that repeat nothing."""
    blanks = np.argwhere(puzzle == 0)
    boxes = [(slice(r, r + 2), slice(c, c + 2)) for r in (0, 2) for c in (0, 2)]
    lines = [*((row, slice(None)) for row in range(4)), *((slice(None), column) for column in range(4)), *boxes]
    count = 0
    for values in itertools.product(range(1, 5), repeat=len(blanks)):
        full = puzzle.copy()
        full[tuple(blanks.T)] = values
        count += all(len(set(full[line].ravel().tolist())) == 4 for line in lines)
    return count


@pytest.mark.slow
def test_the_solver_counts_as_trying_everything_does():
    puzzles = SudokuRooms(4, 6, unique=False).draw(np.arange(60))["puzzle"]
    puzzles[::3, 0, 0] = np.random.default_rng(1).integers(0, 5, 20)
    expected = [solutions_by_trial(puzzle) for puzzle in puzzles]
    assert [count_solutions(puzzle, most=10_000) for puzzle in puzzles] == expected
    assert len(set(expected)) > 2


@pytest.mark.slow
@pytest.mark.parametrize(("size", "blanks"), [(4, 6), (4, 10), (9, 32), (9, 50)])
def test_unique_puzzles_have_one_solution(size, blanks):
    drawn = SudokuRooms(size, blanks, unique=True).draw(np.arange(50))
    counts, solutions = solve_all(drawn["puzzle"])
    assert (counts == 1).all()
    np.testing.assert_array_equal(solutions, drawn["solution"])
    assert ((drawn["puzzle"] == 0).sum(axis=(1, 2)) == blanks).all()


def test_numbers_of_blanks_are_drawn_with_the_puzzles():
    mixed, seeds = SudokuRooms(4, 6, unique=True, fewest=2), np.arange(200)
    puzzles = mixed.draw(seeds)["puzzle"]
    blanks = (puzzles == 0).sum(axis=(1, 2))
    counts = np.bincount(blanks)
    assert counts[:2].sum() == 0
    assert counts[2:].min() > 20
    assert len(counts) == 7
    # of the seed alone: other seeds beside it, or a split, do not change it
    np.testing.assert_array_equal(mixed.draw(seeds[50:60])["puzzle"], puzzles[50:60])
    six = SudokuRooms(4, 6, unique=True).draw(seeds)["puzzle"]
    np.testing.assert_array_equal(puzzles[blanks == 6], six[blanks == 6])
    engine = make_engine(make_game(fewest_blanks=2), 64, seed=1)
    engine.reset()
    assert set(engine.state.blanks.tolist()) == {2, 3, 4, 5, 6}


@pytest.mark.slow
def test_nearly_all_easy_puzzles_are_unique_anyway():
    """94.8 percent of RAGEN 2's easy puzzles of 4 x 4 cells."""
    counts, _ = solve_all(SudokuRooms(4, 6, unique=False).draw(np.arange(4000))["puzzle"])
    assert 0.94 < (counts == 1).mean() < 0.985


def test_a_puzzle_without_solution_is_said_to_have_none():
    assert count_solutions([[1, 1, 0, 0], *[[0] * 4] * 3]) == 0
    with pytest.raises(OptionError, match="no solution"):
        solve([[1, 2, 3, 0], [0, 0, 0, 4], [0] * 4, [0] * 4])


def test_hashes_ignore_the_names_of_values_only():
    puzzle, names = np.array(PUZZLE), np.array([0, 3, 1, 4, 2])
    assert puzzle_hash(puzzle) == puzzle_hash(names[puzzle]) != puzzle_hash(puzzle.T)
    assert relabelled(puzzle).tolist() == [[0, 1, 2, 3], [0, 3, 0, 4], [0, 0, 0, 1], [1, 4, 3, 2]]


def test_rooms_follow_from_seed_and_split_alone():
    rooms = SudokuRooms(4, 6, unique=True)
    alone = [rooms.draw(np.array([seed]), "test")["puzzle"][0] for seed in range(20)]
    together = rooms.draw(np.arange(20), "test")
    np.testing.assert_array_equal(together["puzzle"], alone)
    assert (split_of(rooms.hashes(together)) == SPLITS.index("test")).all()


@pytest.mark.slow
@pytest.mark.parametrize("id", ["Sudoku4-v0", "Sudoku9-v0"])
def test_the_puzzles_that_come_with_the_package_are_those_that_are_drawn(id: str, tmp_path: Path) -> None:
    bank = make_engine(id).state.bank
    rooms: Any = make_registered(id).analysis.rooms
    kept = read_drawn(DRAWN, bank_key(rooms, len(bank), None))
    assert kept is not None
    np.testing.assert_array_equal(bank, kept)
    write_drawn(tmp_path / "some.npz", [(rooms, 12)])
    np.testing.assert_array_equal(read_drawn(tmp_path / "some.npz", bank_key(rooms, 12, None)), kept[:12])
    assert read_drawn(tmp_path / "some.npz", bank_key(rooms, 13, None)) is None
    np.testing.assert_array_equal(draw_bank(rooms, 12, None), kept[:12])


@pytest.mark.parametrize("split", [None, "valid"])
def test_games_draw_puzzles_of_the_bank_under_other_names(split):
    game = make_game(split=split, rooms=20)
    engine = make_engine(game, 400, seed=6)
    engine.reset()
    counts, solutions = solve_all(engine.state.codes)
    assert (counts == 1).all()
    np.testing.assert_array_equal(solutions, engine.state.solution)
    hashes = set(game.analysis.rooms.hashes({"puzzle": engine.state.codes}).tolist())
    assert len(hashes) == 20 if split else len(hashes) > 300
    if split:
        assert hashes == set(game.analysis.rooms.hashes({"puzzle": engine.state.bank[:, 0]}).tolist())
        assert (split_of(np.array(list(hashes), np.uint64)) == SPLITS.index(split)).all()
    assert len({grid.tobytes() for grid in engine.state.codes}) > 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"puzzle": SOLUTION}, "has no blank"),
        ({"puzzle": [[1, 1, 0, 0], *[[0] * 4] * 3]}, "a value twice"),
        ({"puzzle": [[1, 2, 3, 0], [0, 0, 0, 4], [0] * 4, [0] * 4]}, "has no solution"),
        ({"puzzle": [[5, 0, 0, 0], *[[0] * 4] * 3]}, "got 0..5"),
        ({"puzzle": [[0, 0]]}, r"shape \(1, 2\)"),
        ({"puzzle": PUZZLE, "solution": np.array(SOLUTION)[::-1]}, "not a solution"),
        ({"solution": SOLUTION}, "one puzzle="),
        ({"puzle": PUZZLE}, "did you mean 'puzzle'"),
    ],
)
def test_wrong_reset_options_are_named(options, message):
    with pytest.raises(OptionError, match=message):
        make_engine(make_game(rooms=1)).reset(options=options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 6}, "4 or 9"),
        ({"blanks": 16}, "blanks=16"),
        ({"fewest_blanks": 7}, "fewest_blanks=7"),
        ({"rewards": "ragen"}, "'ragen2'"),
        ({"mask": "none"}, "'legal'"),
        ({"max_steps": 0}, "max_steps=0"),
        ({"split": "dev"}, "train, valid, test"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(OptionError, match=message):
        make_game(**options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mask", "within"), [("legal", {10: (93, 2), 50: (98.5, 1)}), ("all", {25: (0, 0.2), 50: (1.5, 1)})]
)
def test_the_mask_is_most_of_the_game(mask, within):
    """Percent of puzzles with six blanks that uniformly random placements solve within so many actions."""
    games = 2500
    engine, generator = make_engine(make_game(mask=mask, rooms=500), games, seed=1), np.random.default_rng(2)
    engine.reset()
    for action in range(1, 51):
        legal = engine.legal()
        engine.step(np.where(legal, generator.random(legal.shape, np.float32), -1).argmax(axis=1))
        if action in within:
            expected, slack = within[action]
            assert 100 * engine.terminated.mean() == pytest.approx(expected, abs=slack)


# --- Text ----------------------------------------------------------------------------------------------------------------


def test_each_style_is_written_as_specified():
    engine = sudoku()
    row = "| . 1 3 4 | . 4 . 2 | . . . 1 | 1 2 4 3"
    blanks = "Empty positions to be filled are at (1,1), (2,1), (2,3), (3,1), (3,2), (3,3)."
    assert {style: render_text(engine.state, 0, style) for style in STYLES} == {
        "grid": ". 1 | 3 4\n. 4 | . 2\n---------\n. . | . 1\n1 2 | 4 3",
        "row": row,
        "sentence": f"{row}\n{blanks}",
        "compact": ". 1 3 4 . 4 . 2 . . . 1 1 2 4 3",
    }


@settings(max_examples=60)
@given(st.sampled_from([4, 9]), st.integers(0, 10_000), st.integers(1, 15), st.sampled_from(sorted(STYLES)))
def test_texts_invert(size, seed, blanks, style):
    puzzle = SudokuRooms(size, blanks, unique=False).draw(np.array([seed]))["puzzle"][0]
    engine = sudoku(puzzle)
    text = render_text(engine.state, 0, style)
    assert parse_text(text, style)["codes"].tolist() == puzzle.tolist()
    assert engine.game.language.write(engine.state, [0], None, style) == [text]


@pytest.mark.parametrize(
    ("style", "text", "message"),
    [
        ("grid", "1 2 3 4", "line 1"),
        ("grid", ". 1 | 3 4\n. 4 | . 2\n---------\n. . | . 1", "line 4: .* has 5 lines"),
        ("grid", ". 1 | 3 4\n. 4 | . 2\n--------\n. . | . 1\n1 2 | 4 3", "line 3: .* 9 hyphens"),
        ("grid", ". 1 | 3 4\n. 4 | . 5\n---------\n. . | . 1\n1 2 | 4 3", "line 2: symbol '5'"),
        ("grid", ". 1 | 3 4\n. 4 | .  2\n---------\n. . | . 1\n1 2 | 4 3", "line 2: .* 2 boxes of 2"),
        ("row", "| . 1 3 4 | . 4 . 2", "line 1"),
        ("row", "| . 1 3 4 | . 4 . 2 | . . . 1 | 1 2 4", "row 4 has 3 cells"),
        ("sentence", "| . 1 3 4 | . 4 . 2 | . . . 1 | 1 2 4 3\nNo positions are empty.", "must be 'Empty"),
        ("compact", ". 1 3 4 . 4", "got 6 words, must be 16 or 81"),
        ("compact", ". 1 3 4 . 4 . 2 . . . 1 1 2 4 5", "symbol .5."),
    ],
)
def test_texts_of_no_state_are_refused_with_the_reason(style, text, message):
    with pytest.raises(ValueError, match=message):
        parse_text(text, style)


@pytest.mark.parametrize(
    "text", ["2,3,4", " 2 3 4\n", "2, 3, 4", "2 ,3 4", "place 4 at row 2 col 3", "Place 4 in row 2, column 3"]
)
def test_placements_are_read_in_every_form(text):
    action = make_game().language.decode(text).action
    assert action == (1 * 4 + 2) * 4 + 3
    assert action_name(4, action) == "2,3,4"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is no placement"),
        ("2,3", "is no placement"),
        ("2,3,5", "value 5 is outside 1 to 4"),
        ("0,3,4", "row 0"),
        ("1,9999,2", "is no placement"),
        ("٢,٣,٤", "is no placement"),
        ("1 " * 10**6, "is short"),
    ],
)
def test_what_is_no_placement_has_a_reason(text, reason):
    decoded = make_game().language.decode(text)
    assert decoded.action is None
    assert reason in decoded.reason


@pytest.mark.parametrize("style", sorted(STYLES))
@pytest.mark.parametrize("size", [4, 9])
def test_the_worked_example_is_played_as_it_says(size, style):
    game = make_game(size, rooms=1)
    example = game.language.example(style)
    engine = sudoku(parse_text(example.before, style)["codes"])
    play(engine, *example.actions)
    assert game.language.write(engine.state, [0], None, style) == [example.after]
    assert game.look.info(engine.state, 0)["success"]
