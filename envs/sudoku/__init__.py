"""Sudoku with 4 x 4 or 9 x 9 cells. One seat; an action places one value in one cell."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from ludory import envs
from ludory.errors import OptionError

from . import rules
from .pictures import draw_svg, draw_text, last_move
from .rooms import PuzzleBank, SudokuRooms, puzzle_hash, start_fields
from .solver import count_solutions, solve
from .text import action_name, codec, parse_text, render_text

__all__ = ["count_solutions", "make_game", "parse_text", "puzzle_hash", "render_text", "solve"]

REWARDS = {"default": rules.DEFAULT, "ragen2": rules.RAGEN2, "spa": rules.SPA}
"""What a placement pays.

default: -0.1 if refused, 10 for the solution. spa: 1 for the solution. ragen2: 1 if accepted, 0.5 if the stored solution has another
value there, -0.1 if refused, and 10 more for the solution; it pays for filling cells before a contradiction.
"""
LIMITS = {"default": 50, "ragen2": 81, "spa": 50}
HARD_LIMIT = 10
"""A game with rewards="ragen2" ends only after an accepted placement, but at the latest after this many times `max_steps`."""
BLANKS = {4: 6, 9: 32}
MOST_BLANKS = {4: 11, 9: 54}
"""Largest number of blanks that unique puzzles are drawn with."""
ROOMS, SPLIT_ROOMS = 256, 4096
OBSERVATIONS = {"planes": rules.observe_planes, "codes": rules.observe_codes, "given": rules.observe_given}


def make_game(
    size: int = 4,
    blanks: int | None = None,
    unique: bool = True,
    rewards: Literal["default", "ragen2", "spa"] = "default",
    max_steps: int | None = None,
    mask: Literal["legal", "all"] = "legal",
    observation: Literal["planes", "codes", "given"] = "planes",
    split: str | None = None,
    rooms: int | None = None,
    fewest_blanks: int | None = None,
) -> envs.Game:
    """Make a Sudoku.

    A placement is accepted if the cell is not given, holds another value, and no cell of the same row, column or box has the value.
    Otherwise nothing changes. The puzzle is solved when no cell is blank, whichever solution was found.

    Args:
        size: N, 4 or 9.
        blanks: blank cells at the start; None: 6 of 16, or 32 of 81.
        unique: draw puzzles with one solution only; False: blank any cells.
        rewards: "default", "ragen2" or "spa", see `REWARDS`.
        max_steps: a longer game is truncated; None: 50, or 81 with rewards="ragen2".
        mask: "legal": the accepted placements (all, if there is none); "all": all. The mask is most of the game at 4 x 4.
        observation: "planes" bits [N + 1, N, N] (one plane per value, given cells), "codes" uint8 [N, N], or "given" bits [2, N, N]
            (given cells, filled cells).
        split: "train", "valid" or "test": puzzles of this split; None: of all.
        rooms: number of puzzles in the bank; None: 256, or 4096 of a split. Every game draws one of them, new names for its values
            and, without a split, a new order of its rows and columns.
        fewest_blanks: puzzles have from so many blanks to `blanks`, each number as often; None: all have `blanks`.

    Raises:
        OptionError: a value is not allowed.
    """
    if size not in BLANKS:
        raise OptionError(f"size={size!r}: must be 4 or 9")
    envs.check_flag("unique", unique)
    envs.check_choice("rewards", rewards, tuple(REWARDS))
    envs.check_choice("mask", mask, ("legal", "all"))
    envs.check_choice("observation", observation, tuple(OBSERVATIONS))
    envs.check_split(split)
    blanks = BLANKS[size] if blanks is None else blanks
    envs.check_range("blanks", blanks, 1, MOST_BLANKS[size] if unique else size * size - 1)
    if fewest_blanks is not None:
        envs.check_range("fewest_blanks", fewest_blanks, 1, blanks)
    limit = LIMITS[rewards] if max_steps is None else max_steps
    envs.check_range("max_steps", limit, 1, 1_000_000)
    count = rooms if rooms is not None else SPLIT_ROOMS if split else ROOMS
    envs.check_range("rooms", count, 1, 1_000_000)
    longest = limit * HARD_LIMIT if rewards == "ragen2" else limit
    drawn = SudokuRooms(size, blanks, unique, fewest_blanks)
    return envs.Game(
        _facts(size, rewards, longest, observation),
        envs.Rules(
            fields=rules.fields(size, REWARDS[rewards], limit, longest, mask == "legal", count, split is None),
            kernels=envs.Kernels(rules.reset, rules.step, rules.legal, OBSERVATIONS[observation]),
            start=partial(start_fields, size),
            shared=PuzzleBank(drawn, count, split),
        ),
        look=envs.Look(
            action_name=lambda head, action: action_name(size, action),
            info=info,
            text=draw_text,
            svg=draw_svg,
            last_move=last_move,
        ),
        language=codec(size),
        analysis=envs.Analysis(rooms=drawn),
        family="sudoku",
    )


def _facts(size: int, rewards: str, longest: int, observation: str) -> envs.GameFacts:
    cells = size * size
    worst, best = {
        "default": (-0.1 * longest, 10.0),
        "ragen2": (-0.1 * longest, longest + 10.0),
        "spa": (0.0, 1.0),
    }[rewards]
    return envs.GameFacts(
        name=f"Sudoku {size}x{size}",
        players=1,
        turns="sequential",
        reward="general",
        hidden_information=False,
        chance=True,
        heads=(envs.Head("placement", cells * size),),
        observation=_spec(size, observation),
        longest_game=longest,
        min_return=worst,
        max_return=best,
    )


def _spec(size: int, observation: str) -> envs.ObservationSpec:
    cells = size * size
    if observation == "codes":
        return envs.ObservationSpec("codes", (size, size), "uint8", envs.flat_segments({"codes": cells}), 0, size)
    if observation == "given":
        return envs.ObservationSpec(
            "given", (2, size, size), "uint8", envs.flat_segments({"given": cells, "filled": cells})
        )
    planes = {f"value {value}": cells for value in range(1, size + 1)} | {"given": cells}
    return envs.ObservationSpec("planes", (size + 1, size, size), "uint8", envs.flat_segments(planes))


def info(state: envs.State, i: int) -> dict[str, Any]:
    """`success`: the puzzle is solved; `accepted`: the last placement was; `blanks` left; `steps`."""
    return {
        "success": int(state.blanks[i]) == 0,
        "accepted": int(state.outcome[i]) != rules.REFUSED,
        "blanks": int(state.blanks[i]),
        "steps": int(state.steps[i]),
    }
