"""`Blueprint`: the deterministic player, a rule bot or a network, that a search assumes in every seat."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents.agent import Agent, KernelAgent
from ludory.envs import Engine, Game, KernelEngine, bind, draw
from ludory.errors import OptionError

from .belief import Draw

Memories = NDArray[Any]
"""The blueprint's memory in every seat of n worlds, [n, P, M]: int32 for a bot, float32 for a network."""


class Blueprint(ABC):
    """How a player plays in worlds, which are records of the state. P seats, M memory entries per seat.

    Args:
        agent: the player.
        game: sequential, of one head.
        searcher: name of the searching agent, for error messages.

    Raises:
        OptionError: the agent sees what its seat cannot, or the game has several heads, shared fields or no clones.
    """

    memory_dtype: type[np.generic] = np.int32
    most_listed: float = float("inf")
    """Most hidden states that can be enumerated."""
    range_limit = 100_000
    """Most hidden states that are enumerated by default."""
    rounds_between_checks = 40
    """Worlds in which a search tries its actions before it drops some of them."""

    def __init__(self, agent: Agent, game: Game, searcher: str) -> None:
        # it sees the same cards in no two worlds, so that every world but the true one would be refuted
        if agent.privileged:
            raise OptionError(
                f"{searcher}: {agent.name} looks at hidden cards, so nothing can be inferred from its moves"
            )
        game.need(searcher, "clones", "heads")
        game.needed_kernels(searcher)
        if game.shared_names:
            raise OptionError(
                f"{searcher} plays games without shared fields; {game.name} shares {', '.join(game.shared_names)}"
            )
        if len(game.facts.heads) > 1:
            raise OptionError(
                f"{searcher} plays games with one action a move; {game.id or game.facts.name} has {len(game.facts.heads)}"
            )
        self.agent, self.game = agent, game
        self.memory_shape = (game.facts.players, self._memory_size())
        """(P, M)."""

    @abstractmethod
    def _memory_size(self) -> int:
        """M."""

    def _kernels(self) -> dict[str, Callable[..., Any]]:
        rules = self.game.needed_kernels("search")
        kernels: dict[str, Callable[..., Any]] = {"step": rules.step, "legal": rules.legal, "draw": draw}
        return kernels | ({"redeal": rules.redeal} if rules.redeal else {})

    def bound(self, template: Path, records: NDArray[Any]) -> ModuleType:
        """The batch kernels of the file `template`, compiled for this player and game."""
        return bind(str(template.with_suffix("")), self._kernels(), records.dtype)

    def no_memory(self, count: int) -> Memories:
        """Memory of all seats before the first move of `count` games, (count, P, M)."""
        return np.zeros((count, *self.memory_shape), self.memory_dtype)

    @abstractmethod
    def move(self, record: NDArray[Any], seat: int, memory: Memories) -> int:
        """Its action in `seat`, which is to move, in a world [1]; memory [P, M] is not changed."""

    @abstractmethod
    def asked(self, worlds: NDArray[Any], seat: int, action: int, memories: Memories) -> NDArray[np.bool_]:
        """In which worlds [n] it might play `action` in `seat`, which is to move; updates `memories` as deciding does."""

    @abstractmethod
    def noticed(self, worlds: NDArray[Any], seat: int, action: int, memories: Memories) -> None:
        """Update the `memories` of all seats: `seat` is about to play `action`."""

    @abstractmethod
    def play(self, drawn: Draw, actions: NDArray[np.int64], seat: int) -> NDArray[np.float64]:
        """Returns (n, len(actions)) of `seat` if it plays each of `actions` in each of n worlds and all seats then play the blueprint."""


def make_blueprint(agent: Agent, game: Game, searcher: str, device: str = "cpu") -> Blueprint:
    """A rule bot or a trained network as a blueprint. On a `device` other than "cpu", a bot's rollouts are played there.

    Raises:
        OptionError: another kind of agent, one that samples its moves, or as `Blueprint`.
    """
    from .kernel_blueprint import KernelBlueprint

    if isinstance(agent, KernelAgent) and not agent.kernels.draws:
        if device == "cpu":
            return KernelBlueprint(agent, game, searcher)
        from .kernel_blueprint import CudaBlueprint

        return CudaBlueprint(agent, game, searcher, device)
    if device != "cpu":
        raise OptionError(
            f"{searcher} plays rollouts of rule bots on device={device!r}, not of {agent.name}; leave device out"
        )
    if getattr(agent, "policy", None) is not None:  # only then is torch needed
        from ludory.agents.neural import NeuralAgent

        from .network_blueprint import NetworkBlueprint

        if isinstance(agent, NeuralAgent) and agent.deterministic:
            return NetworkBlueprint(agent, agent.sees or game, searcher)
    raise OptionError(
        f"{searcher} searches with a rule bot such as hanabi/smartbot or a trained network in every seat, one that is "
        f"deterministic; got {agent.name}"
    )


def engine_of(game: Game, worlds: NDArray[Any]) -> KernelEngine:
    """An engine that continues copies of some worlds."""
    engine = KernelEngine(game, len(worlds), seed=0)
    # the records come from an engine: nothing to check
    engine.load_fields(fields_of(game, worlds), check=False)
    return engine


def fields_of(game: Game, worlds: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Records as the fields that an engine loads."""
    # a record is a game in progress: without `_started` the engine would reset it first
    return {name: worlds[name] for name in game.rules.fields} | {"_started": np.ones(len(worlds), bool)}


def records_of(engine: Engine, searcher: str) -> NDArray[Any]:
    """The games of an engine as records.

    Raises:
        OptionError: the engine is not one of compiled games on the CPU.
    """
    if not isinstance(engine, KernelEngine):
        raise OptionError(
            f'{searcher} searches on engines of compiled games on the CPU, got {type(engine).__name__}; use device="cpu"'
        )
    return engine.records
