"""`LeagueSampler`: plays a learner's games against whom the coordinator assigns, and records the learner's decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludory.agents.networks.policy import Policy
from ludory.agents.networks.privileged_value import PrivilegedValue
from ludory.agents.networks.sampling import sample_heads
from ludory.algorithms.player import LanePlayer
from ludory.algorithms.rollout import Rollout, pack_bits
from ludory.algorithms.sampler import EpisodeStats
from ludory.algorithms.shaping import Shaping
from ludory.envs.engine import Engine, on_host

from .cast import NETWORK, Actor, Entrant, Seats, make_actor, neutral
from .matches import OpenMatches

MEMORY = "memory_of_opponent"
"""Prefix of what opponents remember, in a checkpoint; before agents' memories were kept there, those of networks had another one."""
OLD_MEMORY = "memory_of"


def _memories(state: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """What opponents remember, by name."""
    found: dict[str, dict[str, Tensor]] = {}
    for key, memory in state.items():
        prefix, _, rest = key.partition("/")
        part, _, name = rest.partition("/") if prefix == MEMORY else (NETWORK, "", rest)
        if prefix in (MEMORY, OLD_MEMORY):
            found.setdefault(name, {})[part] = memory
    return found


class _Columns(NamedTuple):
    """Where decisions are recorded: column b is a seat of game games[b], `offset` seats after its home player's."""

    games: Tensor  # (B,)
    offset: Tensor  # (B,)


class _Row(NamedTuple):
    """One round of all columns."""

    observations: Tensor
    masks: Tensor
    actions: Tensor
    log_probs: Tensor
    values: Tensor
    cut_values: Tensor
    rewards: Tensor
    terminated: Tensor
    truncated: Tensor
    seats: Tensor
    starts: Tensor
    valid: Tensor
    used: Tensor | None
    teacher_logits: Tensor | None
    critic: Tensor | None


class LeagueSampler:
    """Takes the place of an algorithm's sampler. N games, P seats, B columns.

    A column is the home player's seat in one game after another; games of the learner against itself have a column for
    every seat. Decisions of others are not recorded.

    Args:
        engine: a batch of a game in which all seats move at once.
        player: id of the learner.
        matches: source of opponents.
        entrant: the network or agent behind an id.
        critic: a value function that takes the place of the policy's own.
        shaping: rewards for progress; results of games do not know of them.
    """

    def __init__(
        self,
        engine: Engine,
        player: str,
        matches: OpenMatches,
        entrant: Callable[[str], Entrant],
        critic: PrivilegedValue | None = None,
        shaping: Shaping | None = None,
    ) -> None:
        self.engine, self.me, self.matches, self._entrant = engine, player, matches, entrant
        self.critic, self._shaping = critic, shaping
        games, seats = engine.num_games, engine.facts.players
        self.player, self.teacher = LanePlayer(games, seats), LanePlayer(games, seats)
        self._actors: dict[str, Actor] = {}
        self._names: list[str] = []  # opponents that ever played, by code
        self._match = np.full(games, -1)
        self._home = torch.zeros(games, dtype=torch.int64)
        self._away = torch.zeros(games, dtype=torch.int64)  # code of the opponent
        self._fresh = torch.ones(games, seats, dtype=torch.bool)
        self._returns, self._lengths = np.zeros(games), np.zeros(games, np.int64)
        self._decisions = 0
        self.started = False

    @property
    def decisions_per_step(self) -> int:
        """Decisions of the learner in the last round."""
        return self._decisions

    @property
    def last_step(self) -> dict[str, Any]:
        """What callbacks may ask of the last step: `dones` (N,) bool, the game ended."""
        return {"dones": self._lengths == 0}

    def state(self) -> dict[str, Tensor]:
        """With the engine's state, all that a resumed run needs."""
        known: dict[str, Tensor | None] = {
            "matches": self.matches.state(),
            "match": torch.from_numpy(self._match),
            "home": self._home,
            "fresh": self._fresh,
            "returns": torch.from_numpy(self._returns),
            "lengths": torch.from_numpy(self._lengths),
            "memory": self.player.memory,
            "teacher_memory": self.teacher.memory,
        }
        for name, actor in self._actors.items():
            known |= {f"{MEMORY}/{part}/{name}": memory for part, memory in actor.state().items()}
        return {name: tensor for name, tensor in known.items() if tensor is not None}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take up what `state` gave."""
        self.matches.restore(state["matches"])
        self._match, self._home = state["match"].numpy().copy(), state["home"].clone()
        self._fresh = state["fresh"].clone()
        self._returns, self._lengths = state["returns"].numpy().copy(), state["lengths"].numpy().copy()
        self.player.memory, self.teacher.memory = state.get("memory"), state.get("teacher_memory")
        self._away = torch.tensor([self._code(self.matches.away(int(match))) for match in self._match])
        for name, memories in _memories(state).items():
            self._actors[name] = make_actor(self._entrant(name), self.engine)
            self._actors[name].restore(memories)
        if self._shaping is not None:
            self._shaping.forget(np.arange(self.engine.num_games))
        self.started = True

    @torch.no_grad()
    def collect(
        self,
        policy: Policy,
        steps: int,
        generator: torch.Generator,
        on_step: Callable[[], bool] | None = None,
        teacher: Policy | None = None,
    ) -> tuple[Rollout | None, EpisodeStats]:
        """Play `steps` rounds of every game; as `ludory.algorithms.sampler.Sampler.collect`."""
        if not self.started:
            self._begin(np.arange(self.engine.num_games))
            self.started = True
        seats = Seats(self.engine)
        like = seats.observations[:, 0]
        self._prepare(policy, teacher, like)
        columns = self._columns()
        memory = None if self.player.memory is None else self.player.memory[columns.games, self._chairs(columns)]
        rows: list[_Row] = []
        ended: list[tuple[Any, Any]] = []
        for _ in range(steps):
            row, done = self._round(policy, teacher, seats, columns, generator)
            rows.append(row)
            ended.append(done)
            seats = Seats(self.engine)
            if on_step is not None and not on_step():
                return None, _stats(ended)
        last = self._values(seats, columns.games, self._chairs(columns))
        return _assemble(rows, last, memory), _stats(ended)

    def _prepare(self, policy: Policy, teacher: Policy | None, like: Tensor) -> None:
        self.player.prepare(policy, like)
        if teacher is not None:
            self.teacher.prepare(teacher, like)
        self._like = like
        playing = {self._names[code] for code in self._away.unique().tolist()}
        for name, actor in list(self._actors.items()):
            if name not in playing or actor.entrant is not self._entrant(name):  # gone, or started anew
                del self._actors[name]
        for name in sorted(playing):
            if name in self._actors:
                self._actors[name].prepare(like)

    def _actor(self, name: str) -> Actor:
        """Who plays as `name`, taken up when first asked for."""
        if name not in self._actors:
            self._actors[name] = make_actor(self._entrant(name), self.engine)
            self._actors[name].prepare(self._like)
        return self._actors[name]

    def _code(self, name: str) -> int:
        if name not in self._names:
            self._names.append(name)
        return self._names.index(name)

    def _columns(self) -> _Columns:
        """The home seats of all games, and the other seats of those that the learner plays against itself."""
        seats, alone = self.engine.facts.players, self._against_itself()
        own = torch.ones(self.engine.num_games, seats, dtype=torch.bool)
        own[:, 1:] = alone.unsqueeze(1)
        offset, games = own.T.nonzero(as_tuple=True)
        return _Columns(games, offset)

    def _against_itself(self) -> Tensor:
        return self._away == (self._names.index(self.me) if self.me in self._names else -1)

    def _chairs(self, columns: _Columns) -> Tensor:
        return (self._home[columns.games] + columns.offset) % self.engine.facts.players

    def _round(
        self,
        policy: Policy,
        teacher: Policy | None,
        seats: Seats,
        columns: _Columns,
        generator: torch.Generator,
    ) -> tuple[_Row, tuple[Any, Any]]:
        engine, games, chairs = self.engine, columns.games, self._chairs(columns)
        alive = torch.as_tensor(engine.alive)
        valid = alive[games, chairs] & ((columns.offset == 0) | self._against_itself()[games])
        observation, mask = seats.observations[games, chairs], seats.masks[games, chairs]
        output = self.player.decide(observation, games, chairs)
        known = self._known()
        known = None if known is None else known[games, chairs]
        values = output.values if known is None else self._judge(known)
        lesson = None if teacher is None else self.teacher.decide(observation, games, chairs).logits
        chosen, log_probs = sample_heads(output.logits, mask, policy.head_sizes, generator)
        starts = self._fresh[games, chairs]
        self._fresh[:] = False

        deciding = torch.as_tensor(engine.deciding)
        everyone = bool(deciding.all())
        shape = (*alive.shape, len(engine.facts.heads))
        actions = torch.zeros(shape, dtype=torch.int64) if everyone else neutral(seats.masks, engine.facts.head_sizes)
        actions[games[valid], chairs[valid]] = chosen[valid]
        waiting = deciding.clone()
        waiting[games[valid], chairs[valid]] = False
        self._let_others_choose(seats, waiting, actions, generator)
        used = torch.as_tensor(engine.used(actions.numpy()))[games, chairs]
        engine.step(actions.numpy())

        rewards, settled = torch.as_tensor(engine.rewards), torch.as_tensor(engine.seat_terminated)
        truncated = torch.as_tensor(engine.truncated & ~engine.terminated)
        row = _Row(
            observation,
            pack_bits(mask),
            chosen,
            log_probs,
            values,
            self._cut_values(columns, chairs, truncated, values),
            self._shaped(rewards)[games, chairs],
            settled[games, chairs],
            truncated[games],
            chairs,
            starts,
            valid,
            used,
            lesson,
            known,
        )
        self._decisions = int(valid.sum())
        return row, self._close(on_host(engine.rewards))

    def _let_others_choose(self, seats: Seats, waiting: Tensor, actions: Tensor, generator: torch.Generator) -> None:
        """Fill in `actions` (N, P, H) of the seats `waiting` (N, P)."""
        games, chairs = waiting.nonzero(as_tuple=True)
        codes = self._away[games]
        # All draw from one generator: in an order that a resumed run, which counts opponents anew, has too.
        for name, code in sorted((self._names[code], code) for code in codes.unique().tolist()):
            mine, actor = codes == code, self._actor(name)
            actions[games[mine], chairs[mine]] = actor.choose(seats, games[mine], games[mine], chairs[mine], generator)

    def _cut_values(self, columns: _Columns, chairs: Tensor, truncated: Tensor, like: Tensor) -> Tensor:
        """Values of the final observations in games that an outside limit ended, 0 elsewhere."""
        values = torch.zeros_like(like)
        here = truncated[columns.games].nonzero().squeeze(1)
        if len(here):
            values[here] = self._values(Seats(self.engine), columns.games[here], chairs[here])
        return values

    def _known(self) -> Tensor | None:
        """What the privileged value sees, (N, P, bytes or size); None without one."""
        if self.critic is None:
            return None
        bits = self.engine.facts.critic_spec.bits
        seen = torch.as_tensor(self.engine.critic(packed=bits))
        return seen if bits else seen.float()

    def _judge(self, known: Tensor) -> Tensor:
        assert self.critic is not None
        values: Tensor = self.critic(known)
        return values.float()

    def _values(self, seats: Seats, games: Tensor, chairs: Tensor) -> Tensor:
        """Values of decisions to come."""
        known = self._known()
        if known is not None:
            return self._judge(known[games, chairs])
        return self.player.look(seats.observations[games, chairs], games, chairs).values

    def _shaped(self, rewards: Tensor) -> Tensor:
        """(N, P): rewards to learn from."""
        return rewards if self._shaping is None else rewards + self._shaping.gains(rewards)

    def _close(self, rewards: Any) -> tuple[Any, Any]:
        """Count what ended and start the next games there; gives returns and lengths of the home players."""
        self._returns += rewards[np.arange(len(rewards)), self._home.numpy()]
        self._lengths += 1
        done = np.flatnonzero(self.engine.terminated | self.engine.truncated)
        ended = self._returns[done], self._lengths[done]
        for game, total, length in zip(done, *ended, strict=True):
            self.matches.end_game(int(self._match[game]), "w" if total > 0 else "l" if total < 0 else "d", int(length))
        if len(done):
            self._begin(done)
        return ended

    def _begin(self, rows: Any) -> None:
        for game in rows:
            assignment, seat = self.matches.start_game(self.engine.facts.players)
            self._match[game], self._home[game] = assignment.match, seat
            self._away[game] = self._code(assignment.away)
        self._returns[rows], self._lengths[rows] = 0, 0
        self._fresh[torch.as_tensor(rows)] = True
        self.engine.reset(rows)
        if self._shaping is not None:
            self._shaping.forget(rows)
        followers: tuple[LanePlayer | Actor, ...] = (self.player, self.teacher, *self._actors.values())
        for follower in followers:
            follower.forget(rows)


def _assemble(rows: list[_Row], last: Tensor, memory: Tensor | None) -> Rollout:
    moves = _Row(*(None if part[0] is None else torch.stack(part) for part in zip(*rows, strict=True)))  # type: ignore[arg-type]
    following = torch.cat([moves.values[1:], last.unsqueeze(0)])
    return Rollout(
        moves.observations,
        moves.masks,
        moves.actions,
        moves.log_probs,
        moves.values,
        torch.where(moves.truncated, moves.cut_values, following),
        moves.rewards,
        moves.terminated,
        moves.truncated,
        moves.seats,
        moves.starts,
        moves.valid,
        memory,
        moves.teacher_logits,
        used=moves.used,
        critic=moves.critic,
    )


def _stats(ended: list[tuple[Any, Any]]) -> EpisodeStats:
    return EpisodeStats(np.concatenate([r for r, _ in ended]), np.concatenate([n for _, n in ended]))
