"""What an engine shows at every move, and the differences between two engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.envs import Engine, GameFacts, State
from ludory.errors import ConformanceError

from .random_moves import RandomMoves, head_parts

Array = NDArray[Any]


class Moment(NamedTuple):
    """Everything that an engine of N games shows between two moves."""

    to_move: Array  # (N,)
    next_seat: Array  # (N,) the seat to move, also in finished games; simultaneous games: 0
    terminated: Array  # (N,)
    truncated: Array  # (N,)
    rewards: Array  # (N, P)
    alive: Array  # (N, P)
    seat_terminated: Array  # (N, P)
    deciding: Array  # (N, P)
    masks: Array  # (N, A) or (N, P, A)
    observations: Array  # (N, P, *shape), every seat's, also in sequential games

    @property
    def over(self) -> Array:
        """(N,) bool."""
        return np.asarray(self.terminated | self.truncated)

    def rows(self, rows: Array | slice | list[int]) -> Moment:
        """Some of the games."""
        return Moment(*(part[rows] for part in self))


class Recording(NamedTuple):
    """Games from start to end: `moments[t]` is before `actions[t]`, so there is one moment more than actions."""

    moments: list[Moment]
    actions: list[Array]

    def rows(self, rows: Array | slice | list[int]) -> Recording:
        """Some of the games."""
        return Recording([moment.rows(rows) for moment in self.moments], [a[rows] for a in self.actions])


def to_numpy(array: ArrayLike) -> Array:
    """A copy of an engine's array (a torch tensor on CUDA) as a NumPy array."""
    return np.array(array.cpu() if hasattr(array, "cpu") else array)


def look(engine: Engine) -> Moment:
    """The current moment of `engine`, as copies."""
    seats = [to_numpy(engine.observe(seat=seat)) for seat in range(engine.facts.players)]
    return Moment(
        to_move=to_numpy(engine.to_move),
        next_seat=to_numpy(engine.to_move * 0 if engine.facts.simultaneous else engine.state.to_move),
        terminated=to_numpy(engine.terminated),
        truncated=to_numpy(engine.truncated),
        rewards=to_numpy(engine.rewards),
        alive=to_numpy(engine.alive),
        seat_terminated=to_numpy(engine.seat_terminated),
        deciding=to_numpy(engine.deciding),
        masks=to_numpy(engine.legal()),
        observations=np.stack(seats, axis=1),
    )


def record(engine: Engine, generator: np.random.Generator) -> Recording:
    """Play the games of `engine` to the end, or one move beyond the longest game, with random legal moves.

    Raises:
        ConformanceError: a running game has no legal action.
    """
    choose = RandomMoves(engine.facts, engine.num_games, generator)
    recording = Recording([look(engine)], [])
    while not recording.moments[-1].over.all() and len(recording.actions) <= engine.facts.longest_game:
        _check_choice(engine.facts, recording.moments[-1], f"step {len(recording.actions)}")
        recording.actions.append(choose(recording.moments[-1].masks))
        engine.step(recording.actions[-1])
        recording.moments.append(look(engine))
    return recording


def _check_choice(facts: GameFacts, moment: Moment, where: str) -> None:
    for name, part in zip(facts.head_names, head_parts(facts, moment.masks), strict=True):
        stuck = ~part.any(axis=-1).reshape(len(part), -1).all(axis=1) & ~moment.over
        for game in np.flatnonzero(stuck):
            raise ConformanceError(
                f"{where}, game {game}: no action of head {name!r} is legal, but the game is not over"
            )


def replay(engine: Engine, recording: Recording, start: int = 0, what: str = "the second engine") -> None:
    """Play the recorded actions from move `start` on, which is where `engine` must be.

    Raises:
        ConformanceError: the engine shows something else than was recorded.
    """
    for step in range(start, len(recording.moments)):
        compare(engine.facts, look(engine), recording.moments[step], f"step {step}, {what}")
        if step < len(recording.actions):
            engine.step(recording.actions[step])


def compare(facts: GameFacts, got: Moment, expected: Moment, where: str) -> None:
    """Raise ConformanceError with the first difference between two moments of the same games."""
    for difference in differences(facts, got, expected):
        raise ConformanceError(f"{where}: {difference}")


def differences(facts: GameFacts, got: Moment, expected: Moment) -> Iterator[str]:
    """Differences between two moments of the same games, in words."""
    for name, mine, theirs in zip(Moment._fields, got, expected, strict=True):
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
            yield f"{name} is {mine.dtype}{mine.shape}, expected {theirs.dtype}{theirs.shape}"
            continue
        unequal = mine != theirs
        if unequal.any():
            index = tuple(int(k) for k in np.argwhere(unequal)[0])
            yield f"game {index[0]}: {_place(facts, name, index)} is {mine[index]}, expected {theirs[index]}"


def _place(facts: GameFacts, name: str, index: tuple[int, ...]) -> str:
    if name == "observations":
        flat = int(np.ravel_multi_index(index[2:], facts.observation.shape))
        return f"observation of seat {index[1]} at {segment_place(facts, flat)}"
    if name == "masks":
        return f"mask{f' of seat {index[1]}' if len(index) > 2 else ''} at action {index[-1]}"
    return f"{name}{f' of seat {index[1]}' if len(index) > 1 else ''}"


def segment_place(facts: GameFacts, entry: int) -> str:
    """Entry of the flat observation by the name of its segment, such as "hands[3]"."""
    for segment in facts.segments:
        if segment.start <= entry < segment.start + segment.length:
            return f"{segment.name}[{entry - segment.start}]"
    return f"entry {entry}"


def same_state(got: State, expected: State, where: str, ignore: Iterable[str] = ()) -> None:
    """Raise ConformanceError if a field of two states differs by a bit; the engine that an external state points to is no data."""
    for name in (name for name in expected._fields if name not in {"engine", *ignore}):
        mine, theirs = to_numpy(getattr(got, name)), to_numpy(getattr(expected, name))
        if mine.tobytes() != theirs.tobytes():
            raise ConformanceError(f"{where}: state field {name!r} is {mine.tolist()}, expected {theirs.tolist()}")
