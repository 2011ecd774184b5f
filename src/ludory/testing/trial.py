"""`Trial`: a game under examination, with recorded games of it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ludory.envs import Engine, Game, GameFacts, KernelEngine
from ludory.errors import ConformanceError

from .recording import Recording, record

EngineMaker = Callable[..., Engine]
"""`maker(game, num_games, seed=, first_game=)`, as `make_engine`."""


@dataclass(frozen=True)
class Trial:
    """Argument of every property: the game, how to make an engine for it, and how much to try."""

    game: Game
    maker: EngineMaker
    games: int
    seed: int
    cuda: Literal["auto", "skip"] = "skip"

    @property
    def facts(self) -> GameFacts:
        """Facts of the game."""
        return self.game.facts

    def engine(self, games: int | None = None, seed: int | None = None, first_game: int = 0) -> Engine:
        """An engine after `reset`, by default with the number of games and the seed of the trial."""
        count, chosen = self.games if games is None else games, self.seed if seed is None else seed
        engine = self.maker(self.game, count, seed=chosen, first_game=first_game)
        if isinstance(engine, KernelEngine):
            engine.plain_start = False  # compiled code is what is tested
        engine.reset()
        return engine

    def generator(self, purpose: str) -> np.random.Generator:
        """Random generator for `purpose`, the same in every run."""
        # not `hash`, which differs between processes
        return np.random.default_rng([self.seed, zlib.crc32(purpose.encode())])

    @cached_property
    def recording(self) -> Recording:
        """All games from start to end in one batch."""
        return record(self.engine(), self.generator("recording"))

    def positions(self, most: int = 24) -> Iterator[tuple[int, Engine]]:
        """Yield (step, engine at that step) for the start, the end and evenly spaced steps between, at most `most` in all."""
        last = len(self.recording.actions)
        wanted = set(np.linspace(0, last, min(most, last + 1)).astype(int).tolist())
        if not self.game.clones:  # play to each position from the start
            for step in sorted(wanted):
                engine = self.engine()
                for actions in self.recording.actions[:step]:
                    engine.step(actions)
                yield step, engine
                engine.close()
            return
        engine = self.engine()
        for step in range(last + 1):
            if step in wanted:
                yield step, engine.clone()
            if step < last:
                engine.step(self.recording.actions[step])


def require(condition: object, message: str) -> None:
    """Raise ConformanceError with `message` unless `condition` holds."""
    if not condition:
        raise ConformanceError(message)
