"""`make`: agents by what ships with Ludory, a network or a table; `PretrainedAgent` sees a game as its network was trained."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from ludory.agents.agent import Agent
from ludory.agents.networks.build import policy_of
from ludory.agents.neural import NeuralAgent, seen_game
from ludory.agents.search import az
from ludory.agents.tabular import TabularAgent
from ludory.checkpoints.checkpoint import read_checkpoint
from ludory.envs import Game, make_game
from ludory.errors import OptionError

from .cards import read_card, weights_file


def make(
    game: Game, agent: str, deterministic: bool | None = None, seed: int = 0, simulations: int | None = None
) -> Agent:
    """The agent that ships under an id.

    Args:
        game: to play.
        agent: id of the agent.
        deterministic: play the most probable action, the lowest id on ties; else draw. None: as the agent was scored, which is the
            most probable action of most networks, and a draw of an equilibrium.
        seed: of the draws.
        simulations: of a tree search with the network before every move, as `az(AGENT, simulations=)`; 0: the network alone. None: as
            the agent was scored.

    Raises:
        OptionError: the agent was trained for another game, or for other rules; or a search cannot play it.
    """
    card = read_card(agent)
    if card is not None:
        deterministic = False if deterministic is None and card.draws else deterministic
        simulations = card.simulations if simulations is None else simulations
    return load_pretrained(game, agent, weights_file(agent), deterministic, seed, simulations or 0)


def load_pretrained(
    game: Game, agent: str, file: Path, deterministic: bool | None = None, seed: int = 0, simulations: int = 0
) -> Agent:
    """As `make`, from any file of weights or of CFR's tables."""
    header, tensors = read_checkpoint(file)
    if "sums" not in tensors:
        network = PretrainedAgent(game, agent, header, tensors, deterministic is not False, seed)
        return az.make(game, network, simulations) if simulations else network
    if simulations:
        raise OptionError(f"{agent}(simulations={simulations}): {agent} is a table, which no search uses; leave it out")
    _seen_by(game, agent, header)
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    sums = arrays["sums"].astype("float64")
    table = sums / sums.sum(axis=1, keepdims=True)
    return TabularAgent(arrays["seats"], arrays["observations"], table, agent, bool(deterministic), seed)


class PretrainedAgent(NeuralAgent):
    """A network that looks at the games through the observation that it was trained with.

    A game may show its seats another observation, such as Hanabi's canonical one. The agent then reads the state of its seat by the
    observation kernel of `sees`; that is the same information for bits that a player can work out, as the game's page says of each.

    Args:
        game: to play.
        agent: id of the agent.
        header: of its file.
        tensors: of its file.
        deterministic: play the most probable action, the lowest id on ties; else sample.
        seed: of the draws.

    Raises:
        OptionError: the agent was trained for another game, or for other rules.
    """

    def __init__(
        self,
        game: Game,
        agent: str,
        header: Mapping[str, Any],
        tensors: Mapping[str, Tensor],
        deterministic: bool = True,
        seed: int = 0,
    ) -> None:
        seen = _seen_by(game, agent, header)
        policy = policy_of(agent, header, tensors, seen)
        super().__init__(policy, agent, deterministic, seed, None if seen is game else seen)


def _seen_by(game: Game, agent: str, header: Mapping[str, Any]) -> Game:
    """`game` with the observation that the agent was trained with.

    Raises:
        OptionError: the agent was trained for another game, or for other rules.
    """
    learnt = make_game(header["env"]["id"], **header["env"]["options"])
    seen = seen_game(game, learnt) if game.facts.name == learnt.facts.name else None
    if seen is None:
        given: dict[str, Any] = {**game.options}
        raise OptionError(
            f"agent {agent!r} plays {learnt.id}; got {game.id or game.name}{f' with {given}' if given else ''}: "
            f"give the agent of another game (`ludory list agents`), or train one: ludory train ppo --env {game.id or '...'}"
        )
    return seen
