"""Sokoban: push every box onto a target. Rules of gym-sokoban and of RAGEN's copy of it; rooms that are generated, given, or Boxoban's."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.envs import Analysis, Game, GameFacts, Head, Kernels, Look, Rules, State, check_choice, read_options
from ludory.errors import OptionError

from .bank import DrawnBank, SokobanRooms, bank_rows, bank_size, bank_width, given_rooms, of_split
from .levels import SAMPLE, boxoban_levels, checked_rooms
from .observation import OBSERVE, observation_spec
from .options import PRESETS, SokobanOptions
from .pictures import draw_svg, draw_text
from .rules import LEGAL, STEP, reset
from .start import start_fields
from .state import BOX_MOVED, NO_ACTION, PLAYER_MOVED, consistent, dead, fields
from .text import codec

__all__ = ["SokobanOptions", "dead", "make_game"]


def make_game(preset: str = "simple", rooms: ArrayLike | Path | None = None, levels: str = "", **options: Any) -> Game:
    """Make Sokoban.

    Args:
        preset: name of the defaults of `options`: simple, two_boxes, medium, large, gym or boxoban.
        rooms: rooms to draw from: codes 0..6 (n, R, C), a bank of `ludory sokoban bank`, or a level file. None: generated ones.
        levels: a set of Boxoban levels to draw from, such as "boxoban/unfiltered/train"; of `Boxoban-v0` "boxoban/sample", 1,000 levels that
            come with the package.
        options: see `SokobanOptions`. `size` and `boxes` follow from given rooms.

    Raises:
        OptionError: unknown option, a value that is not allowed, or rooms that contradict `size` and `boxes`.
        DataError: a file of rooms is missing or damaged.
    """
    check_choice("preset", preset, tuple(PRESETS))
    if rooms is not None and levels:
        raise OptionError("give either rooms or levels, not both")
    named = ({} if rooms is None else {"rooms": rooms}) | ({"levels": levels} if levels else {})
    if preset == "boxoban" and rooms is None:
        levels = levels or SAMPLE
    given = given_rooms(rooms) if rooms is not None else boxoban_levels(levels) if levels else None
    follows = {} if given is None else {"size": tuple(given.shape[1:]), "boxes": int((given[0] > 2).sum()) - 1}
    chosen = read_options("Sokoban", SokobanOptions, PRESETS[preset] | follows | options, ("rooms", "levels"))
    if given is not None:
        given = _fitting(given, chosen)
    shared = DrawnBank(chosen) if given is None else {"bank": bank_rows(of_split(given, chosen.split))}
    count = bank_size(chosen) if given is None else len(shared["bank"])
    return Game(
        _facts(chosen),
        Rules(
            fields=fields(chosen, (count, bank_width(chosen))),
            kernels=Kernels(
                reset, STEP[chosen.actions], LEGAL[chosen.actions, chosen.mask], OBSERVE[chosen.observation]
            ),
            start=partial(start_fields, chosen),
            consistent=partial(consistent, chosen),
            shared=shared,
        ),
        look=Look(
            action_name=partial(action_name, chosen),
            info=public_info,
            text=partial(draw_text, chosen),
            svg=partial(draw_svg, chosen),
            last_move=partial(last_move, chosen),
        ),
        language=codec(chosen),
        analysis=Analysis(rooms=SokobanRooms(chosen, given)),
        options=options | named,
        family="sokoban",
    )


def _fitting(rooms: NDArray[np.uint8], options: SokobanOptions) -> NDArray[np.uint8]:
    """Given rooms, checked against `size`, `boxes` and `split`."""
    if rooms.shape[1:] != options.shape:
        raise OptionError(
            f"size={options.size}: the given rooms have {rooms.shape[1]} rows and {rooms.shape[2]} columns"
        )
    if not len(of_split(rooms, options.split)):
        raise OptionError(f"split={options.split!r}: none of the {len(rooms)} given rooms belongs to it")
    return checked_rooms("rooms", rooms, options.boxes)


def _facts(options: SokobanOptions) -> GameFacts:
    return GameFacts(
        name="Sokoban",
        players=1,
        turns="sequential",
        reward="general",
        hidden_information=False,
        chance=True,
        heads=(Head("action", len(options.action_names)),),
        observation=observation_spec(options),
        longest_game=options.max_steps,
        min_return=-0.1 * options.max_steps - options.boxes,
        max_return=options.boxes + 10,
    )


def action_name(options: SokobanOptions, head: int, action: int) -> str:
    """Name of an action."""
    return options.action_names[action]


def public_info(state: State, i: int) -> dict[str, Any]:
    """What the last action moved, and whether all boxes stand on targets."""
    moved = int(state.moved[i])
    return {
        "moved_player": bool(moved & PLAYER_MOVED),
        "moved_box": bool(moved & BOX_MOVED),
        "success": bool(state.terminated[i]) and int(state.steps[i]) > 0,
        "boxes_on_target": int(state.on_target[i]),
        "steps": int(state.steps[i]),
    }


def last_move(options: SokobanOptions, state: State, i: int) -> str:
    """The last action in words, "" before the first."""
    last, moved = int(state.last[i]), int(state.moved[i])
    if last == NO_ACTION:
        return ""
    effect = "pushes a box" if moved & BOX_MOVED else "walks" if moved & PLAYER_MOVED else "nothing moves"
    return f"{options.action_names[last]}: {effect}"
