"""Who plays in a league's games: networks and agents, each asked once a round for all the seats it holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ludory.agents.agent import Agent
from ludory.agents.networks.policy import Policy
from ludory.agents.networks.sampling import sample_heads
from ludory.algorithms.player import LanePlayer
from ludory.envs.engine import Engine
from ludory.envs.player import memory_of_new_games, named_arrays, put

Entrant = Policy | Agent
"""What a player id stands for."""
NETWORK = "network"
"""Name of the memory of a network."""


class Seats:
    """What all seats of a batch see before a round; N games, P seats.

    Args:
        engine: of a game in which all seats move at once.
    """

    def __init__(self, engine: Engine, rows: Any | None = None) -> None:
        bits = engine.facts.observation.bits
        seen = torch.as_tensor(engine.observe(None, rows, packed=bits)).flatten(2)
        self.observations = seen if bits else seen.float()  # (n, P, bytes or size)
        legal = torch.as_tensor(engine.legal())
        self.masks = legal if rows is None else legal[torch.as_tensor(rows)]  # (n, P, A)


class Actor(Protocol):
    """Plays some of the seats."""

    entrant: Entrant

    def prepare(self, like: Tensor) -> None:
        """Take up the weights of now; `like` holds observations of the kind that follows."""

    def choose(self, seats: Seats, at: Tensor, games: Tensor, chairs: Tensor, generator: torch.Generator) -> Tensor:
        """Actions (m, H) of seats (games, chairs); `at` (m,) says where in `seats` these games stand."""

    def forget(self, rows: Any) -> None:
        """Games `rows` start anew."""

    def state(self) -> dict[str, Tensor]:
        """What it remembers of running games, by name."""

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take up what `state` gave."""


class NetworkActor:
    """A policy network; moves are drawn from it.

    Args:
        policy: weights of now; later changes of them are seen after the next `prepare`.
        games, seats: of the batch.
    """

    def __init__(self, policy: Policy, games: int, seats: int) -> None:
        self.policy, self.lanes = policy, LanePlayer(games, seats)
        self.entrant: Entrant = policy

    def prepare(self, like: Tensor) -> None:
        """See `Actor.prepare`."""
        self.lanes.prepare(self.policy, like)

    @torch.no_grad()
    def choose(self, seats: Seats, at: Tensor, games: Tensor, chairs: Tensor, generator: torch.Generator) -> Tensor:
        """See `Actor.choose`."""
        output = self.lanes.decide(seats.observations[at, chairs], games, chairs)
        return sample_heads(output.logits, seats.masks[at, chairs], self.policy.head_sizes, generator)[0]

    def forget(self, rows: Any) -> None:
        """See `Actor.forget`."""
        self.lanes.forget(rows)

    def state(self) -> dict[str, Tensor]:
        """See `Actor.state`."""
        return {} if self.lanes.memory is None else {NETWORK: self.lanes.memory}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """See `Actor.restore`."""
        self.lanes.memory = state[NETWORK]


class AgentActor:
    """An agent, such as a scripted style.

    Args:
        agent: who chooses.
        engine: the batch it plays in.
    """

    def __init__(self, agent: Agent, engine: Engine) -> None:
        self.agent, self.engine = agent, engine
        self.entrant: Entrant = agent
        self.memories = self._new_memories(np.arange(engine.num_games))

    def _new_memories(self, rows: Any) -> list[Any]:
        seats = range(self.engine.facts.players)
        return [memory_of_new_games(self.agent, self.engine, seat, rows) for seat in seats]

    def prepare(self, like: Tensor) -> None:
        """Agents have nothing to prepare."""

    def choose(self, seats: Seats, at: Tensor, games: Tensor, chairs: Tensor, generator: torch.Generator) -> Tensor:
        """See `Actor.choose`."""
        actions = torch.zeros(len(games), len(self.engine.facts.heads), dtype=torch.int64)
        for seat in range(self.engine.facts.players):
            mine = (chairs == seat).nonzero().squeeze(1)
            if len(mine):
                rows = games[mine].numpy()
                chosen = self.agent.choose(self.engine, seat, rows, self.memories[seat])
                actions[mine] = torch.as_tensor(np.asarray(chosen)).reshape(len(mine), -1)
        return actions

    def forget(self, rows: Any) -> None:
        """See `Actor.forget`."""
        for memory, new in zip(self.memories, self._new_memories(rows), strict=True):
            put(memory, new, rows)

    def state(self) -> dict[str, Tensor]:
        """See `Actor.state`."""
        parts = [named_arrays(memory, str(seat)) for seat, memory in enumerate(self.memories)]
        return {name: torch.as_tensor(array) for part in parts for name, array in part.items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """See `Actor.restore`."""
        for seat, memory in enumerate(self.memories):
            for name, array in named_arrays(memory, str(seat)).items():
                array[:] = state[name]


def make_actor(entrant: Entrant, engine: Engine) -> Actor:
    """The actor of a network or an agent for a batch of games."""
    if isinstance(entrant, Agent):
        return AgentActor(entrant, engine)
    return NetworkActor(entrant, engine.num_games, engine.facts.players)


def neutral(masks: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The first legal value of each head: what a seat that is out plays; (..., H) of masks (..., A)."""
    return torch.stack([part.to(torch.uint8).argmax(-1) for part in masks.split(sizes, -1)], -1)
