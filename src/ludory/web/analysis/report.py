"""One position analysed: what the analysis board shows and `ludory analyse --json` prints, with what agents would play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ludory.agents import Agent, make_agent
from ludory.agents.analysis import Analyst, Floats, HiddenCards, MoveSearch, StudiedPosition, analysis_of, key_at
from ludory.agents.analysis.positions import check_number, positions
from ludory.data.playthrough import as_tuples
from ludory.data.replay import Replay
from ludory.envs import Engine, Game, Memory, make_game, memory_of_new_games, on_host
from ludory.errors import LudoryError, OptionError
from ludory.plugins.spec import short_name

from .review import advisers, analyst_for

LINE = 6
"""Moves of an expected line."""
MOST_MOVES = 100
"""Most moves of a report; the best ones are listed."""


class PositionAnalysis:
    """The analysis of one position, refined by `run_slice`, completed by `ask` and read by `report`.

    Args:
        replay: the recorded game.
        number: of the position: how many moves were made.
        view: the seat whose knowledge the report may use; None: everything may be shown.
        seat: in games in which all seats move at once, whose plans are compared; None: `view`, or seat 0.
        agent: plays on in rollouts, see `analyst_for`.
        seed: of all draws.
        asked: agents asked for advice, by name; None: `advisers`.
        also: names of further agents to ask, such as checkpoints.
        game: the game itself, if its id is not registered.

    Raises:
        OptionError: there is no such position or seat.
        ReplayError: the game does not go as recorded.
    """

    def __init__(
        self,
        replay: Replay,
        number: int,
        view: int | None = None,
        seat: int | None = None,
        agent: str | None = None,
        seed: int = 0,
        asked: dict[str, Agent] | None = None,
        also: Sequence[str] = (),
        game: Game | None = None,
    ) -> None:
        self.game = game or make_game(replay.game, **replay.options)
        self._own = analysis_of(self.game)
        check_number(replay, number)
        for name, value in (("view", view), ("seat", seat)):
            if value is not None and not 0 <= value < self.game.facts.players:
                raise OptionError(f"{name}={value}: must be 0 to {self.game.facts.players - 1}")
        self.view, self.notes, self.search = view, list[str](), None
        self._seed, self._replay = seed, replay
        self._chosen = seat if seat is not None else view if view is not None else 0
        self._waiting: dict[str, Agent] | None = asked
        self._also, self._told = tuple(also), False
        analyst = self._analyst(agent)
        for position in positions(replay, self.game):
            if position.number == number:
                break
            if analyst:
                analyst.follow(position)
        # a game that cannot be copied stays where the iteration stops
        self.position: StudiedPosition = (
            position._replace(engine=position.engine.clone()) if self.game.clones else position
        )
        self.seat, self.advice = self._whose(), list[Advice]()
        self._look(analyst)

    def ask(self) -> None:
        """Ask the agents what they would play; the first time takes a moment, since networks are loaded."""
        if self._told:
            return
        self._told = True
        others = {short_name(name): make_agent(name, self.game) for name in self._also}
        every, found = Advisers((advisers(self.game) if self._waiting is None else self._waiting) | others), {}
        for position in positions(self._replay, self.game):
            found = every.at(position)
            if position.number == self.position.number:
                break
        self.advice = found.get(self.seat, []) if self.seat is not None else []
        self.notes += [f"{name} gives no advice: {reason}" for name, reason in every.lost.items()]

    search: MoveSearch | None

    def _analyst(self, agent: str | None) -> Analyst | None:
        seats = [self._chosen] if self.game.facts.simultaneous else None if self.view is None else [self.view]
        try:
            return analyst_for(self.game, agent or self._own.usual_agent(self._replay.agents), seats)
        except OptionError as error:
            if agent is not None:
                raise
            self.notes.append(f"No values of moves: {error}.")
            return None

    def _whose(self) -> int | None:
        """The seat whose moves are valued; None if nobody's may be."""
        if self.position.over:
            return None
        if self.game.facts.simultaneous:
            return self._chosen
        seat = self.position.to_move
        if self.view is not None and seat != self.view and self.game.facts.hidden_information:
            self.notes.append(
                f"Seat {seat} is to move: what its moves are worth depends on what seat {self.view} cannot see."
            )
            return None
        return seat

    def _look(self, analyst: Analyst | None) -> None:
        """Start the search, and compute the belief."""
        self._key, self.belief = key_at(self.position, self._seed), None
        thinker = self.view if self.view is not None else self.seat
        if thinker is not None and self.game.facts.hidden_information and not self.position.over:
            self.belief = self._own.hidden(self.position, thinker, analyst, self._key, self.view is None)
        if self.seat is None or analyst is None:
            return
        try:
            self.search = analyst.search(self.position, self._key)
        except LudoryError as error:
            self.notes.append(f"No values of moves: {error}.")

    def done(self, rollouts: int) -> bool:
        """Whether the agents were asked and nothing is left to refine."""
        return self._told and (self.search is None or self.search.enough(rollouts))

    def run_slice(self, rollouts: int) -> None:
        """Refine the values for about 50 ms, up to `rollouts`."""
        if self.search is not None:
            self.search.run_slice(rollouts)

    def run(self, rollouts: int) -> dict[str, Any]:
        """Ask the agents, refine the values up to `rollouts`, and return the report with the expected line."""
        self.ask()
        if self.search is not None:
            self.search.run(rollouts)
        return self.report(line=True)

    def report(self, line: bool = False) -> dict[str, Any]:
        """The analysis so far as JSON values, best moves first; numbers that are not finite become null.

        line: also follow the line that the search expects, which takes a moment.
        """
        position = self.position
        played = position.move.action if position.move is not None else None
        found: dict[str, Any] = {
            "game": self._replay.game,
            "move": position.number,
            "moves": len(self._replay.moves),
            "over": position.over,
            "to_move": position.to_move,
            "seat": self.seat,
            "view": self.view,
            "returns": [float(value) for value in position.returns],
            "notes": list(self.notes),
            "advice": [_advice(position, one) for one in self.advice],
            "belief": None if self.belief is None else _belief(self.belief),
            "values": None,
        }
        may_show = self.view is None or position.to_move == self.view or not self.game.facts.hidden_information
        if played is not None and may_show and not self.game.facts.simultaneous:
            found["played"] = {"action": played, "name": position.name(played)}
        if self.search is not None:
            found["values"] = self._values(self.search, played, line)
        return found

    def _values(self, search: MoveSearch, played: Any, line: bool) -> dict[str, Any]:
        values = search.values()
        order = values.order()
        shares = [(one.agent, one.probabilities) for one in self.advice if one.probabilities is not None]
        moves = []
        for k in order[:MOST_MOVES]:
            move = values.moves[k]
            entry: dict[str, Any] = {
                "action": move,
                "name": values.names[k],
                "value": _finite(values.values[k]),
                "stderr": _finite(values.stderrs[k]),
                "played": move == played,
                "agents": [one.agent for one in self.advice if one.action == move],
            }
            if values.chances is not None:
                entry["make"] = _finite(values.chances[k])
            if isinstance(move, int):
                entry["networks"] = {agent: _finite(found[move]) for agent, found in shares}
            moves.append(entry)
        told = [] if not line else [{"name": name, "share": share} for name, share in search.line(order[0], LINE)]
        return {
            "moves": moves,
            "left_out": len(order) - len(moves),
            "rollouts": values.rollouts,
            "method": values.method,
            "unit": values.unit,
            "exact": values.exact,
            "line": told,
        }


def _advice(position: StudiedPosition, one: Advice) -> dict[str, Any]:
    return {"agent": one.agent, "action": one.action, "name": position.name(one.action)}


def _belief(found: HiddenCards) -> dict[str, Any]:
    return {
        "title": found.title,
        "rows": list(found.rows),
        "columns": list(found.columns),
        "probabilities": [[round(float(share), 4) for share in row] for row in found.probabilities],
        "truth": None if found.truth is None else list(found.truth),
        "note": found.note,
    }


def _finite(number: Any) -> float | None:
    value = float(number)
    return value if np.isfinite(value) else None


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
            except Exception as error:  # of another package, anything
                self.lost[name] = str(error) if isinstance(error, LudoryError) else f"{type(error).__name__}: {error}"
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
