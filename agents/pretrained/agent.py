"""`PretrainedAgent`: plays by the weights that ship with Ludory, also in games that show its seat another observation."""

from __future__ import annotations

from typing import Any

from ludory.agents.networks.build import policy_of
from ludory.agents.neural import NeuralAgent
from ludory.checkpoints.checkpoint import read_checkpoint
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.engine.protocol import Array, Engine
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.envs.seats.player import Memory
from ludory.errors import LudoryError, OptionError

from .cards import weights_file


class PretrainedAgent(NeuralAgent):
    """A network that looks at the games through the observation that it was trained with.

    A game may show its seats another observation, such as Hanabi's canonical one. The agent then reads the state of its seat by the
    observation kernel of `sees`; that is the same information for bits that a player can work out, as the game's page says of each.

    Args:
        game: to play.
        agent: id of the agent.
        deterministic: play the most probable action, the lowest id on ties; else sample.
        seed: of the draws.

    Raises:
        OptionError: the agent was trained for another game, or for other rules.
    """

    def __init__(self, game: Game, agent: str, deterministic: bool = True, seed: int = 0) -> None:
        file = weights_file(agent)
        header, tensors = read_checkpoint(file)
        learnt = make_game(header["env"]["id"], **header["env"]["options"])
        self.sees = _seen(game, learnt, agent)
        """The game with the observation of the network."""
        super().__init__(policy_of(agent, header, tensors, self.sees), agent, deterministic, seed)
        self._same_view = self.sees.facts.observation == game.facts.observation

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions of `seat` in the games `rows`."""
        if self._same_view:
            return super().choose(engine, seat, rows, memory)
        if not isinstance(engine, KernelEngine):
            raise OptionError(
                f"{self.name} reads the observation {self.sees.facts.observation.name!r}, which {engine.game.name} on "
                f"{engine.device!r} does not show; give the game observation={self.sees.options['observation']!r}"
            )
        return super().choose(engine.seen_as(self.sees), seat, rows, memory)


def _seen(game: Game, learnt: Game, agent: str) -> Game:
    """`game` with the observation of `learnt`."""
    try:
        wanted = {name: learnt.options[name] for name in ("observation",) if name in learnt.options}
        seen = make_game(game.id, **{**game.options, **wanted}) if game.id and wanted else game
    except LudoryError:  # a game without this option
        seen = game
    ours, its = seen.facts, learnt.facts
    if (ours.name, ours.observation, ours.heads) != (its.name, its.observation, its.heads):
        given: dict[str, Any] = {**game.options}
        raise OptionError(
            f"agent {agent!r} plays {learnt.id}; got {game.id or game.name}{f' with {given}' if given else ''}: "
            f"give the agent of another game (`ludory list agents`), or train one: ludory train ppo --env {game.id or '...'}"
        )
    return seen
