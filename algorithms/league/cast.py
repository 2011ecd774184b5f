"""Who plays in a league's games: networks and agents, each asked once a round for all the seats it holds."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ludory.agents.agent import Agent
from ludory.agents.networks.fast.sampling import sample_heads
from ludory.agents.networks.policy import Policy
from ludory.algorithms.sampling.lanes import played
from ludory.algorithms.sampling.policy_runner import PolicyRunner
from ludory.envs.engine.protocol import Engine, on_host
from ludory.envs.seats.player import memory_of_new_games, named_arrays, put

Entrant = Policy | Agent
"""What a player id stands for."""
NETWORK, PREVIOUS = "network", "previous"
"""Names of the memory of a network, and of the last moves that it is told."""

MEMORY = "memory_of_opponent"
"""Prefix of what opponents remember, in a checkpoint; before agents' memories were kept there, those of networks had another one."""
OLD_MEMORY = "memory_of"


class Seats:
    """What the seats of a batch see before they move; n games, P seats.

    In games in which all seats move at once that is every seat, in others the one whose turn it is.

    Args:
        engine: the batch.
        rows: these games only.
    """

    def __init__(self, engine: Engine, rows: Any | None = None) -> None:
        bits = engine.facts.observation.bits
        self.all_at_once = engine.facts.simultaneous
        seen = torch.as_tensor(engine.observe(None, rows, packed=bits)).flatten(2 if self.all_at_once else 1)
        self.observations = seen if bits else seen.float()  # (n, P, bytes or size), or (n, bytes or size)
        legal = torch.as_tensor(engine.legal())
        self.masks = legal if rows is None else legal[torch.as_tensor(rows, device=legal.device)]  # (n, P, A) or (n, A)

    def of(self, at: Tensor, chairs: Tensor) -> tuple[Tensor, Tensor]:
        """Observations and masks of the seats `chairs` in the games that stand `at` these places."""
        where = (at, chairs) if self.all_at_once else (at,)
        return self.observations[where], self.masks[where]

    @property
    def typical(self) -> Tensor:
        """One observation of each game."""
        return self.observations[:, 0] if self.all_at_once else self.observations


