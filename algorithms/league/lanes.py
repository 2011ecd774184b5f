"""`LeagueLanes`: the decisions of a learner in games against whom the coordinator assigns. Decisions of others are not recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ludory.algorithms.sampling.lanes import EngineLanes, Lanes, SelfPlayLanes, on_engine, played
from ludory.envs.engine.protocol import Array, Engine, on_host
from ludory.envs.game import Game, GameFacts
from ludory.errors import OptionError

from .cast import Cast, Entrant, Seats, neutral
from .matches import OpenMatches

MOST_STARTS = 1000
"""How many games in a row may end before the learner's first move."""


def teams_of(facts: GameFacts) -> Tensor:
    """(P,) the team of each seat; without teams every seat is one."""
    return torch.tensor(facts.teams or range(facts.players))


class _Matches(EngineLanes):
    """Who plays whom in which seat; N games, P seats.

    Args:
        game: what is played.
        engine: a batch of it.
        me: id of the learner.
        matches: source of opponents.
        entrant: the network or agent behind an id.
    """

    def __init__(
        self, game: Game, engine: Engine, me: str, matches: OpenMatches, entrant: Callable[[str], Entrant]
    ) -> None:
        super().__init__(game, engine)
        self.me, self.matches, self.cast = me, matches, Cast(engine, entrant)
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
        """Opponents of `games`, each with the places (m,) bool of its games in them.

        All draw from one generator: in an order that a resumed run, which counts opponents anew, has too.
        """
        codes = self._away[games]
        for name, code in sorted((self.names[code], code) for code in codes.unique().tolist()):
            yield name, codes == code

    def results(self, rewards: Array) -> Array:
        """As `Lanes.results`: of the home seats."""
        return rewards[np.arange(len(rewards)), on_host(self._home)]

    def close(self, rows: Array, returns: Array, lengths: Array) -> None:
        """As `Lanes.close`: the matches count them."""
        for game, total, length in zip(rows, returns, lengths, strict=True):
            self.matches.end_game(int(self._match[game]), "w" if total > 0 else "l" if total < 0 else "d", int(length))

    def state(self) -> dict[str, Tensor]:
        """As `Lanes.state`."""
        known = {"matches": self.matches.state(), "match": torch.from_numpy(self._match), "home": self._home}
        return known | self.cast.state()

    def restore(self, state: Mapping[str, Tensor]) -> bool:
        """As `Lanes.restore`."""
        self.matches.restore(state["matches"])
        self._match, self._home = state["match"].numpy().copy(), state["home"].clone().to(self.device)
        away = [self._code(self.matches.away(int(match))) for match in self._match]
        self._away = torch.tensor(away, device=self.device)
        self.cast.restore(state)
        return True

    def over(self) -> Array:
        """As `Lanes.over`."""
        return self.engine.terminated | self.engine.truncated


class RoundLanes(_Matches):
    """Of a game in which all seats move at once: a lane is one of the learner's seats, home seats first.

    Where the learner plays itself every seat is a lane; in a game against itself that began after the rollout the other seats
    are left to a copy of it.
    """

    def begin(self) -> None:
        """As `Lanes.begin`: the seats that are the learner's now are lanes up to the next call."""
        chairs = (self._home.unsqueeze(1) + torch.arange(self.facts.players, device=self.device)) % self.facts.players
        self._offset, self._games = self._mine().gather(1, chairs).T.nonzero(as_tuple=True)
        self._round = Seats(self.engine)
        self.cast.prepare(self._playing(), self._round.typical)

    def seats(self) -> Tensor:
        """As `Lanes.seats`."""
        return (self._home[self._games] + self._offset) % self.facts.players

    def movers(self, seats: Tensor) -> Any:
        """As `Lanes.movers`: everybody."""
        return slice(None)

    def observe(self, lanes: Tensor | None = None) -> Tensor:
        """As `Lanes.observe`; of all lanes, also for the other methods up to the next step."""
        if lanes is None:
            self._round = Seats(self.engine)
            return self._round.observations[self._games, self.seats()]
        return Seats(self.engine).observations[self._games[lanes], self.seats()[lanes]]

    def typical(self, observation: Tensor) -> Tensor:
        """As `Lanes.typical`."""
        return self._round.typical

    def critic(self, lanes: Tensor | None = None) -> Tensor:
        """As `Lanes.critic`."""
        here: Any = slice(None) if lanes is None else lanes
        return self._critic(None)[self._games[here], self.seats()[here]]

    def legal(self) -> Tensor:
        """As `Lanes.legal`."""
        return self._round.masks[self._games, self.seats()]

    def alive(self) -> Tensor:
        """As `Lanes.alive`: not out, and the learner's own in the present game."""
        here = self._games, self.seats()
        return torch.as_tensor(self.engine.alive)[here] & self._mine()[here]

    def decided(self) -> Tensor | None:
        """As `Lanes.decided`."""
        return torch.as_tensor(self.engine.deciding)[self._games, self.seats()] if self.game.seats_wait else None

    def joint(self, actions: Tensor) -> Tensor:
        """As `Lanes.joint`, (N, P, H): opponents choose; seats that are out or wait play their first legal action."""
        deciding, valid = torch.as_tensor(self.engine.deciding), self.alive()
        shape = (*deciding.shape, len(self.facts.heads))
        everyone = bool(deciding.all())
        joint = actions.new_zeros(shape) if everyone else neutral(self._round.masks, self.facts.head_sizes)
        games, chairs = self._games[valid], self.seats()[valid]
        joint[games, chairs] = actions[valid]
        waiting = deciding.clone()
        waiting[games, chairs] = False
        games, chairs = waiting.nonzero(as_tuple=True)
        assert self.generator is not None
        for name, its in self._by_opponent(games):
            at, seats = games[its], chairs[its]
            joint[at, seats] = self.cast.actor(name).choose(self._round, at, at, seats, self.generator)
        return joint

    def used(self, joint: Tensor) -> Tensor | None:
        """As `Lanes.used`."""
        if not self.game.tells_used:
            return None
        return torch.as_tensor(self.engine.used(on_engine(joint)))[self._games, self.seats()]

    def play(self, joint: Tensor) -> Array:
        """As `Lanes.play`: the rewards of this round."""
        self.engine.step(on_engine(joint))
        return self.engine.rewards

    def ends(self) -> tuple[Tensor, Tensor]:
        """As `Lanes.ends`: a seat that is out is terminated before its game, which may then be truncated."""
        settled = torch.as_tensor(self.engine.seat_terminated)[self._games, self.seats()]
        truncated = torch.as_tensor(self.engine.truncated & ~self.engine.terminated)
        return settled, truncated[self._games]

    def rewards(self, rewards: Tensor) -> Tensor:
        """As `Lanes.rewards`."""
        return rewards[self._games, self.seats()]

    def memory(self, memory: Tensor) -> Tensor:
        """As `Lanes.memory`."""
        return memory[self._games, self.seats()]

    def start(self, rows: Array | None = None) -> None:
        """As `Lanes.start`."""
        rows = np.arange(self.engine.num_games) if rows is None else rows
        self._assign(rows)
        self.engine.reset(rows)
        self.cast.forget(rows)


