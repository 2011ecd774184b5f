"""Lanes of a league: the decisions of a learner in games against assigned opponents. Opponents' decisions are not recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ludory.algorithms import EngineLanes, Lanes, SelfPlayLanes, SimultaneousLanes, on_engine, played
from ludory.envs import Array, Engine, Game, GameFacts, hash_rows, on_host
from ludory.errors import OptionError

from .messages import Assignment, MatchResult
from .opponent_runners import Opponent, OpponentRunners, SeatObservations, first_legal_actions

MOST_STARTS = 1000
"""How many games in a row may end before the learner's first move."""


def teams_of(facts: GameFacts) -> Tensor:
    """(P,) the team of each seat; without teams every seat is one."""
    return torch.tensor(facts.teams or range(facts.players))


@dataclass(slots=True)
class _OpenMatch:
    assignment: Assignment
    started: int = 0
    outcomes: str = ""
    length: int = 0


class OpenMatches:
    """The assignments of one sampler, from the first game's start to the last game's end.

    Args:
        next_assignment: asks the coordinator for the next match.
        deliver: tells it of a finished one.
    """

    def __init__(self, next_assignment: Callable[[], Assignment], deliver: Callable[[MatchResult], None]) -> None:
        self._next_assignment, self._deliver = next_assignment, deliver
        self._open: dict[int, _OpenMatch] = {}
        self._current: int | None = None

    def start_game(self, seats: int) -> tuple[Assignment, int]:
        """The match that the next game belongs to, and the seat of its home player."""
        if self._current is None:
            assignment = self._next_assignment()
            self._current = assignment.match
            self._open[assignment.match] = _OpenMatch(assignment)
        match = self._open[self._current]
        # the seat depends on the match and on the number of the game, not on when it is played
        seat = int(hash_rows(match.assignment.game_seed, match.started)) % seats
        match.started += 1
        # no more games start; the match stays open until they have ended
        if match.started == match.assignment.games:
            self._current = None
        return match.assignment, seat

    def end_game(self, match: int, outcome: str, length: int) -> None:
        """A game ended for its home player: "w", "d" or "l", after `length` rounds."""
        found = self._open[match]
        found.outcomes += outcome
        found.length += length
        if len(found.outcomes) == found.assignment.games:
            del self._open[match]
            self._deliver(MatchResult(match, found.outcomes, found.length))

    def away(self, match: int) -> str:
        """The opponent in an open match."""
        return self._open[match].assignment.away

    def state(self) -> Tensor:
        """All open matches, as the bytes of a JSON text."""
        text = json.dumps({"current": self._current, "open": [asdict(match) for match in self._open.values()]})
        return torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)

    def restore(self, state: Tensor) -> None:
        """Restore the matches that `state` returned."""
        known: dict[str, Any] = json.loads(bytes(state.tolist()))
        self._current, self._open = known["current"], {}
        for match in known["open"]:
            found = _OpenMatch(Assignment(**match.pop("assignment")), **match)
            self._open[found.assignment.match] = found


