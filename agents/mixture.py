"""`mixture(a, b, ...)`: plays each game as one of several agents, drawn at random, like a population of players."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs import Array, Engine, Game, Memory, hash_rows, on_host
from ludory.errors import OptionError

from .agent import Agent
from .draws import Draws, Keys
from .make import make_agent


class Mixture(Agent):
    """Plays each game as one of its members.

    Args:
        members: the agents.
        name: what tables call it.
        seed: of the draws of members.
    """

    def __init__(self, members: list[Agent], name: str, seed: int = 0) -> None:
        self.members, self.name = members, name
        self.privileged = any(member.privileged for member in members)
        self._draws = Draws()
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Restart the draws, also those of the members."""
        self._draws.seed(seed)
        for number, member in enumerate(self.members):
            member.seed(seed + 1 + number)

    def initial_memory(self, rows: int) -> Memory:
        """The member of each game, int64 (rows,), and the memories of all members."""
        return self._drawn(self._draws.fresh(rows)), *(member.initial_memory(rows) for member in self.members)

    def start_games(self, seat: int, keys: Keys) -> Memory:
        """As `initial_memory`; see `Agent.start_games`."""
        memories = (member.start_games(seat, hash_rows(keys, number)) for number, member in enumerate(self.members))
        return self._drawn(self._draws.keys(seat, keys)), *memories

    def _drawn(self, keys: Keys) -> NDArray[np.int64]:
        """Number of the member that plays each game."""
        return keys % len(self.members)

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions of `seat`, each chosen by the member that plays the game."""
        here, heads = on_host(rows), len(engine.facts.heads)
        actions = np.zeros((len(here), heads), np.int64)
        self.log_probs = np.full((len(here), heads), np.nan, np.float32)
        for member, at, own in self._parts(here, memory):
            actions[at] = on_host(member.choose(engine, seat, here[at], own)).reshape(len(at), heads)
            if member.log_probs is not None:
                self.log_probs[at] = member.log_probs
        return actions if heads > 1 else actions[:, 0]

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Pass the moves to the members that play the games."""
        here = on_host(rows)
        for member, at, own in self._parts(here, memory):
            member.notice(engine, seat, here[at], actions[at], own)

    def look_on(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> None:
        """Let the members that play the games look on."""
        here = on_host(rows)
        for member, at, own in self._parts(here, memory):
            member.look_on(engine, seat, here[at], own)

    def _parts(self, rows: Array, memory: Memory) -> list[tuple[Agent, Any, Memory]]:
        """Each member that plays, with its places among `rows` and its memory."""
        places = [np.flatnonzero(memory[0][rows] == number) for number in range(len(self.members))]
        return [part for part in zip(self.members, places, memory[1:], strict=True) if len(part[1])]


def make(game: Game, *members: str, seed: int = 0) -> Mixture:
    """A mixture of equally likely agents, each given by its spec.

    Raises:
        OptionError: no member is given.
    """
    if not members:
        raise OptionError("mixture needs members: mixture(arena/rusher, arena/sniper)")
    return Mixture([make_agent(member, game) for member in members], f"mixture({', '.join(members)})", seed)
