"""Games of a search against itself, and the replay of their positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.agents import numpy_to_bits
from ludory.agents.search.az import NetworkSearch
from ludory.algorithms.sampling.rollout import pack_bits
from ludory.algorithms.sampling.step_locals import EpisodeBuffer
from ludory.envs import Engine


class LearntPositions(NamedTuple):
    """Positions [T, B] of B games side by side, in the order of their moves; a game that ends is followed by the next one."""

    observations: Tensor  # [T, B, bytes] or [T, B, size], of the seat to move
    masks: Tensor  # [T, B, ceil(A / 8)] uint8
    policies: Tensor  # [T, B, A] float16, the search's improved policy
    values: Tensor  # [T, B] float32, of seat 0 by the search
    seats: Tensor  # [T, B] int8, to move
    rewards: Tensor  # [T, B] float32, of seat 0 for the move
    ended: Tensor  # [T, B] bool, the move ended the game
    results: Tensor  # [T, B] float32, of seat 0 from here on; NaN while the game goes on

    def settle(self) -> None:
        """Fill in the results of games that have ended."""
        later = torch.full_like(self.results[-1], torch.nan)
        for t in range(len(self.results) - 1, -1, -1):
            if not self.results[t].isnan().any():
                break  # so are all before it
            later = self.rewards[t] + torch.where(self.ended[t], 0.0, later)
            self.results[t] = later

    def then(self, newer: LearntPositions, most: int) -> LearntPositions:
        """These and newer positions, of which at most `most` rows are kept."""
        return LearntPositions(*(torch.cat([old, new])[-most:] for old, new in zip(self, newer, strict=True)))


class TreeSelfPlay:
    """B games in which a search plays both seats.

    Args:
        engine: the games.
        search: of the network that learns.
        random_moves: most moves that are drawn at random before a game begins, and not learnt from.
    """

    def __init__(self, engine: Engine, search: NetworkSearch, random_moves: int = 0) -> None:
        self.engine, self.search, self.random_moves = engine, search, random_moves
        self.started = False
        self.episodes = EpisodeBuffer()
        """The games that ended last: what seat 0 got, and their moves."""
        self.lengths: NDArray[np.int64] = np.zeros(engine.num_games, np.int64)
        self.returns: NDArray[np.float32] = np.zeros(engine.num_games, np.float32)

    def state(self) -> dict[str, Tensor]:
        """With the engine's fields, all that a resumed run needs."""
        return {"lengths": torch.from_numpy(self.lengths), "returns": torch.from_numpy(self.returns)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Restore what `state` returned."""
        self.lengths, self.returns = state["lengths"].numpy().copy(), state["returns"].numpy().copy()
        self.started = True

    def play(self, steps: int, generator: torch.Generator, on_step: Callable[[], bool]) -> LearntPositions | None:
        """`steps` moves of every game; None if `on_step`, which is called after each, returned False."""
        engine, facts, rows = self.engine, self.engine.facts, np.arange(self.engine.num_games)
        if not self.started:
            self._begin(rows, generator)
            self.started = True
        moves: list[tuple[Tensor, ...]] = []
        for _ in range(steps):
            shape = engine.num_games, facts.num_actions
            noise = torch.empty(shape, dtype=torch.float64, device=generator.device).exponential_(generator=generator)
            found = self.search.search(engine, rows, -noise.log().cpu().numpy())
            seats = torch.from_numpy(engine.to_move.astype(np.int8))
            before = numpy_to_bits(engine.observe(), facts.observation), pack_bits(torch.from_numpy(engine.legal()))
            engine.step(found.actions)
            rewards, over = engine.rewards[:, 0], engine.terminated | engine.truncated
            after = torch.from_numpy(rewards), torch.from_numpy(over), torch.full((shape[0],), torch.nan)
            values = torch.where(seats == 0, 1.0, -1.0) * torch.from_numpy(found.values).float()
            moves.append((*before, torch.from_numpy(found.policies).half(), values, seats, *after))
            self._close(rewards, np.flatnonzero(over), generator)
            if not on_step():
                return None
        return LearntPositions(*(torch.stack(column) for column in zip(*moves, strict=True)))

    def _close(self, rewards: NDArray[np.float32], done: NDArray[np.int64], generator: torch.Generator) -> None:
        self.returns += rewards
        self.lengths += 1
        if len(done):
            self.episodes.add(self.returns[done], self.lengths[done])
            self.returns[done], self.lengths[done] = 0, 0
            self._begin(done, generator)

    def _begin(self, rows: NDArray[np.int64], generator: torch.Generator) -> None:
        """Begin new games in `rows`, each with 0 to `random_moves` random moves."""
        engine = self.engine
        engine.reset(rows)
        if not self.random_moves:
            return
        drawn = torch.randint(self.random_moves + 1, (len(rows),), generator=generator, device=generator.device)
        moves = drawn.cpu().numpy()
        for move in range(self.random_moves):
            moving = rows[moves > move]
            legal = engine.legal()[moving]
            ranks = torch.rand(legal.shape, generator=generator, device=generator.device).cpu().numpy()
            engine.step(np.where(legal, ranks, -1.0).argmax(1), moving)
            engine.reset(moving[(engine.terminated | engine.truncated)[moving]])