class _MatchLanes(EngineLanes):
    """Assigns opponents and seats to games; N games, P seats. Its subclasses are the two kinds of `Lanes`."""

    def __init__(
        self, game: Game, engine: Engine, me: str, matches: OpenMatches, find: Callable[[str], Opponent]
    ) -> None:
        super().__init__(game, engine)
        self.me, self.matches, self.opponents = me, matches, OpponentRunners(engine, find)
        self.names: list[str] = []
        """Opponents that ever played, by code."""
        self._teams = teams_of(self.facts).to(self.device)
        self._match = np.full(engine.num_games, -1)
        self._home = torch.zeros(engine.num_games, dtype=torch.int64, device=self.device)
        self._away = torch.zeros(engine.num_games, dtype=torch.int64, device=self.device)  # code of the opponent

    def _code(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def _assign(self, rows: Array) -> None:
        """Ask for opponents and seats in the games `rows`."""
        home, away = [], []
        for game in rows:
            assignment, seat = self.matches.start_game(self.facts.players)
            self._match[game] = assignment.match
            home.append(seat)
            away.append(self._code(assignment.away))
        at = torch.as_tensor(rows, device=self.device)
        self._home[at] = torch.tensor(home, device=self.device)
        self._away[at] = torch.tensor(away, device=self.device)

    def _mine(self) -> Tensor:
        """(N, P) bool: the learner plays the seat: its home seat and those of its team, or all against itself."""
        code = self.names.index(self.me) if self.me in self.names else -1
        return (self._teams == self._teams[self._home].unsqueeze(1)) | (self._away == code).unsqueeze(1)

    def _playing(self) -> list[str]:
        return [self.names[code] for code in self._away.unique().tolist()]

    def _by_opponent(self, games: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Opponents of `games` (m,), each with a mask (m,) of its games.

        They share one generator, so their order must be the same in a resumed run, which assigns new codes: by name.
        """
        codes = self._away[games]
        for name, code in sorted((self.names[code], code) for code in codes.unique().tolist()):
            yield name, codes == code

    def results(self, rewards: Array) -> Array:
        return rewards[np.arange(len(rewards)), on_host(self._home)]

    def close(self, rows: Array, returns: Array, lengths: Array) -> None:
        for game, total, length in zip(rows, returns, lengths, strict=True):
            self.matches.end_game(int(self._match[game]), "w" if total > 0 else "l" if total < 0 else "d", int(length))

    def state(self) -> dict[str, Tensor]:
        known = {"matches": self.matches.state(), "match": torch.from_numpy(self._match), "home": self._home}
        return known | self.opponents.state()

    def restore(self, state: Mapping[str, Tensor]) -> bool:
        self.matches.restore(state["matches"])
        self._match, self._home = state["match"].numpy().copy(), state["home"].clone().to(self.device)
        away = [self._code(self.matches.away(int(match))) for match in self._match]
        self._away = torch.tensor(away, device=self.device)
        self.opponents.restore(state)
        return True


class _RoundLanes(_MatchLanes, SimultaneousLanes):
    """Games with simultaneous moves: a lane is one of the learner's seats, home seats first.

    Where the learner plays itself every seat is a lane. In a game against itself that begins during a rollout, the other seats
    are left to a copy of it until the rollout ends.
    """

    def begin(self) -> None:
        """The learner's present seats are lanes until the next call."""
        # counted from the home seat, so that lane 0 of each game is the home seat whichever it is
        seats = (self._home.unsqueeze(1) + torch.arange(self.facts.players, device=self.device)) % self.facts.players
        self._offset, self._games = self._mine().gather(1, seats).T.nonzero(as_tuple=True)
        self._round = SeatObservations(self.engine)
        self.opponents.prepare(self._playing(), self._round.typical)

    def seats(self) -> Tensor:
        return (self._home[self._games] + self._offset) % self.facts.players

    def lanes_of(self, by_seat: Tensor) -> Tensor:
        return by_seat[self._games, self.seats()]

    def movers(self, seats: Tensor) -> Any:
        return slice(None)

    def observe(self, lanes: Tensor | None = None) -> Tensor:
        """Of all lanes: the observations that the other methods use until the next step."""
        if lanes is None:
            self._round = SeatObservations(self.engine)
            return self.lanes_of(self._round.observations)
        return SeatObservations(self.engine).observations[self._games[lanes], self.seats()[lanes]]

    def typical(self, observation: Tensor) -> Tensor:
        return self._round.typical

    def critic(self, lanes: Tensor | None = None) -> Tensor:
        here: Any = slice(None) if lanes is None else lanes
        return self._critic(None)[self._games[here], self.seats()[here]]

    def legal(self) -> Tensor:
        return self.lanes_of(self._round.masks)

    def alive(self) -> Tensor:
        """Not out, and the learner's own in the present game."""
        return self.lanes_of(torch.as_tensor(self.engine.alive)) & self.lanes_of(self._mine())

    def joint(self, actions: Tensor) -> Tensor:
        """(N, P, H): opponents choose; seats that are out or wait play their first legal action."""
        deciding, valid = torch.as_tensor(self.engine.deciding), self.alive()
        shape = (*deciding.shape, len(self.facts.heads))
        everyone = bool(deciding.all())
        # if all decide, everything is overwritten below
        joint = actions.new_zeros(shape) if everyone else first_legal_actions(self._round.masks, self.facts.head_sizes)
        own = self._games[valid], self.seats()[valid]
        joint[own] = actions[valid]
        theirs = torch.ones_like(deciding)
        theirs[own] = False
        assert self.generator is not None
        games, seats = (theirs & deciding).nonzero(as_tuple=True)
        for name, its in self._by_opponent(games):
            at, of = games[its], seats[its]
            joint[at, of] = self.opponents.runner(name).step(self._round, at, at, of, self.generator)
        if self.game.seats_wait:
            games, seats = (theirs & torch.as_tensor(self.engine.alive) & ~deciding).nonzero(as_tuple=True)
            for name, its in self._by_opponent(games):
                self.opponents.runner(name).look_on(self._round, games[its], games[its], seats[its])
        return joint

    def on_seats(self, joint: Tensor) -> Array:
        return on_engine(joint)

    def ends(self) -> tuple[Tensor, Tensor]:
        """A seat that is out is terminated before its game, which may then be truncated."""
        truncated = torch.as_tensor(self.engine.truncated & ~self.engine.terminated)
        return self.lanes_of(torch.as_tensor(self.engine.seat_terminated)), truncated[self._games]

    def start(self, rows: Array | None = None) -> None:
        rows = np.arange(self.engine.num_games) if rows is None else rows
        self._assign(rows)
        self.engine.reset(rows)
        self.opponents.reset(rows)


class _TurnLanes(_MatchLanes, SelfPlayLanes):
    """Games in which seats take turns: a lane is a game up to the learner's next turn, whichever of its seats has it."""

    def __init__(
        self, game: Game, engine: Engine, me: str, matches: OpenMatches, find: Callable[[str], Opponent]
    ) -> None:
        super().__init__(game, engine, me, matches, find)
        self._early = torch.zeros(engine.num_games, self.facts.players, device=self.device)
        """Rewards of moves before the learner's first one, (N, P)."""

    def begin(self) -> None:
        self.opponents.prepare(self._playing(), SeatObservations(self.engine).typical)

    def play(self, joint: Tensor) -> Array:
        """With the rewards of the opponents' moves that follow."""
        running = torch.arange(self.engine.num_games, device=self.device)
        self._tell(running, self.seats(), joint)
        self.engine.step(played(joint))
        rewards = self._early + torch.as_tensor(self.engine.rewards)
        rewards += self._play_others()
        self._early[:] = 0
        return on_engine(rewards)

    def _play_others(self) -> Tensor:
        """Play up to the learner's next turn in every game; returns the rewards (N, P) on the way."""
        rewards, mine = torch.zeros_like(self._early), self._mine()
        assert self.generator is not None
        # each round moves one opponent in every game that waits for one
        while True:
            to_move = self.seats()
            # a finished game has to_move -1, which must not index a seat
            its = (to_move >= 0) & ~mine.gather(1, to_move.clamp(min=0).unsqueeze(1)).squeeze(1)
            games = its.nonzero().squeeze(1)
            if not len(games):
                return rewards
            rows, seats = on_host(games), to_move[games]
            seen, actions = SeatObservations(self.engine, rows), games.new_zeros(len(games), len(self.facts.heads))
            for name, here in self._by_opponent(games):
                at = here.nonzero().squeeze(1)
                actions[at] = self.opponents.runner(name).step(seen, at, games[at], seats[at], self.generator)
            self._tell(games, seats, actions)
            self.engine.step(played(actions), rows)
            rewards += torch.as_tensor(self.engine.rewards)

    def _tell(self, games: Tensor, seats: Tensor, actions: Tensor) -> None:
        """Tell opponents, and the sampler, of moves about to be made."""
        for name, here in self._by_opponent(games):
            # the learner's own network is told by the sampler
            if name != self.me:
                self.opponents.runner(name).observe_action(games[here], seats[here], actions[here])
        if self._listener is not None:
            self._listener(on_host(games), on_host(seats), on_host(played(actions)))

    def start(self, rows: Array | None = None) -> None:
        """Up to the learner's first turn. Games that end before it count, and others are started.

        Raises:
            OptionError: the learner never comes to move.
        """
        rows = np.arange(self.engine.num_games) if rows is None else rows
        for _ in range(MOST_STARTS):
            self._assign(rows)
            self.engine.reset(rows)
            for name in self._playing():
                if name != self.me:
                    self.opponents.runner(name)  # made before the first move, which it may want to be told
            self.opponents.reset(rows)
            self._early[torch.as_tensor(rows, device=self.device)] = 0
            # in other games it is the learner's turn already, and nobody moves
            self._early += self._play_others()
            rows = rows[on_host(self.over())[rows]]
            if not len(rows):
                return
            # the learner decided nothing in them
            self.close(rows, self.results(on_host(self._early))[rows], np.zeros(len(rows), np.int64))
        raise OptionError(
            f"{self.game.name}: {self.me} did not come to move in {MOST_STARTS} games against {self.names}; choose another game"
        )

    def state(self) -> dict[str, Tensor]:
        return super().state() | {"early": self._early}

    def restore(self, state: Mapping[str, Tensor]) -> bool:
        self._early = state["early"].clone().to(self.device)
        return super().restore(state)


def make_league_lanes(
    game: Game, engine: Engine, me: str, matches: OpenMatches, find: Callable[[str], Opponent]
) -> Lanes:
    """The lanes of a learner.

    Args:
        game: what is played.
        engine: a batch of it.
        me: id of the learner.
        matches: source of opponents.
        find: returns the network or agent of a player id.
    """
    return (_RoundLanes if game.facts.simultaneous else _TurnLanes)(game, engine, me, matches, find)