class TurnLanes(_Matches, SelfPlayLanes):
    """Of a game in which seats take turns: a lane is a game up to the learner's next turn, whichever of its seats has it."""

    def __init__(
        self, game: Game, engine: Engine, me: str, matches: OpenMatches, entrant: Callable[[str], Entrant]
    ) -> None:
        super().__init__(game, engine, me, matches, entrant)
        self._early = torch.zeros(engine.num_games, self.facts.players, device=self.device)
        """Rewards of moves before the learner's first one, (N, P)."""

    def begin(self) -> None:
        """As `Lanes.begin`: opponents take up their current weights."""
        self.cast.prepare(self._playing(), Seats(self.engine).typical)

    def play(self, joint: Tensor) -> Array:
        """As `Lanes.play`: with those of the opponents' moves that follow."""
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
        while True:
            to_move = self.seats()
            its = (to_move >= 0) & ~mine.gather(1, to_move.clamp(min=0).unsqueeze(1)).squeeze(1)
            games = its.nonzero().squeeze(1)
            if not len(games):
                return rewards
            rows, chairs = on_host(games), to_move[games]
            seen, actions = Seats(self.engine, rows), games.new_zeros(len(games), len(self.facts.heads))
            for name, here in self._by_opponent(games):
                at = here.nonzero().squeeze(1)
                actions[at] = self.cast.actor(name).choose(seen, at, games[at], chairs[at], self.generator)
            self._tell(games, chairs, actions)
            self.engine.step(played(actions), rows)
            rewards += torch.as_tensor(self.engine.rewards)

    def _tell(self, games: Tensor, chairs: Tensor, actions: Tensor) -> None:
        """Tell opponents, and the sampler, of moves about to be made."""
        for name, here in self._by_opponent(games):
            if name != self.me:
                self.cast.actor(name).notice(games[here], chairs[here], actions[here])
        if self._listener is not None:
            self._listener(on_host(games), on_host(chairs), on_host(played(actions)))

    def start(self, rows: Array | None = None) -> None:
        """As `Lanes.start`, up to the learner's first turn. Games that end before it count, and others are started.

        Raises:
            OptionError: the learner never comes to move.
        """
        rows = np.arange(self.engine.num_games) if rows is None else rows
        for _ in range(MOST_STARTS):
            self._assign(rows)
            self.engine.reset(rows)
            for name in self._playing():
                if name != self.me:
                    self.cast.actor(name)  # before the first move, of which it may want to be told
            self.cast.forget(rows)
            self._early[torch.as_tensor(rows, device=self.device)] = 0
            self._early += self._play_others()
            over = on_host(self.over())[rows]
            rows = rows[over]
            if not len(rows):
                return
            self.close(rows, self.results(on_host(self._early))[rows], np.zeros(len(rows), np.int64))
        raise OptionError(
            f"{self.game.name}: {self.me} did not come to move in {MOST_STARTS} games against {self.names}; choose another game"
        )

    def state(self) -> dict[str, Tensor]:
        """As `Lanes.state`."""
        return super().state() | {"early": self._early}

    def restore(self, state: Mapping[str, Tensor]) -> bool:
        """As `Lanes.restore`."""
        self._early = state["early"].clone().to(self.device)
        return super().restore(state)


def make_league_lanes(
    game: Game, engine: Engine, me: str, matches: OpenMatches, entrant: Callable[[str], Entrant]
) -> Lanes:
    """The lanes of the learner `me`; see `RoundLanes` and `TurnLanes`."""
    kind = RoundLanes if game.facts.simultaneous else TurnLanes
    return kind(game, engine, me, matches, entrant)
