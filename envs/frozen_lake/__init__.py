"""FrozenLake: a walk over ice to the goal, around holes, where the ice may slip. One seat.

The success rate q is part of every id: the intended direction comes with probability q, each perpendicular one with (1 - q) / 2.
Gymnasium's slippery lake has q = 1/3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ludory import envs
from ludory.errors import OptionError

from .pictures import draw_svg, draw_text, last_move
from .rooms import LakeRooms, bank, map_hash, read_map, start_fields
from .rules import DIRECTIONS, GOAL, fields, legal, observe_codes, observe_planes, reset, step
from .text import codec, parse_text, render_text, vocabulary
from .transitions import Transition, optimal_values, optimum, random_walk, transitions

__all__ = [
    "Transition",
    "make_game",
    "map_hash",
    "optimal_values",
    "optimum",
    "parse_text",
    "random_walk",
    "read_map",
    "render_text",
    "transitions",
]

LARGEST = 16
OBSERVATIONS = {"planes": observe_planes, "codes": observe_codes}


def make_game(
    size: int = 4,
    p: float = 0.8,
    success_rate: float = 1.0,
    max_steps: int = 100,
    observation: str = "planes",
    split: str | None = None,
    rooms: int = 4096,
    symbols: Mapping[str, str] | None = None,
    spaced: bool = False,
    action_order: Sequence[str] | None = None,
) -> envs.Game:
    """Make a lake.

    Args:
        size: N, rows and columns, 2 to 16.
        p: probability that a cell is ice; maps in which the goal cannot be reached are drawn again.
        success_rate: q, probability of the intended direction.
        max_steps: a longer game is truncated.
        observation: "planes" bits [4, N, N] (holes, goal, player, start) or "codes" uint8 [N, N].
        split: "train", "valid" or "test": maps from a bank of this split; None: every game draws a new map.
        rooms: number of maps in the bank.
        symbols: other symbols of cells by name, such as {"ice": "."}; names are those of `text.SYMBOLS`.
        spaced: put spaces between the cells of a grid.
        action_order: order in which directions are listed to a language model.

    Raises:
        OptionError: a value is not allowed.
    """
    _check(size, p, success_rate, max_steps, observation, split, rooms)
    words = vocabulary(symbols, spaced, action_order)
    kept = {"bank": bank(size, p, rooms, split)} if split else {}
    return envs.Game(
        _facts(size, success_rate, max_steps, observation),
        envs.Rules(
            fields=fields(size, p, success_rate, max_steps, rooms if split else 0),
            kernels=envs.Kernels(reset, step, legal, OBSERVATIONS[observation]),
            start=lambda given, count: start_fields(size, given, count),
            shared=kept,
        ),
        look=envs.Look(
            action_name=lambda head, action: DIRECTIONS[action],
            info=info,
            text=draw_text,
            svg=draw_svg,
            last_move=last_move,
        ),
        language=codec(words, success_rate),
        analysis=envs.Analysis(rooms=LakeRooms(size, p)),
        family="frozen_lake",
    )


def _check(
    size: int, p: float, success_rate: float, max_steps: int, observation: str, split: str | None, rooms: int
) -> None:
    envs.check_range("size", size, 2, LARGEST)
    for name, value, least in (("p", p, 0.05), ("success_rate", success_rate, 0.0)):
        if not isinstance(value, int | float) or not least <= value <= 1:
            raise OptionError(f"{name}={value!r}: must be a probability from {least} to 1")
    envs.check_range("max_steps", max_steps, 1, 1_000_000)
    envs.check_choice("observation", observation, tuple(OBSERVATIONS))
    envs.check_split(split)
    envs.check_range("rooms", rooms, 1, 1_000_000)


def _facts(size: int, success_rate: float, max_steps: int, observation: str) -> envs.GameFacts:
    cells = size * size
    if observation == "planes":
        parts = envs.flat_segments({"holes": cells, "goal": cells, "player": cells, "start": cells})
        spec = envs.ObservationSpec("planes", (4, size, size), "uint8", parts)
    else:
        spec = envs.ObservationSpec("codes", (size, size), "uint8", envs.flat_segments({"codes": cells}), 0, 6)
    return envs.GameFacts(
        name=f"FrozenLake {size}x{size}, success rate {success_rate:.3g}",
        players=1,
        turns="sequential",
        reward="general",
        hidden_information=False,
        chance=True,
        heads=(envs.Head("direction", 4),),
        observation=spec,
        longest_game=max_steps,
        min_return=0,
        max_return=1,
    )


def info(state: envs.State, i: int) -> dict[str, Any]:
    """`success`: the player is on the goal; `effective`: the last action changed the cell; `steps`."""
    row, column = divmod(int(state.player[i]), len(state.cells[i]))
    on_goal = int(state.cells[i, row, column]) == GOAL
    return {"success": on_goal, "effective": bool(state.effective[i]), "steps": int(state.steps[i])}
