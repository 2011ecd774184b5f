"""Checks of the arguments of engines, with error messages that are the same on every device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ludory.envs.facts import GameFacts, ObservationSpec
from ludory.envs.game import Game
from ludory.errors import IllegalActionError, NotResetError, OptionError

if TYPE_CHECKING:
    from .protocol import ArrayOrTensor


def checked_num_games(num_games: object) -> int:
    """`num_games` as an int of at least 1."""
    if not isinstance(num_games, int | np.integer) or num_games < 1:
        raise OptionError(f"num_games={num_games!r}: must be an integer of at least 1")
    return int(num_games)


def checked_seed(seed: object) -> int:
    """`seed` as an int from 0 to 2**63 - 1."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise OptionError(f"seed={seed!r}: must be an integer from 0 to 2**63 - 1")
    return int(seed)


def checked_rows(rows: ArrayLike, count: int) -> NDArray[np.int64]:
    """Game numbers in 0..count-1, from a list of them or a bool array (count,)."""
    array = np.asarray(rows)
    if array.dtype == bool and array.shape == (count,):
        array = np.flatnonzero(array)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise OptionError(
            f"rows: must be a list of game numbers or a bool array ({count},), got dtype {array.dtype}, shape {array.shape}"
        )
    if array.size and not (array.min() >= 0 and array.max() < count):
        raise OptionError(f"rows: must lie in 0..{count - 1}, got {array.min()}..{array.max()}")
    return own_integers(array)


def own_integers(array: ArrayLike) -> NDArray[np.int64]:
    """Integers as kernels take them; of an array that may not be written to (JAX's, a broadcast one) a copy, for which no kernel is compiled again."""
    integers = np.ascontiguousarray(array, np.int64)
    return integers if integers.flags.writeable else integers.copy()


def distinct_rows(rows: ArrayLike, count: int) -> NDArray[np.int64]:
    """Like `checked_rows`, but refuse rows that occur twice."""
    array = checked_rows(rows, count)
    if array.size and np.bincount(array).max() > 1:
        raise OptionError(f"rows: game {int(np.bincount(array).argmax())} is named more than once")
    return array


def checked_seats(seat: ArrayLike, count: int, facts: GameFacts) -> NDArray[np.int64]:
    """Seats (count,), from one seat or an array of them."""
    array = np.asarray(seat)
    if array.dtype.kind not in "iu" or array.shape not in ((), (count,)):
        raise OptionError(f"seat: must be an integer or an integer array ({count},), got {seat!r}")
    if array.size and not (array.min() >= 0 and array.max() < facts.players):
        raise OptionError(f"seat={seat!r}: must lie in 0..{facts.players - 1}")
    return own_integers(np.broadcast_to(array, (count,)))


def check_actions(
    facts: GameFacts, shape: tuple[int, ...], dtype: object, integers: bool, count: int, one_seat: bool = False
) -> None:
    """Refuse actions of a wrong shape or dtype for `count` games; with `one_seat`, actions of one seat of each game."""
    parts, all_seats = facts.action_size, facts.simultaneous and not one_seat
    one_number = parts == 1 and facts.box is None
    right = (count, facts.players, parts) if all_seats else (count,) if one_number else (count, parts)
    if shape != right:
        raise IllegalActionError(f"{facts.name}: actions have shape {shape}, must be {right}")
    if not integers and facts.box is None:
        raise IllegalActionError(f"{facts.name}: actions have dtype {dtype}, must be integers")


def check_started(facts: GameFacts, started: NDArray[np.bool_], rows: NDArray[np.int64]) -> None:
    """Refuse `rows` (m,) that were never reset; started (n,)."""
    ready = started[rows]
    if not ready.all():
        raise NotResetError(
            f"{facts.name}: game {int(rows[np.argmin(ready)])} was never started; call engine.reset() first"
        )


def check_redeal(game: Game) -> None:
    """Refuse a game that cannot be redealt."""
    if not game.redeals:
        raise OptionError(f"{game.facts.name} with options {dict(game.options)} cannot be redealt")


def critic_spec(game: Game) -> ObservationSpec:
    """Spec of what `Engine.critic` returns.

    Raises:
        OptionError: the game has a `critic` kernel but no `facts.critic`, or vice versa.
    """
    if game.rules.kernels is not None and (game.rules.kernels.critic is None) != (game.facts.critic is None):
        raise OptionError(
            f"{game.facts.name}: the kernel `critic` and `facts.critic` go together; give both or neither"
        )
    return game.facts.critic_spec


def check_packable(facts: GameFacts, spec: ObservationSpec) -> None:
    """Refuse to pack observations whose entries are not all 0 or 1."""
    if not spec.bits:
        raise OptionError(
            f"{facts.name}: observation {spec.name!r} is {spec.dtype}, only 0/1 observations can be packed"
        )


def start_fields(game: Game, options: Mapping[str, Any] | None, count: int) -> Mapping[str, NDArray[Any]]:
    """Field values of reset options, each (count, ...)."""
    if not options:
        return {}
    if game.rules.start is None:
        raise OptionError(f"{game.facts.name} takes no reset options, got {', '.join(map(repr, options))}")
    return game.rules.start(options, count)


def head_offsets(facts: GameFacts) -> NDArray[np.int64]:
    """(H + 1,): first column of each head in a legal mask, and the number of columns."""
    return np.concatenate([[0], np.cumsum(facts.head_sizes)])


def illegal_action(
    game: Game,
    fault: int,
    rows: NDArray[np.int64],
    cube: NDArray[np.int64],
    masks: NDArray[np.bool_],
    to_move: NDArray[Any],
) -> IllegalActionError:
    """Error for the action at flat index `fault` of cube [m, S, H], which was to be played in games rows[m]; masks [n, S, A], to_move [n]."""
    facts, heads = game.facts, len(game.facts.heads)
    row, head = divmod(fault, heads)
    k, s = divmod(row, cube.shape[1])
    i, action = int(rows[k]), int(cube[k, s, head])
    name, size = facts.heads[head]
    first = int(head_offsets(facts)[head])
    listed = ", ".join(
        f"{a} ({game.look.action_name(head, int(a))})" for a in np.flatnonzero(masks[i, s, first : first + size])
    )
    inside = 0 <= action < size
    what = f"{action} ({game.look.action_name(head, action)})" if inside else f"{action}, outside 0..{size - 1},"
    seat = s if facts.simultaneous else int(to_move[i])
    where = f"{facts.name}, game {i}, seat {seat}" + (f", head {name}" if heads > 1 else "")
    return IllegalActionError(f"{where}: action {what} is not legal; legal: {listed}")


Values = TypeVar("Values", bound=Any)


def filled(out: Values | None, values: Values) -> Values:
    """`values`, or `out` with them copied into it.

    Raises:
        OptionError: `out` has another shape or dtype.
    """
    if out is None:
        return values
    check_out(out, tuple(values.shape), values.dtype)
    out[...] = values
    return out


def check_out(out: ArrayOrTensor, shape: tuple[int, ...], dtype: DTypeLike) -> None:
    """Refuse an array `out` that a result of this shape and dtype cannot be written to."""
    found = tuple(getattr(out, "shape", ())), getattr(out, "dtype", type(out).__name__)
    contiguous = out.is_contiguous() if hasattr(out, "is_contiguous") else found[0] == () or out.flags.c_contiguous
    if found != (shape, dtype) or not contiguous:
        raise OptionError(
            f"out: must be a contiguous array of shape {shape} and dtype {dtype}, got shape {found[0]}, dtype {found[1]}; "
            "leave it out at first, and give what was returned"
        )
