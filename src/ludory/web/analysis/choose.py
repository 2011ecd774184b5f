"""Which analyst, and which agents as advisers, a game has."""

from __future__ import annotations

from collections.abc import Sequence

from ludory.agents.agent import Agent
from ludory.agents.analysis import AgentAnalyst, Analyst, BotAnalyst, TreeAnalyst, analysis_of, is_blueprint
from ludory.agents.make import make_agent
from ludory.envs.game import Game
from ludory.errors import LudoryError
from ludory.plugins import agents

NOT_ADVISERS = ("human", "language", "mixture", "random", "sparta")
"""Agents of every game that give no advice, or that need more than a name."""


def advisers(game: Game) -> dict[str, Agent]:
    """The agents that play a game well enough to be asked, by id: those whose name begins with the game's, those of plug-ins, and `mcts`.

    An agent that sees what its seat cannot, cannot be made by its name alone, or is of another game is left out.
    """
    not_asked, found = analysis_of(game).not_asked, dict[str, Agent]()
    for id in agents.ids():
        if id in NOT_ADVISERS or id in not_asked:
            continue
        try:
            agent = make_agent(id, game)
        except (LudoryError, ImportError, TypeError):
            continue
        if not agent.privileged:
            found[id] = agent
    return found


def analyst_for(game: Game, agent: str | None = None, seats: Sequence[int] | None = None) -> Analyst:
    """The analyst of a game.

    Args:
        game: to analyse.
        agent: plays on in rollouts; None: the best that the game has for it.
        seats: the seats whose moves are wanted; None: all.

    Raises:
        OptionError: the game cannot be copied, the agent cannot play on, or nothing can be found out about moves.
    """
    own = analysis_of(game).analyst(agent, seats)
    if own is not None:
        return own
    facts = game.facts
    if facts.simultaneous:
        plans = [id for id in advisers(game) if not id.endswith("/random")] or ["random"]
        return AgentAnalyst(game, agent or plans[0], plans, seats[0] if seats else 0)
    compiled = game.rules.kernels is not None
    if agent is None and compiled and len(facts.heads) == 1 and not facts.hidden_information and not facts.chance:
        return TreeAnalyst(game)
    if agent is not None and facts.hidden_information and is_blueprint(agent, game):
        return BotAnalyst(game, agent, seats)
    return AgentAnalyst(game, agent or "random")
