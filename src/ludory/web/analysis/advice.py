"""What agents would play at each position, and the probabilities of networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ludory.agents.agent import Agent
from ludory.agents.analysis import Floats, StudiedPosition
from ludory.data.playthrough import as_tuples
from ludory.envs.engine.protocol import Engine, on_host
from ludory.envs.seats.player import Memory, memory_of_new_games
from ludory.errors import LudoryError

ROW = np.zeros(1, np.int64)


class Advice(NamedTuple):
    """What an agent would play."""

    agent: str
    action: Any
    """int, or a tuple for several heads."""
    probabilities: Floats | None
    """(A,) of a network that states them; None: others."""


class Advisers:
    """Agents that look on at one game from every seat. Shown every position in order, they say what they would play there."""

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self.agents = {name: _stating(agent) for name, agent in agents.items()}
        self.lost: dict[str, str] = {}
        """Agents that had to be left out, with the reason."""
        self._memories: dict[str, list[Memory]] = {}

    def at(self, position: StudiedPosition) -> dict[int, list[Advice]]:
        """Advice to every seat that has to move, by seat. Call it once for each position, in order.

        An agent that fails is left out from then on, see `lost`.
        """
        seats = [position.to_move] if position.to_move is not None else []
        if position.game.facts.simultaneous and not position.over:
            seats = [int(seat) for seat in np.flatnonzero(on_host(position.engine.deciding)[0])]
        found: dict[int, list[Advice]] = {seat: [] for seat in seats}
        for name, agent in list(self.agents.items()):
            try:
                for seat in seats:
                    found[seat].append(self._advice(name, agent, position.engine, seat))
                self._notice(name, agent, position)
            except LudoryError as error:
                self.lost[name] = str(error)
                del self.agents[name]
        return {seat: [one for one in advice if one.agent in self.agents] for seat, advice in found.items()}

    def _advice(self, name: str, agent: Agent, engine: Engine, seat: int) -> Advice:
        memory = self._memory(name, agent, engine)[seat]
        if hasattr(agent, "policy") and len(engine.facts.heads) == 1:
            shares = agent.action_probabilities(_seen(agent, engine), seat, ROW, memory)[0]
            return Advice(name, int(np.argmax(shares)), np.asarray(shares, np.float64))
        chosen = on_host(agent.choose(engine, seat, ROW, memory))[0]
        return Advice(name, as_tuples(chosen) if np.ndim(chosen) else int(chosen), None)

    def _memory(self, name: str, agent: Agent, engine: Engine) -> list[Memory]:
        if name not in self._memories:
            seats = range(engine.facts.players)
            self._memories[name] = [memory_of_new_games(agent, engine, seat, ROW) for seat in seats]
        return self._memories[name]

    def _notice(self, name: str, agent: Agent, position: StudiedPosition) -> None:
        if position.move is None or position.game.facts.simultaneous:
            return
        actions = np.array([position.move.action], np.int64)
        for seat, memory in enumerate(self._memory(name, agent, position.engine)):
            agent.notice(position.engine, seat, ROW, actions, memory)


def _stating(agent: Agent) -> Agent:
    """A network that states its probabilities, in the place of one that plays the most probable move."""
    if hasattr(agent, "policy") and agent.deterministic:
        agent.deterministic = False
    return agent


def _seen(agent: Agent, engine: Engine) -> Engine:
    """The game through the observation that a network was trained with."""
    sees = getattr(agent, "sees", None)
    if sees is None or sees.facts.observation == engine.facts.observation:
        return engine
    shown: Engine = engine.seen_as(sees)  # type: ignore[attr-defined]
    return shown
