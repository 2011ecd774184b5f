"""Runners of opponents: networks and agents that play in a batch of games, each asked once a round for all its seats."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ludory.agents import Agent, Policy
from ludory.agents.networks.fast.sampling import sample_heads
from ludory.algorithms import PolicyRunner, played
from ludory.envs import Engine, memory_of_new_games, named_arrays, on_host, put

Opponent = Policy | Agent
"""The network or agent of a player id."""
NETWORK, PREVIOUS = "network", "previous"
"""Names in a checkpoint of a network's memory, and of the last moves that are part of its input."""

MEMORY = "memory_of_opponent"
"""Prefix of opponents' memories in a checkpoint."""
OLD_MEMORY = "memory_of"
"""Prefix in earlier versions, which kept the memories of networks only."""


class SeatObservations:
    """What the seats of a batch observe before they move; n games, P seats.

    In games with simultaneous moves these are all seats, in other games the seat to move.

    Args:
        engine: the batch.
        rows: these games only.
    """

    def __init__(self, engine: Engine, rows: ArrayLike | None = None) -> None:
        bits = engine.facts.observation.bits
        self.all_at_once = engine.facts.simultaneous
        seen = torch.as_tensor(engine.observe(None, rows, packed=bits)).flatten(2 if self.all_at_once else 1)
        self.observations = seen if bits else seen.float()  # (n, P, bytes or size), or (n, bytes or size)
        legal = torch.as_tensor(engine.legal())
        self.masks = legal if rows is None else legal[torch.as_tensor(rows, device=legal.device)]  # (n, P, A) or (n, A)

    def of(self, at: Tensor, seats: Tensor) -> tuple[Tensor, Tensor]:
        """Observations and masks of `seats` in the games at the places `at` (m,) of this batch."""
        where = (at, seats) if self.all_at_once else (at,)
        return self.observations[where], self.masks[where]

    @property
    def typical(self) -> Tensor:
        """One observation of each game; compiled networks adapt to it."""
        return self.observations[:, 0] if self.all_at_once else self.observations


