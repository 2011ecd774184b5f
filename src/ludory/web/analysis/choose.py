"""Which analyst, and which agents as advisers, a game has: everything that depends on the kind of game is decided here."""

from __future__ import annotations

from collections.abc import Sequence

from ludory.agents.agent import Agent, KernelAgent
from ludory.agents.make import make_agent
from ludory.agents.search.blueprint import make_blueprint
from ludory.envs.game import Game
from ludory.envs.hanabi.rules import step as hanabi_step
from ludory.errors import LudoryError, OptionError
from ludory.plugins import agents

from .searches import AgentAnalyst, Analyst, BotAnalyst, TreeAnalyst
from .solved import PuzzleAnalyst, TileAnalyst, is_texas42, puzzle_of

NOT_ADVISERS = ("human", "language", "mixture", "random", "sparta", "pokemon/poke-env", "texas42/response")
"""Agents that give no advice, or that need more than a name or more than a moment."""
BOT = "hanabi/smartbot"
QUICK = "texas42/quick"


def advisers(game: Game) -> dict[str, Agent]:
    """The agents that play a game well enough to be asked, by id: those whose name begins with the game's, those of plug-ins, and `mcts`.

    An agent that sees what its seat cannot, cannot be made by its name alone, or is of another game is left out.
    """
    found: dict[str, Agent] = {}
    for id in agents.ids():
        if id in NOT_ADVISERS:
            continue
        try:
            agent = make_agent(id, game)
        except (LudoryError, ImportError, TypeError):
            continue
        if not agent.privileged:
            found[id] = agent
    return found


def usual_agent(game: Game, names: Sequence[str]) -> str | None:
    """The agent that plays on where none is named: a rule bot of Hanabi that had all seats, so that its hints are read as it meant them."""
    if game.has_kernel("step", hanabi_step) and len(set(names)) == 1 and names[0] in agents.ids():
        return names[0] if _is_blueprint(names[0], game) else None
    return None


def analyst_for(game: Game, agent: str | None = None, seats: Sequence[int] | None = None) -> Analyst:
    """The analyst of a game.

    Args:
        game: to analyse.
        agent: plays on in rollouts; None: the best that the game has for it.
        seats: the seats whose moves are wanted; None: all.

    Raises:
        OptionError: the game cannot be copied, the agent cannot play on, or nothing can be found out about moves.
    """
    if agent is None and (solve := puzzle_of(game)):
        return PuzzleAnalyst(solve)
    if is_texas42(game):
        return TileAnalyst(game, agent or QUICK)
    if game.has_kernel("step", hanabi_step):
        return BotAnalyst(game, agent or BOT, seats)
    facts = game.facts
    if facts.simultaneous:
        plans = [id for id in advisers(game) if not id.endswith("/random")] or ["random"]
        return AgentAnalyst(game, agent or plans[0], plans, seats[0] if seats else 0)
    if agent is None and game.kernels and len(facts.heads) == 1 and not facts.hidden_information and not facts.chance:
        return TreeAnalyst(game)
    if agent is not None and facts.hidden_information and _is_blueprint(agent, game):
        return BotAnalyst(game, agent, seats)
    return AgentAnalyst(game, agent or "random")


def _is_blueprint(name: str, game: Game) -> bool:
    """Whether an agent is a rule bot whose moves a belief can interpret."""
    agent = make_agent(name, game)
    if not isinstance(agent, KernelAgent) or agent.kernels.draws or not game.redeals:
        return False
    try:
        make_blueprint(agent, game, "the analysis")
    except OptionError:
        return False
    return True
