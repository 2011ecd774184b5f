"""`PretrainedAgent`: plays by the weights that ship with Ludory, also in games that show its seat another observation."""

from __future__ import annotations

from typing import Any

from ludory.agents.networks.build import policy_of
from ludory.agents.neural import NeuralAgent, seen_game
from ludory.checkpoints.checkpoint import read_checkpoint
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.errors import OptionError

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
        seen = seen_game(game, learnt) if game.facts.name == learnt.facts.name else None
        if seen is None:
            given: dict[str, Any] = {**game.options}
            raise OptionError(
                f"agent {agent!r} plays {learnt.id}; got {game.id or game.name}{f' with {given}' if given else ''}: "
                f"give the agent of another game (`ludory list agents`), or train one: ludory train ppo --env {game.id or '...'}"
            )
        policy = policy_of(agent, header, tensors, seen)
        super().__init__(policy, agent, deterministic, seed, None if seen is game else seen)
