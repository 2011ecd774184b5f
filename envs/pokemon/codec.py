"""Action numbers of poke-env's `SinglesEnv` and ours, for policies and data that cross over.

| what | ours | poke-env |
| --- | --- | --- |
| move k of the menu | k | 6 + k |
| switch to team slot s | 4 + s | s |
| move k with Mega Evolution, generations 6 and 7 | 10 + k | 10 + k |
| move k as a Z-move, generation 7 | 14 + k | 14 + k |
| move k with Dynamax, generation 8 | 10 + k | 18 + k |
| move k with Terastallization, generation 9 | 10 + k | 22 + k |

Both number a team as it is at the start of a battle. poke-env's -1 (forfeit) and -2 (the server's default) have no counterpart.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.envs.pokemon.formats import FIRST_GIMMICK, MOVES, SLOTS, Gimmick, gimmick_groups, num_actions
from ludory.errors import OptionError

Actions = NDArray[np.int64]

_FIRST_OF = {"mega": 10, "zmove": 14, "dynamax": 18, "terastallize": 22}
"""First of poke-env's four actions with a gimmick, by the word that our groups start with."""


@cache
def _table(gen: int, gimmick: Gimmick) -> Actions:
    """(A,) poke-env's number of each of our actions."""
    moves = np.arange(MOVES)
    groups = gimmick_groups(gen) if gimmick == "native" else ()
    parts = [SLOTS + moves, np.arange(SLOTS), *(_FIRST_OF[group[0]] + moves for group in groups)]
    table: Actions = np.concatenate(parts).astype(np.int64)
    assert len(table) == num_actions(gen, gimmick)
    table.setflags(write=False)
    return table


def to_poke_env(actions: ArrayLike, gen: int, gimmick: Gimmick = "native") -> Actions:
    """poke-env's numbers of our `actions`, an integer or an array; same shape.

    Raises:
        OptionError: an action is outside 0..A-1.
    """
    given, table = np.asarray(actions, np.int64), _table(gen, gimmick)
    wrong = (given < 0) | (given >= len(table))
    if wrong.any():
        raise OptionError(
            f"action {given[wrong].flat[0]}: generation {gen} with gimmick={gimmick!r} has actions 0 to {len(table) - 1}"
        )
    found: Actions = table[given]
    return found


def from_poke_env(actions: ArrayLike, gen: int, gimmick: Gimmick = "native") -> Actions:
    """Our numbers of poke-env's `actions`, an integer or an array; same shape. The inverse of `to_poke_env`.

    Raises:
        OptionError: an action has no counterpart: -1, -2, or a gimmick that this generation or `gimmick` does not have.
    """
    given, table = np.asarray(actions, np.int64), _table(gen, gimmick)
    matches = given[..., None] == table
    wrong = ~matches.any(axis=-1)
    if wrong.any():
        raise OptionError(f"poke-env action {given[wrong].flat[0]}: {_reason(int(given[wrong].flat[0]), gen, gimmick)}")
    ours: Actions = matches.argmax(axis=-1)
    return ours


def _reason(action: int, gen: int, gimmick: Gimmick) -> str:
    if action in (-1, -2):
        word = "forfeits" if action == -1 else "leaves the choice to the server"
        return f"it {word}, which is no action here; leave such steps out"
    if gimmick == "never" and SLOTS + MOVES <= action < 26:
        return f"it uses a gimmick; type gimmick='native', which has {num_actions(gen)} actions"
    allowed = sorted(_table(gen, gimmick).tolist())
    return f"generation {gen} has {allowed[0]} to {FIRST_GIMMICK - 1}" + (
        f" and {', '.join(map(str, allowed[FIRST_GIMMICK:]))}" if len(allowed) > FIRST_GIMMICK else ""
    )
