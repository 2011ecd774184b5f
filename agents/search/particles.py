"""`ParticleBelief`: worlds that agree with everything a seat saw and with the moves of others, for any game with `redeal`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory import plugins
from ludory.agents.seat import Seat, SeatMove
from ludory.envs import COUNTER, KEY, KernelEngine, hash_rows, on_host
from ludory.errors import OptionError

from .belief import Belief, Draw, GameBeliefs
from .blueprint import Blueprint, Memories, engine_of, records_of

Rewind = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any] | None]
"""`rewind(before, worlds)`: the worlds [n] as they were when the game was in the state `before` [1], of which the seat knows only
a part; None if what was hidden then is unrelated to what is hidden in `worlds`."""
MOST_BATCHES = 10
"""At most this many batches of worlds are drawn to find new ones."""


class Past(NamedTuple):
    """A move, a state before it that the seat cannot distinguish from the true one, and what the seat saw after it."""

    before: NDArray[Any]
    move: SeatMove
    seen: NDArray[Any] | None


class Particles(NamedTuple):
    """Worlds [n], memories of the blueprint [n, P, M], and the number of moves by others that it would not have made, int64 [n]."""

    worlds: NDArray[Any]
    memories: Memories
    misses: NDArray[np.int64]

    def at(self, rows: NDArray[Any]) -> Particles:
        """The particles `rows`."""
        return Particles(self.worlds[rows], self.memories[rows], self.misses[rows])


class ParticleBelief:
    """Worlds drawn by the rules, filtered to those in which the blueprint, in the other seats, makes the moves that were made.

    These are independent draws from the posterior. Where no world explains all moves, those with the fewest unexplained moves are
    kept: the limit of a likelihood in which each move has a small probability of not being the blueprint's.

    New worlds are dealt by `redeal` in the current state and replayed through the past by `rewind`. Without it, they are dealt at
    the start of the game and played up to now, so that few are left late in a game in which much is revealed.

    Args:
        blueprint: what all others play.
        seat: whose belief it is.
        count: number of worlds to keep.
        rewind: takes current worlds back to an earlier state; None: unknown for this game.
    """

    def __init__(self, blueprint: Blueprint, seat: int, count: int = 1000, rewind: Rewind | None = None) -> None:
        self.blueprint, self.seat, self.count, self._rewind = blueprint, seat, count, rewind
        self.contradictions = 0
        """Unexplained moves in the worlds that are kept; all moves if no world was found that the rules allow."""
        self._past: list[Past] = []
        self._kept: Particles | None = None

    @property
    def size(self) -> int | None:
        """None, since hidden states are not counted."""
        return None

    def watch(self, seat: Seat, move: SeatMove) -> None:
        """Update the belief with a move about to be made; its outcome is read in the next call."""
        # the game before the move: later the seat may know more
        self._catch_up(seat)
        self._past.append(Past(self._known(seat), move, None))
        if self._kept is not None:
            self._kept = self._moved(self._kept, move)

    def draw(self, seat: Seat, count: int, key: int) -> Draw:
        """`count` worlds, a function of `key`, of earlier draws and of what the seat knows; kept worlds are used equally often."""
        self._catch_up(seat)
        kept = self._topped_up(seat, key)
        # a random order, then round and round: no world is used twice before all were used once
        order = np.argsort(hash_rows(key, np.arange(len(kept.worlds))), kind="stable")
        used = order[np.arange(count) % len(order)]
        worlds = kept.worlds[used]
        # each world gets a stream of its own, copies of one world too, so that later draws differ
        worlds["random"][:, KEY], worlds["random"][:, COUNTER] = hash_rows(key, -1 - np.arange(count)), 0
        return Draw(worlds, kept.memories[used])

    def _known(self, seat: Seat) -> NDArray[Any]:
        return records_of(seat.worlds(1, seed=0), "a belief").copy()

    def _catch_up(self, seat: Seat) -> None:
        """Drop the worlds in which the seat would see something different after the last move."""
        if not self._past or self._past[-1].seen is not None:
            return
        seen = seat.observation
        self._past[-1] = self._past[-1]._replace(seen=seen)
        if self._kept is not None:
            self._kept = self._seeing(self._kept, seen)

    def _topped_up(self, seat: Seat, key: int) -> Particles:
        """The best of the kept worlds, with new ones if few are left."""
        kept = self._kept
        for batch in range(MOST_BATCHES):
            if kept is not None and (kept.misses == 0).sum() >= max(self.count // 2, 1):
                break
            fresh = self._fresh(seat, int(hash_rows(key, -2 - batch)))
            kept = fresh if kept is None else Particles(*map(np.concatenate, zip(kept, fresh, strict=True)))
            # a world with fewer unexplained moves makes those with more worthless
            kept = kept.at(kept.misses <= kept.misses.min()) if len(kept.misses) else kept
        assert kept is not None
        # not even the rules allow any of them after what was seen: start from what is known now, with every move
        # unexplained
        if not len(kept.misses):
            worlds = records_of(seat.worlds(self.count, seed=abs(key) >> 2), "a belief").copy()
            kept = Particles(worlds, self.blueprint.no_memory(self.count), np.full(self.count, len(self._past)))
        self._kept = kept.at(kept.misses == kept.misses.min())
        self.contradictions = int(self._kept.misses[0])
        return self._kept

    def _fresh(self, seat: Seat, key: int) -> Particles:
        """Up to `count` worlds drawn by the rules: those that agree with what was seen."""
        seed = abs(key) >> 2
        if self._rewind is None and self._past:
            start = engine_of(self.blueprint.game, self._past[0].before.repeat(self.count))
            start.redeal(self.seat, seed)
            return self._played_up(self._new(start.records))
        return self._told(self._new(records_of(seat.worlds(self.count, seed), "a belief").copy()))

    def _new(self, worlds: NDArray[Any]) -> Particles:
        return Particles(worlds, self.blueprint.no_memory(len(worlds)), np.zeros(len(worlds), np.int64))

    def _played_up(self, particles: Particles) -> Particles:
        """Worlds of the start of the game, after the moves that were made."""
        for past in self._past:
            particles = self._moved(particles, past.move)
            if past.seen is not None:
                particles = self._seeing(particles, past.seen)
        return particles

    def _told(self, particles: Particles) -> Particles:
        """Current worlds, with the unexplained moves of their past counted."""
        # the worlds are new: the blueprint's memory is built from its first move on
        for past in self._past:
            assert self._rewind is not None
            then = self._rewind(past.before, particles.worlds)
            tells = then is not None
            # hidden then is unrelated to hidden now: any world of that time brings the memory up to date, and none
            # tells anything
            self._ask(past.before.repeat(len(particles.worlds)) if then is None else then, past.move, particles, tells)
        return particles

    def _moved(self, particles: Particles, move: SeatMove) -> Particles:
        """The worlds in which the move is legal, after it."""
        if not len(particles.worlds):
            return particles
        engine = engine_of(self.blueprint.game, particles.worlds)
        # what is legal, and whose turn it is, may depend on what is hidden
        able = np.flatnonzero(on_host(engine.legal())[:, move.action] & (engine.to_move == move.seat))
        left = particles.at(able)
        if not len(able):
            return left
        # before the step: both read the state in which the move was made
        self._ask(left.worlds, move, left, tells=True)
        engine = engine_of(self.blueprint.game, left.worlds)
        engine.step(np.full(len(able), move.action))
        return left._replace(worlds=engine.records)

    def _ask(self, worlds: NDArray[Any], move: SeatMove, particles: Particles, tells: bool) -> None:
        """Count the move as a miss in the worlds in which the blueprint would not have made it; update its memory."""
        same = self.blueprint.asked(worlds, move.seat, move.action, particles.memories)
        # its own moves tell the seat nothing
        if tells and move.seat != self.seat:
            particles.misses[:] += ~same
        self.blueprint.noticed(worlds, move.seat, move.action, particles.memories)

    def _seeing(self, particles: Particles, seen: NDArray[Any]) -> Particles:
        if not len(particles.worlds):
            return particles
        engine: KernelEngine = engine_of(self.blueprint.game, particles.worlds)
        same = (engine.observe(self.seat) == seen).reshape(len(particles.worlds), -1).all(axis=1)
        return particles.at(np.flatnonzero(same))


def belief_maker(blueprint: Blueprint, searcher: str, particles: int) -> Callable[[int], Belief]:
    """Returns a function that makes the belief of a seat: the game's own, else one of particles.

    Raises:
        OptionError: the game offers no belief and cannot redraw what a seat does not know, or `particles` is below 1.
    """
    game = blueprint.game
    offered = game.hook(plugins.beliefs, GameBeliefs)
    if not offered and not game.redeals:
        raise OptionError(
            f"{searcher} draws what a seat does not know, which {game.id or game.facts.name} cannot do (it has no `redeal`); "
            "try Hanabi2P-v0"
        )
    if not isinstance(particles, int) or particles < 1:
        raise OptionError(f"particles={particles!r}: must be an integer of at least 1")
    make = offered.belief if offered else ParticleBelief
    return lambda seat: make(blueprint, seat, particles)
