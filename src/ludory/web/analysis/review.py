"""A whole game judged move by move by the analyst that it has: the value at every decision, and what each move cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ludory.agents import Agent, make_agent
from ludory.agents.analysis import (
    AgentAnalyst,
    Analyst,
    BotAnalyst,
    StudiedPosition,
    TreeAnalyst,
    analysis_of,
    is_blueprint,
    key_at,
)
from ludory.agents.analysis.positions import positions
from ludory.data.playthrough import Narrator
from ludory.data.replay import Replay
from ludory.envs import Game, hash_rows, make_game
from ludory.errors import LudoryError, OptionError
from ludory.plugins import agents

NOT_ADVISERS = ("az", "human", "language", "mixture", "random", "sparta")
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


ROLLOUTS = 1000
"""Rollouts that choose the best move of a decision; as many others measure what the played one cost."""
MOST_JUDGED = 60
"""Most positions of a game in which all seats move at once that are judged."""
SURE = 2.0
"""Standard errors by which a move must be worse to be called a mistake."""


class JudgedMove(NamedTuple):
    """One decision of a recorded game."""

    number: int
    """Number of moves made before it: the position from which `/analyse` shows it."""
    seat: int
    words: str
    """The move in words."""
    best: str
    """The best move found, in words."""
    value: float
    """Of the best move, for `seat`."""
    level: float
    """The same for the side that the graph shows: that of seat 0, or of all seats under a shared reward."""
    stderr: float
    """Of `value`."""
    loss: float
    """How much worse the played move is; about 0 or below for a good one."""
    loss_stderr: float
    unit: str

    @property
    def mistake(self) -> bool:
        """Whether the move is surely worse than the best one."""
        return self.loss > 1e-9 and self.loss > SURE * self.loss_stderr

    def told(self) -> str:
        """The move and its cost, such as "-1.8 points: seat 0 discarded R4 from slot 2, the last red 4"."""
        cost = "no solution is left" if np.isinf(self.loss) else f"{-self.loss:.2g} {self.unit.split(',')[0]}"
        return f"{cost}: {self.words}"


def review(
    replay: Replay,
    rollouts: int = ROLLOUTS,
    seed: int = 0,
    agent: str | None = None,
    view: int | None = None,
    game: Game | None = None,
    first: int = 0,
) -> Iterator[JudgedMove]:
    """Yield the decisions of a game as they are judged.

    One half of the rollouts chooses the best move, the other half measures how much worse the played one is, so that the loss is not
    biased by the choice.

    Args:
        replay: the recorded game.
        rollouts: of each half.
        seed: of all draws.
        agent: plays on in rollouts, see `analyst_for`.
        view: judge only decisions of this seat, by what it may know; None: all.
        game: the game itself, if its id is not registered.
        first: number of the first decision to judge.

    Raises:
        OptionError: as `analyst_for`.
        ReplayError: the game does not go as recorded.
    """
    game = game or make_game(replay.game, **replay.options)
    seats = None if view is None else [view]
    analysis = analysis_of(game)
    analyst = analyst_for(game, agent or analysis.usual_agent(replay.agents), seats)
    told = Narrator(game, view)
    # every n-th position of a long game in which all move at once
    every = max(1, -(-len(replay.moves) // MOST_JUDGED)) if game.facts.simultaneous else 1
    waiting: tuple[StudiedPosition, JudgedMove] | None = None
    for position in positions(replay, game):
        words = told(position.engine, replay.moves[position.number - 1] if position.number else None)
        # the words of a move tell what came of it, so that a judged move waits for the next position
        if waiting:
            yield waiting[1]._replace(words=words + analysis.remark(position))
            waiting = None
        if position.move is None:
            return
        wanted = position.number % every == 0 and position.number >= first
        if wanted and (game.facts.simultaneous or view is None or position.to_move == view):
            judged = _judged(analyst, position, rollouts, seed)
            if judged:
                waiting = position, judged
        analyst.follow(position)


def _judged(analyst: Analyst, position: StudiedPosition, rollouts: int, seed: int) -> JudgedMove | None:
    """The decision at a position, its words left out; None where no values can be found."""
    assert position.move is not None
    key = key_at(position, seed)
    try:
        search = analyst.search(position, key)
    except OptionError:
        return None
    found = search.run(rollouts)
    best, second = found.best, search
    if not search.done and position.move.action in found.moves:
        second = analyst.search(position, int(hash_rows(key, 1)))
    measured = second.run(rollouts)
    played = found.moves.index(position.move.action) if position.move.action in found.moves else best
    loss = second.difference(best, played)
    if np.isnan(loss.mean):  # no solution is left, whatever is played
        loss = loss._replace(mean=0.0)
    return JudgedMove(
        position.number,
        found.seat,
        "",
        found.names[best],
        float(measured.values[best]),
        sign_of(position.game, found.seat) * float(measured.values[best]),
        float(measured.stderrs[best]),
        loss.mean,
        loss.stderr,
        found.unit,
    )


def sign_of(game: Game, seat: int) -> int:
    """1 if a seat is on the side that the graph shows, -1 if it is on the other one; 1 in games of more than two sides."""
    facts = game.facts
    sides = facts.teams or tuple(range(facts.players))
    if facts.reward != "zero_sum" or len(set(sides)) != 2:
        return 1
    return 1 if sides[seat] == sides[0] else -1


def mistakes(judged: list[JudgedMove], most: int = 5) -> list[JudgedMove]:
    """The moves that cost most, the worst first."""
    return sorted((one for one in judged if one.mistake), key=lambda one: -one.loss)[:most]


def game_report(game: str, rollouts: int, judged: Iterable[JudgedMove]) -> dict[str, Any]:
    """The judged decisions of a game as JSON values; infinite numbers become null."""
    return {"game": game, "rollouts": rollouts, "decisions": [_as_json(one) for one in judged]}


def _as_json(judged: JudgedMove) -> dict[str, Any]:
    return {name: _number(value) for name, value in judged._asdict().items()} | {"mistake": judged.mistake}


def _number(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value
