"""`score_beside_baseline`: an agent's score beside that of a baseline, on the same games."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.agent import Agent
from ludory.envs.game import Game

from .evaluate import evaluate
from .evaluation_result import Estimate, estimate


class ScoreBeside(NamedTuple):
    """Mean returns of an agent and of a baseline, and the agent's lead, paired by game."""

    agent: Estimate
    baseline: Estimate
    lead: Estimate


class PairedScores(NamedTuple):
    """Scores (n,) of an agent and of a baseline in the same n games or deals."""

    agent: NDArray[np.float64]
    baseline: NDArray[np.float64]


def paired_scores(
    agent: str | Agent, baseline: str | Agent, game: Game, games: int = 1000, seed: int = 0, first_game: int = 0
) -> PairedScores:
    """Scores of an agent and a baseline, game by game.

    Under a shared reward and in games of one seat, each plays all seats of the same games. In other games they play each other: the agent
    has the seats of the first team (seat 0 where there are no teams), the baseline all others, and every deal is played once with each
    rotation of the seats.

    Args:
        agent: name or agent.
        baseline: the same.
        game: to play.
        games: number of games (deals, where they play each other).
        seed: of the games.
        first_game: index of the first game.
    """
    facts = game.facts
    if facts.reward == "shared" or facts.players == 1:
        own, other = (
            evaluate([one], game, games=games, seed=seed, first_game=first_game).returns[:, 0]
            for one in (agent, baseline)
        )
        return PairedScores(own.astype(np.float64), other.astype(np.float64))
    teams = facts.teams or tuple(range(facts.players))
    seated = [agent if team == teams[0] else baseline for team in teams]
    returns = evaluate(seated, game, games=games, seed=seed, first_game=first_game, rotate=True).returns
    rival = next(k for k, team in enumerate(teams) if team != teams[0])
    return PairedScores(returns[:, 0].astype(np.float64), returns[:, rival].astype(np.float64))


def score_beside_baseline(
    agent: str | Agent, baseline: str, game: Game, games: int = 1000, seed: int = 0
) -> ScoreBeside:
    """Mean scores of an agent and a baseline, and the lead; arguments as for `paired_scores`."""
    own, other = paired_scores(agent, baseline, game, games, seed)
    return ScoreBeside(estimate(own), estimate(other), estimate(own - other))