class OpponentRunner(Protocol):
    """Runs an opponent and keeps its memory, as `PolicyRunner` does; m lanes (game, seat), H heads."""

    opponent: Opponent

    def prepare(self, like: Tensor) -> None:
        """Adopt the current weights; `like` holds observations of the kind that follows."""

    def step(
        self, seen: SeatObservations, at: Tensor, games: Tensor, seats: Tensor, generator: torch.Generator
    ) -> Tensor:
        """Actions (m, H) of lanes (games, seats); `at` (m,) are the places of the games in `seen`."""

    def look_on(self, seen: SeatObservations, at: Tensor, games: Tensor, seats: Tensor) -> None:
        """Update the memory of lanes that wait in this round; arguments as of `step`."""

    def observe_action(self, games: Tensor, seats: Tensor, actions: Tensor) -> None:
        """In `games`, in which seats take turns, `seats` are about to play `actions` (m, H)."""

    def reset(self, games: ArrayLike) -> None:
        """New games begin in `games`."""

    def state(self) -> dict[str, Tensor]:
        """Memory of running games, by name."""

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Restore the memory that `state` returned."""


class _NetworkRunner:
    """A policy network whose moves are drawn. On the device of the engine, where needed as a copy."""

    def __init__(self, policy: Policy, engine: Engine) -> None:
        self.runner = PolicyRunner(engine.num_games, engine.facts.players)
        self.opponent: Opponent = policy
        self._original, device = policy, torch.as_tensor(engine.to_move).device
        same = next(policy.parameters()).device == device
        self.policy = policy if same else copy.deepcopy(policy).to(device)
        self.runner.expect(self.policy)

    def prepare(self, like: Tensor) -> None:
        if self.policy is not self._original:
            self.policy.load_state_dict(self._original.state_dict())
        self.runner.prepare(self.policy, like)

    @torch.no_grad()
    def step(
        self, seen: SeatObservations, at: Tensor, games: Tensor, seats: Tensor, generator: torch.Generator
    ) -> Tensor:
        observations, masks = seen.of(at, seats)
        output = self.runner.step(observations, games, seats)
        return sample_heads(output.logits, masks, self.policy.head_sizes, generator)[0]

    @torch.no_grad()
    def look_on(self, seen: SeatObservations, at: Tensor, games: Tensor, seats: Tensor) -> None:
        if self.runner.memory is not None:
            self.runner.step(seen.of(at, seats)[0], games, seats)

    def observe_action(self, games: Tensor, seats: Tensor, actions: Tensor) -> None:
        self.runner.observe_action(games, seats, actions[:, 0])

    def reset(self, games: Any) -> None:
        self.runner.reset(games)

    def state(self) -> dict[str, Tensor]:
        known = {NETWORK: self.runner.memory, PREVIOUS: self.runner.previous}
        return {name: tensor for name, tensor in known.items() if tensor is not None}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.runner.memory, self.runner.previous = state.get(NETWORK), state.get(PREVIOUS)


class _AgentRunner:
    """An agent, such as a scripted style, with a memory for every seat."""

    def __init__(self, agent: Agent, engine: Engine) -> None:
        self.agent, self.engine = agent, engine
        self.opponent: Opponent = agent
        self.memories = self._new_memories(np.arange(engine.num_games))

    def _new_memories(self, games: Any) -> list[Any]:
        seats = range(self.engine.facts.players)
        return [memory_of_new_games(self.agent, self.engine, seat, games) for seat in seats]

    def prepare(self, like: Tensor) -> None:
        pass

    def step(
        self, seen: SeatObservations, at: Tensor, games: Tensor, seats: Tensor, generator: torch.Generator
    ) -> Tensor:
        actions = torch.zeros(len(games), len(self.engine.facts.heads), dtype=torch.int64, device=games.device)
        for seat, memory in enumerate(self.memories):
            its = (seats == seat).nonzero().squeeze(1)
            if len(its):
                chosen = on_host(self.agent.choose(self.engine, seat, on_host(games[its]), memory))
                actions[its] = torch.as_tensor(chosen, device=games.device).long().reshape(len(its), -1)
        return actions

    def look_on(self, seen: SeatObservations, at: Tensor, games: Tensor, seats: Tensor) -> None:
        for seat, memory in enumerate(self.memories):
            rows = on_host(games[seats == seat])
            if len(rows):
                self.agent.look_on(self.engine, seat, rows, memory)

    def observe_action(self, games: Tensor, seats: Tensor, actions: Tensor) -> None:
        moves = on_host(played(actions))
        for seat, memory in enumerate(self.memories):
            self.agent.notice(self.engine, seat, on_host(games), moves, memory)

    def reset(self, games: Any) -> None:
        for memory, new in zip(self.memories, self._new_memories(games), strict=True):
            put(memory, new, games)

    def state(self) -> dict[str, Tensor]:
        return {name: torch.as_tensor(array) for name, array in self._arrays().items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        for name, array in self._arrays().items():
            array[:] = state[name]

    def _arrays(self) -> dict[str, Any]:
        parts = [named_arrays(memory, str(seat)) for seat, memory in enumerate(self.memories)]
        return {name: array for part in parts for name, array in part.items()}


def make_runner(opponent: Opponent, engine: Engine) -> OpponentRunner:
    """The runner of a network or an agent for a batch of games; networks draw their moves."""
    return _AgentRunner(opponent, engine) if isinstance(opponent, Agent) else _NetworkRunner(opponent, engine)


class OpponentRunners:
    """The opponents of one batch of games, by id. A runner is made when its opponent first plays and lives while it plays.

    Args:
        engine: the batch.
        find: returns the network or agent of a player id.
    """

    def __init__(self, engine: Engine, find: Callable[[str], Opponent]) -> None:
        self.engine, self._find = engine, find
        self._runners: dict[str, OpponentRunner] = {}
        self._typical: Tensor | None = None

    def prepare(self, playing: Iterable[str], typical: Tensor) -> None:
        """Adopt the current weights of those who play; drop runners of opponents that left or were reset."""
        self._typical, names = typical, sorted(playing)
        for name, runner in list(self._runners.items()):
            if name not in names or runner.opponent is not self._find(name):
                del self._runners[name]
        for name in names:
            if name in self._runners:
                self._runners[name].prepare(typical)

    def runner(self, name: str) -> OpponentRunner:
        """The runner of the player `name`."""
        if name not in self._runners:
            self._runners[name] = make_runner(self._find(name), self.engine)
            if self._typical is None:
                self._typical = SeatObservations(self.engine).typical
            self._runners[name].prepare(self._typical)
        return self._runners[name]

    def reset(self, games: ArrayLike) -> None:
        """New games begin in `games`."""
        for runner in self._runners.values():
            runner.reset(games)

    def state(self) -> dict[str, Tensor]:
        """Memories of all opponents, by name."""
        return {
            f"{MEMORY}/{part}/{name}": memory
            for name, runner in self._runners.items()
            for part, memory in runner.state().items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Restore the memories that `state` returned, among other entries."""
        memories: dict[str, dict[str, Tensor]] = {}
        for key, memory in state.items():
            prefix, _, rest = key.partition("/")
            part, _, name = rest.partition("/") if prefix == MEMORY else (NETWORK, "", rest)
            if prefix in (MEMORY, OLD_MEMORY):
                memories.setdefault(name, {})[part] = memory
        for name, parts in memories.items():
            self._runners[name] = make_runner(self._find(name), self.engine)
            self._runners[name].restore(parts)


def first_legal_actions(masks: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The first legal value of each head, (..., H) of masks (..., A): what seats play that are out or wait."""
    return torch.stack([part.to(torch.uint8).argmax(-1) for part in masks.split(sizes, -1)], -1)
