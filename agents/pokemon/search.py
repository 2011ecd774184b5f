"""`pokemon/search(AGENT)`: a network that tries its moves on the simulator, some decisions deep, in battles as they may be."""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ludory.agents import ONE_MORE, Agent, DrawingAgent, NeuralAgent, make_agent, numpy_to_bits, uniforms
from ludory.envs import Array, Engine, Game, Memory, hash_rows
from ludory.envs.pokemon.engine import REDRAWN, PokemonEngine
from ludory.errors import OptionError

COPIES_AT_ONCE = 512
"""Battles that are copied at once, for the sake of the simulator's memory."""
MOST_STEPS = 8
"""Most decisions that are played for each own one: the foe takes some alone, such as a switch after a faint."""
LEAST = 0.005
"""Actions that the network plays less often are not tried."""


class SearchedBattles(NamedTuple):
    """What was found for a seat in m battles, (m, A)."""

    policy: NDArray[np.float64]
    """Probabilities of the network."""
    values: NDArray[np.float64]
    """Mean value after an action; NaN where it was not tried, 0 where no other one was."""


class PokemonSearch(DrawingAgent):
    """Tries each own action in copies of the battle, and plays the one with the best value, with some trust in the network.

    In every copy all that the seat does not know is drawn anew (`PokemonEngine.redraw`), the foe plays by the same network from its own
    view, and chance is new. The copy is played on by the network, and its values at the own next decisions are averaged; a won battle
    counts 1. Single values are wrong by more than actions differ, and those of one line of play in different ways. All actions are tried in
    the same drawn battles. Equal battles with equal pasts get equal moves.

    Args:
        game: random battles of generation 1.
        agent: a network that plays them, such as "pokemon/gen1-ppo" or a checkpoint.
        worlds: battles that are drawn for a decision, in each of which every action is tried.
        depth: own decisions after an action at which values are taken.
        trust: weight of the logarithm of the network's probability of an action beside its value.
        seed: of the draws.

    Raises:
        OptionError: another game, an agent without a network or with a memory, or a value that is not allowed.
    """

    deterministic = True

    def __init__(
        self,
        game: Game,
        agent: str | Agent = "pokemon/gen1-ppo",
        worlds: int = 8,
        trust: float = 0.01,
        seed: int = 0,
        depth: int = 3,
    ) -> None:
        for name, number in (("worlds", worlds), ("depth", depth)):
            if not isinstance(number, int) or number < 1:
                raise OptionError(f"{name}={number!r}: must be an integer of at least 1")
        if not trust >= 0:
            raise OptionError(f"trust={trust!r}: must be a number of at least 0, such as 0.01")
        if game.facts.name != f"pokemon {REDRAWN}":
            raise OptionError(
                f"pokemon/search draws what is hidden in {REDRAWN} only; got {game.name}, take PokemonGen1RandomBattle-v0"
            )
        inner = make_agent(agent, game)
        if not isinstance(inner, NeuralAgent) or inner.policy.recurrent or inner.policy.uses_previous:
            raise OptionError(f"pokemon/search searches with a network without a memory; {inner.name} is none")
        self.name, self.agent, self.worlds, self._trust = f"pokemon/search({inner.name})", inner, worlds, trust
        self.depth = depth
        super().__init__(seed)

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of `seat` in the games `rows`.

        Raises:
            OptionError: the engine plays no battles of Pokémon, or in other processes.
        """
        where = np.asarray(rows)
        found = self.search(engine, seat, where, hash_rows(memory[where, 0], memory[where, 1]))
        memory[where] += ONE_MORE
        scores = found.values + self._trust * np.log(np.maximum(found.policy, 1e-9))
        return np.where(np.isnan(scores), -np.inf, scores).argmax(axis=1)

    def search(self, engine: Engine, seat: int, rows: NDArray[np.int64], keys: NDArray[np.int64]) -> SearchedBattles:
        """Try the actions of `seat` in the games `rows`; `keys` (m,) seed the draws.

        Raises:
            OptionError: see `choose`.
        """
        if not isinstance(engine, PokemonEngine) or not engine.alone:
            raise OptionError(
                f"{self.name} copies battles that run in this process; give the game workers=0 (--option workers=0)"
            )
        policy, _ = self._ask(engine, seat, rows)
        tried = policy >= LEAST
        tried[np.arange(len(rows)), policy.argmax(axis=1)] = True
        values = np.full(policy.shape, np.nan)
        # a single action needs no battles
        values[tried & (tried.sum(axis=1, keepdims=True) == 1)] = 0.0
        several = np.flatnonzero(tried.sum(axis=1) > 1)
        step = max(1, COPIES_AT_ONCE // (self.worlds * policy.shape[1]))
        for start in range(0, len(several), step):
            part = several[start : start + step]
            values[part] = self._tried(engine, seat, rows[part], tried[part], keys[part])
        return SearchedBattles(policy, values)

    def _tried(
        self,
        engine: PokemonEngine,
        seat: int,
        rows: NDArray[np.int64],
        tried: NDArray[np.bool_],
        keys: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Mean values of `seat` in the games `rows` (k,) after the actions `tried` (k, A); NaN for others."""
        seeds = hash_rows(np.repeat(keys, self.worlds), np.tile(np.arange(self.worlds), len(rows)))
        values = np.full((len(seeds), tried.shape[1]), np.nan)
        world, actions = np.nonzero(np.repeat(tried, self.worlds, axis=0))
        with closing(engine.gather(np.repeat(rows, self.worlds))) as worlds:
            worlds.redraw(seat, seeds)
            with closing(worlds.gather(world)) as copies:
                values[world, actions] = self._played(copies, seat, actions, seeds[world])
        means: NDArray[np.float64] = values.reshape(len(rows), self.worlds, -1).mean(axis=1)
        return means

    def _played(
        self, copies: PokemonEngine, seat: int, actions: NDArray[np.int64], seeds: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Play `actions` (n,) in the copies, and on by the network; returns the means (n,) of the values at the own next decisions."""
        foe, own = 1 - seat, actions.copy()
        totals, earned, taken = np.zeros(len(own)), np.zeros(len(own)), np.zeros(len(own), np.int64)
        for step in range(MOST_STEPS * self.depth):
            rows = np.flatnonzero((taken < self.depth) & ~copies.over)
            if not len(rows):
                break
            policy, _ = self._ask(copies, foe, rows)
            numbers = uniforms(seeds[rows], np.full(len(rows), step), 1)[:, 0]
            moves = np.zeros((len(rows), 2, 1), np.int64)
            moves[:, foe, 0] = (policy.cumsum(axis=1) > numbers[:, None] * policy.sum(axis=1, keepdims=True)).argmax(
                axis=1
            )
            moves[:, seat, 0] = own[rows]
            copies.step(moves, rows)
            earned[rows] += copies.state.rewards[rows, seat]
            own[rows] = 0
            rows = rows[(copies.state.deciding[:, seat] & ~copies.over)[rows]]
            if len(rows):
                policy, values = self._ask(copies, seat, rows)
                own[rows] = policy.argmax(axis=1)
                totals[rows] += earned[rows] + values
                taken[rows] += 1
        # what is over keeps its result
        left = np.flatnonzero(~copies.over & (taken < self.depth))
        if len(left):
            earned[left] += self._ask(copies, seat, left)[1]
        means: NDArray[np.float64] = (totals + (self.depth - taken) * earned) / self.depth
        return means

    @torch.no_grad()
    def _ask(
        self, engine: PokemonEngine, seat: int, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The network's probabilities (k, A) and values (k,) for `seat` in the games `rows` (k,)."""
        policy = self.agent.policy
        seen = numpy_to_bits(engine.observe(seat, rows), policy.observation).to(next(policy.parameters()).device)
        output = policy(seen, None, torch.full((len(rows),), seat) if policy.uses_seat else None)
        legal = torch.from_numpy(engine.legal()[rows, seat])
        logits = output.logits.cpu().double().masked_fill(~legal, -torch.inf)
        return logits.softmax(-1).numpy(), output.values.cpu().double().numpy()