class Actor(Protocol):
    """Plays some of the seats."""

    entrant: Entrant

    def prepare(self, like: Tensor) -> None:
        """Adopt the current weights; `like` holds observations of the kind that follows."""

    def choose(self, seats: Seats, at: Tensor, games: Tensor, chairs: Tensor, generator: torch.Generator) -> Tensor:
        """Actions (m, H) of seats (games, chairs); `at` (m,) says where in `seats` these games stand."""

    def notice(self, rows: Tensor, chairs: Tensor, actions: Tensor) -> None:
        """In the games `rows`, in which seats take turns, `chairs` are about to play `actions` (m, H)."""

    def forget(self, rows: Any) -> None:
        """Games `rows` start anew."""

    def state(self) -> dict[str, Tensor]:
        """What it remembers of running games, by name."""

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Restore the state that `state` returned."""


class NetworkActor:
    """A policy network; moves are drawn from it.

    Args:
        policy: current weights; later changes of them are seen after the next `prepare`.
        engine: the batch it plays in; of a policy on another device a copy plays.
    """

    def __init__(self, policy: Policy, engine: Engine) -> None:
        self.runner = PolicyRunner(engine.num_games, engine.facts.players)
        self.entrant: Entrant = policy
        self._original, device = policy, torch.as_tensor(engine.to_move).device
        same = next(policy.parameters()).device == device
        self.policy = policy if same else copy.deepcopy(policy).to(device)
        self.runner.expect(self.policy)

    def prepare(self, like: Tensor) -> None:
        """See `Actor.prepare`."""
        if self.policy is not self._original:
            self.policy.load_state_dict(self._original.state_dict())
        self.runner.prepare(self.policy, like)

    @torch.no_grad()
    def choose(self, seats: Seats, at: Tensor, games: Tensor, chairs: Tensor, generator: torch.Generator) -> Tensor:
        """See `Actor.choose`."""
        observations, masks = seats.of(at, chairs)
        output = self.runner.step(observations, games, chairs)
        return sample_heads(output.logits, masks, self.policy.head_sizes, generator)[0]

    def notice(self, rows: Tensor, chairs: Tensor, actions: Tensor) -> None:
        """See `Actor.notice`."""
        self.runner.observe_action(rows, chairs, actions[:, 0])

    def forget(self, rows: Any) -> None:
        """See `Actor.forget`."""
        self.runner.reset(rows)

    def state(self) -> dict[str, Tensor]:
        """See `Actor.state`."""
        known = {NETWORK: self.runner.memory, PREVIOUS: self.runner.previous}
        return {name: tensor for name, tensor in known.items() if tensor is not None}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """See `Actor.restore`."""
        self.runner.memory, self.runner.previous = state.get(NETWORK), state.get(PREVIOUS)


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
        actions = torch.zeros(len(games), len(self.engine.facts.heads), dtype=torch.int64, device=games.device)
        for seat in range(self.engine.facts.players):
            mine = (chairs == seat).nonzero().squeeze(1)
            if len(mine):
                rows = on_host(games[mine])
                chosen = on_host(self.agent.choose(self.engine, seat, rows, self.memories[seat]))
                actions[mine] = torch.as_tensor(chosen, device=games.device).long().reshape(len(mine), -1)
        return actions

    def notice(self, rows: Tensor, chairs: Tensor, actions: Tensor) -> None:
        """See `Actor.notice`."""
        moves = on_host(played(actions))
        for seat, memory in enumerate(self.memories):
            self.agent.notice(self.engine, seat, on_host(rows), moves, memory)

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
    return NetworkActor(entrant, engine)


class Cast:
    """The opponents of one batch of games, by id; each is made when it first plays and keeps its memory while it plays.

    Args:
        engine: the batch.
        entrant: the network or agent behind an id.
    """

    def __init__(self, engine: Engine, entrant: Callable[[str], Entrant]) -> None:
        self.engine, self._entrant = engine, entrant
        self._actors: dict[str, Actor] = {}
        self._typical: Tensor | None = None

    def prepare(self, playing: Iterable[str], typical: Tensor) -> None:
        """Adopt the current weights of those who play; whoever plays no more, or has started anew, is forgotten."""
        self._typical, names = typical, sorted(playing)
        for name, actor in list(self._actors.items()):
            if name not in names or actor.entrant is not self._entrant(name):
                del self._actors[name]
        for name in names:
            if name in self._actors:
                self._actors[name].prepare(typical)

    def actor(self, name: str) -> Actor:
        """Who plays as `name`."""
        if name not in self._actors:
            self._actors[name] = make_actor(self._entrant(name), self.engine)
            if self._typical is None:
                self._typical = Seats(self.engine).typical
            self._actors[name].prepare(self._typical)
        return self._actors[name]

    def forget(self, rows: Any) -> None:
        """Games `rows` start anew."""
        for actor in self._actors.values():
            actor.forget(rows)

    def state(self) -> dict[str, Tensor]:
        """What everybody remembers."""
        return {
            f"{MEMORY}/{part}/{name}": memory
            for name, actor in self._actors.items()
            for part, memory in actor.state().items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Restore what `state` returned, among other entries."""
        for name, memories in _memories(state).items():
            self._actors[name] = make_actor(self._entrant(name), self.engine)
            self._actors[name].restore(memories)


def _memories(state: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """What opponents remember, by name."""
    found: dict[str, dict[str, Tensor]] = {}
    for key, memory in state.items():
        prefix, _, rest = key.partition("/")
        part, _, name = rest.partition("/") if prefix == MEMORY else (NETWORK, "", rest)
        if prefix in (MEMORY, OLD_MEMORY):
            found.setdefault(name, {})[part] = memory
    return found


def neutral(masks: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The first legal value of each head: what a seat that is out plays; (..., H) of masks (..., A)."""
    return torch.stack([part.to(torch.uint8).argmax(-1) for part in masks.split(sizes, -1)], -1)
