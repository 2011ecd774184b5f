"""Analysts for every game: worlds from a belief, tree search, and games played on by agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ludory.agents.agent import Agent, KernelAgent
from ludory.agents.make import make_agent
from ludory.agents.search.belief import Belief, Draw
from ludory.agents.search.blueprint import Blueprint, engine_of, make_blueprint
from ludory.agents.search.mcts import MCTS
from ludory.agents.search.particles import belief_maker
from ludory.agents.seat import SeatMove
from ludory.envs import COUNTER, KEY, Engine, Game, KernelEngine, Memory, Table, hash_rows, memory_of_new_games, on_host
from ludory.errors import OptionError
from ludory.plugins.spec import short_name

from .analyst import Analyst, mover
from .positions import StudiedPosition
from .values import Difference, Floats, MoveSearch, MoveValues, PairedMoments, PairedSearch

WORLDS = 40
"""Worlds of a round of rollouts by a rule bot."""
BATCH = 512
"""Games that agents play on at once."""
SIMULATIONS = 10_000
"""Simulations of one search tree."""
LINE_WORLDS = 60
"""Worlds in which an expected line is followed."""


class BotAnalyst(Analyst):
    """Plays every move in worlds that the seat considers possible, with a rule bot in all seats after it, as `sparta` does.

    Args:
        game: sequential, of one head.
        bot: name of a deterministic rule bot or network.
        seats: the seats whose moves are wanted; None: all.

    Raises:
        OptionError: the bot is of another kind, or the game has no belief.
    """

    def __init__(self, game: Game, bot: str, seats: Sequence[int] | None = None) -> None:
        self.bot, self.blueprint = short_name(bot), make_blueprint(make_agent(bot, game), game, "the analysis")
        maker = belief_maker(self.blueprint, "the analysis", particles=1000)
        self.beliefs: dict[int, Belief] = {
            seat: maker(seat) for seat in (range(game.facts.players) if seats is None else seats)
        }

    def follow(self, position: StudiedPosition) -> None:
        """Narrow the beliefs."""
        if position.move is None:
            return
        for seat, belief in self.beliefs.items():
            belief.watch(position.seat(seat), SeatMove(*position.move))

    def search(self, position: StudiedPosition, key: int) -> MoveSearch:
        """Rollouts of the bot after every legal move."""
        seat = mover(position)
        if seat not in self.beliefs:
            raise OptionError(f"seat {seat} moves here, and only seat {next(iter(self.beliefs))} is analysed")
        return _BotSearch(self.blueprint, self.beliefs[seat], position, seat, key, self.bot)


class _BotSearch(PairedSearch):
    def __init__(
        self, blueprint: Blueprint, belief: Belief, position: StudiedPosition, seat: int, key: int, bot: str
    ) -> None:
        moves = position.legal(seat)
        method = f"{bot} plays on in all seats, in worlds that seat {seat} considers possible"
        super().__init__(
            seat,
            moves.tolist(),
            [position.name(move) for move in moves],
            method,
            "points" if position.game.facts.reward == "shared" else "return",
            float(position.returns[seat]),
        )
        self._blueprint, self._belief, self._key = blueprint, belief, key
        self._seat_view, self._actions, self._game = position.seat(seat), moves, position.game

    @property
    def contradictions(self) -> int:
        """Number of moves by others that the bot would not have made."""
        return self._belief.contradictions

    def _draw(self, number: int, count: int) -> Draw:
        return self._belief.draw(self._seat_view, count, int(hash_rows(self._key, number)))

    def returns(self, number: int) -> Floats:
        return self._blueprint.play(self._draw(number, WORLDS), self._actions, self.seat)

    def line(self, move: int, length: int) -> Sequence[tuple[str, float]]:
        """In `LINE_WORLDS` worlds: at each step the most frequent move, in those in which the moves before were made."""
        # rounds count from 0, so that -1 is a draw of its own
        drawn = self._draw(-1, LINE_WORLDS)
        worlds, memories, told = drawn.worlds.copy(), drawn.memories.copy(), [(self.names[move], 1.0)]
        action = int(self._actions[move])
        while len(told) < length:
            seat = int(worlds["to_move"][0])
            self._blueprint.noticed(worlds, seat, action, memories)
            engine = engine_of(self._game, worlds)
            engine.step(np.full(len(worlds), action))
            worlds = engine.records.copy()
            left = np.flatnonzero(~(worlds["terminated"] | worlds["truncated"]))
            if len(left) < 2:
                break
            chosen = [
                self._blueprint.move(worlds[k : k + 1], int(worlds["to_move"][k]), memories[k].copy()) for k in left
            ]
            action, count = Counter(chosen).most_common(1)[0]
            told.append((self._game.look.action_name(0, action), count / len(worlds)))
            kept = left[np.array(chosen) == action]
            worlds, memories = worlds[kept].copy(), memories[kept].copy()
        return told


def is_blueprint(name: str, game: Game) -> bool:
    """Whether an agent is a rule bot whose moves a belief can interpret."""
    agent = make_agent(name, game)
    if not isinstance(agent, KernelAgent) or agent.kernels.draws or not game.redeals:
        return False
    try:
        make_blueprint(agent, game, "the analysis")
    except OptionError:
        return False
    return True


class TreeAnalyst(Analyst):
    """Tree search in games in which nothing is hidden or drawn: independent trees, whose values are averaged.

    Raises:
        OptionError: another kind of game.
    """

    def __init__(self, game: Game) -> None:
        self._tree = MCTS(game, SIMULATIONS)

    def search(self, position: StudiedPosition, key: int) -> MoveSearch:
        """Trees grown from the position."""
        return _TreeSearch(self._tree, position, mover(position), key)


class _TreeSearch(MoveSearch):
    """Values are means over trees; their errors are the spread between trees, so they do not tell what all trees overlook."""

    def __init__(self, tree: MCTS, position: StudiedPosition, seat: int, key: int) -> None:
        self._tree, self._seat, self._key = tree, seat, key
        self._engine, self._actions = position.engine.clone(), position.legal(seat)
        self._position = position._replace(engine=self._engine)
        self._moments, self._visits = PairedMoments(len(self._actions)), np.zeros(len(self._actions), np.int64)

    @property
    def rollouts(self) -> int:
        """Simulations."""
        return self.rounds * self._tree.simulations

    def more(self) -> None:
        """Grow one more tree."""
        keys = np.array([hash_rows(self._key, self.rounds)], np.int64)
        found = self._tree.search(self._engine, np.zeros(1, np.int64), keys)
        self._moments.add(found.values[:, self._actions])
        self._visits += found.counts[0, self._actions]

    def values(self) -> MoveValues:
        """Mean returns of the simulations that began with a move."""
        names = tuple(self._position.name(action) for action in self._actions)
        base = float(self._position.returns[self._seat])
        method = f"tree search (UCT), {self._tree.simulations:,} simulations a tree, random moves beyond it"
        return MoveValues(
            self._seat,
            tuple(self._actions.tolist()),
            names,
            self._moments.means + base,
            self._moments.stderrs,
            self.rollouts,
            method,
            "return",
            False,
        )

    def difference(self, a: int, b: int) -> Difference:
        """Over trees."""
        return self._moments.difference(a, b)

    def line(self, move: int, length: int) -> Sequence[tuple[str, float]]:
        """The most simulated moves of a fresh tree after each move."""
        engine, action, told = self._engine.clone(), int(self._actions[move]), list[tuple[str, float]]()
        while True:
            told.append((self._position.game.look.action_name(0, action), 1.0))
            engine.step(np.array([action]))
            if len(told) >= length or int(engine.to_move[0]) < 0:
                return told
            keys = np.array([hash_rows(self._key, -len(told))], np.int64)
            action = int(self._tree.search(engine, np.zeros(1, np.int64), keys).counts[0].argmax())


class AgentAnalyst(Analyst):
    """Plays every move in worlds drawn by the rules, with any agent in all seats after it. Nothing is inferred from moves of others.

    In games in which all seats move at once, plans are compared instead of moves: the seat plays on as each of `plans`.

    Args:
        game: one whose engine can be copied.
        agent: plays on.
        plans: agents that `seat` may play on as, in games in which all seats move at once.
        seat: whose plans.

    Raises:
        OptionError: the game cannot be copied, or cannot draw what a seat does not know.
    """

    def __init__(self, game: Game, agent: str, plans: Sequence[str] = (), seat: int = 0) -> None:
        game.need("the analysis of moves", "clones")
        if game.facts.hidden_information:
            game.need("the analysis of moves", "redeals")
        self._game, self._agent, self._seat = game, make_agent(agent, game), seat
        self._agent_name = short_name(agent)
        self._plans = {plan: make_agent(plan, game) for plan in plans}
        self._table: Table | None = None
        self._followers: list[Memory] = []

    def follow(self, position: StudiedPosition) -> None:
        """Update what the agents remember of the game."""
        if position.move is None or self._game.facts.simultaneous or not self._agent.deterministic:
            return
        rows = np.zeros(1, np.int64)
        for seat, memory in enumerate(self._memories(position.engine)):
            action = np.array([position.move.action], np.int64)
            if seat == position.move.seat:
                self._agent.choose(position.engine, seat, rows, memory)
            self._agent.notice(position.engine, seat, rows, action, memory)

    def _memories(self, engine: Engine) -> list[Memory]:
        if not self._followers:
            rows = np.zeros(1, np.int64)
            seats = range(self._game.facts.players)
            self._followers = [memory_of_new_games(self._agent, engine, seat, rows) for seat in seats]
        return self._followers

    def search(self, position: StudiedPosition, key: int) -> MoveSearch:
        """Games played on after every legal move, or with every plan."""
        if self._game.facts.simultaneous:
            if position.over:
                raise OptionError("the game is over here; go to an earlier position to see values of plans")
            return _PlanSearch(self._game, position, self._seat, key, self._agent, self._agent_name, self._plans)
        # The memory of an agent that draws holds the key of its draws, which must differ between worlds.
        memories = self._memories(position.engine) if self._agent.deterministic else []
        return _AgentSearch(self._game, position, mover(position), key, self._agent, self._agent_name, memories)


def worlds_of(position: StudiedPosition, seat: int, count: int, key: int) -> Engine:
    """`count` games that `seat` cannot tell from the one at `position`, with fresh draws."""
    game = position.game
    if game.redeals:
        return position.seat(seat).worlds(count, abs(key) >> 2)
    worlds = position.engine.gather(np.zeros(count, np.int64))
    if isinstance(worlds, KernelEngine):
        # copies of one game would draw alike
        worlds.records["random"][:, KEY] = hash_rows(key, np.arange(count))
        worlds.records["random"][:, COUNTER] = 0
    return worlds


class _AgentSearch(PairedSearch):
    def __init__(
        self,
        game: Game,
        position: StudiedPosition,
        seat: int,
        key: int,
        agent: Agent,
        name: str,
        memories: Sequence[Memory],
    ) -> None:
        moves = position.legal(seat)
        method = f"{name} plays on in all seats, in worlds drawn by the rules"
        unit, base = "points" if game.facts.reward == "shared" else "return", float(position.returns[seat])
        super().__init__(seat, moves.tolist(), [position.name(move) for move in moves], method, unit, base)
        self._position = position._replace(engine=position.engine.clone())
        self._key, self._agent, self._actions, self._memories = key, agent, moves, memories

    def returns(self, number: int) -> Floats:
        count, tried = max(BATCH // len(self._actions), 2), len(self._actions)
        key = int(hash_rows(self._key, number))
        worlds = worlds_of(self._position, self.seat, count, key)
        # each world once for each move, so that moves are compared in the same worlds
        engine = worlds.gather(np.repeat(np.arange(count), tried))
        self._agent.seed(abs(key) >> 2)
        first = np.tile(self._actions, count)
        table = Table(engine, [self._agent] * engine.facts.players)
        for memory, followed in zip(table.memories, self._memories, strict=False):
            _repeat(memory, followed)
        rows = np.arange(engine.num_games)
        for seat, memory in enumerate(table.memories):
            self._agent.notice(engine, seat, rows, first, memory)
        engine.step(first)
        table.rewards += on_host(engine.rewards)
        table.run()
        found = np.asarray(table.rewards[:, self.seat], np.float64).reshape(count, tried)
        engine.close()
        return found


def _repeat(memory: Memory, followed: Memory) -> None:
    """Write the memory of one game to all rows of `memory`."""
    if isinstance(memory, tuple):
        for part, one in zip(memory, followed, strict=True):
            _repeat(part, one)
    elif memory is not None:
        memory[:] = followed


class _PlanSearch(PairedSearch):
    def __init__(
        self,
        game: Game,
        position: StudiedPosition,
        seat: int,
        key: int,
        agent: Agent,
        name: str,
        plans: dict[str, Agent],
    ) -> None:
        method = f"seat {seat} plays on as each agent, all others as {name}, in worlds drawn by the rules"
        words = [f"play on as {plan}" for plan in plans]
        super().__init__(seat, list(plans), words, method, "return", float(position.returns[seat]))
        self._position, self._key = position._replace(engine=position.engine.clone()), key
        self._agent, self._plans = agent, plans

    def returns(self, number: int) -> Floats:
        key, count = int(hash_rows(self._key, number)), max(BATCH // 16, 2)
        worlds = worlds_of(self._position, self.seat, count, key)
        columns = []
        for plan in self._plans.values():
            engine = worlds.gather(np.arange(count))
            for agent in (self._agent, plan):
                # all plans meet the same draws
                agent.seed(abs(key) >> 2)
            seats = range(engine.facts.players)
            table = Table(engine, [plan if seat == self.seat else self._agent for seat in seats])
            table.run()
            columns.append(np.asarray(table.rewards[:, self.seat], np.float64))
            engine.close()
        return np.stack(columns, axis=1)
