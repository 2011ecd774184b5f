"""`Sampler`: plays games with a policy and records every decision. Observations go from the engine to the network as bits, on its device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludory.agents.networks.policy import Policy
from ludory.algorithms.running.threads import precise
from ludory.algorithms.sampling.privileged import PrivilegedValue
from ludory.envs.engine.protocol import on_host

from .lanes import Lanes
from .policy_runner import PolicyRunner
from .rollout import Rollout, acting_rows, own_rewards, pack_bits
from .shaping import Shaping
from .step_locals import EpisodeBuffer, StepLocals


class EpisodeStats(NamedTuple):
    """Games that ended during a rollout."""

    returns: np.ndarray[Any, Any]  # (games,) return of the learner's seat
    lengths: np.ndarray[Any, Any]  # (games,) moves of the learner

    def metrics(self) -> dict[str, float]:
        """Mean return and length, under the names of Stable-Baselines3; empty if no game ended."""
        if not len(self.returns):
            return {}
        means = float(self.returns.mean()), float(self.lengths.mean())
        return dict(zip(("rollout/ep_rew_mean", "rollout/ep_len_mean"), means, strict=True))


class Played(NamedTuple):
    """What was played, before it is a `Rollout`: T steps of all lanes."""

    columns: dict[str, Tensor | None]  # [T, lanes, ...] each
    last: Tensor  # (lanes,) values after the last step
    memory: Tensor | None
    ended: list[tuple[Any, Any, Any]]  # by step: games that ended, their returns and lengths


class Sampler:
    """Plays a batch of games with one policy.

    Args:
        lanes: the policy's decisions.
        precision: "float32" or "bf16", of the network's arithmetic.
        shaping: training rewards for progress; returns of games do not include them.
    """

    critic: PrivilegedValue | None = None
    """A value function that replaces the policy's own; rollouts then contain its input."""
    version = 0
    """Version of the weights that played the last rollout."""
    watched = False
    """Whether callbacks may read `last_step`, which is made for them only."""

    def __init__(self, lanes: Lanes, precision: str = "float32", shaping: Shaping | None = None) -> None:
        self.lanes, self.engine, self._shaping = lanes, lanes.engine, shaping
        games, players = self.engine.num_games, lanes.facts.players
        self.player, self.teacher = (PolicyRunner(games, players, precision) for _ in range(2))
        device = torch.as_tensor(self.engine.to_move).device
        self._returns: Any = np.zeros(games)
        self._lengths: Any = np.zeros(games, np.int64)
        if device.type != "cpu":  # where the rewards are
            self._returns, self._lengths = (torch.as_tensor(x, device=device) for x in (self._returns, self._lengths))
        self._fresh = torch.ones(games, players, dtype=torch.bool, device=device)
        self._decisions = len(lanes.games)
        self.started = False
        self.episodes = EpisodeBuffer()
        """The games that ended last."""
        self._step_locals = StepLocals(lanes)
        self._last_step: dict[str, Any] = {}

    def compute_in(self, precision: str) -> None:
        """Let the networks compute in "float32" or "bf16" from the next rollout on."""
        for runner in (self.player, self.teacher):
            runner.compute_in(precision)

    def _notice(self, rows: Any, seats: Any, actions: Any) -> None:
        self.player.observe_action(rows, seats, actions)
        self.teacher.observe_action(rows, seats, actions)

    def start(self) -> None:
        """Start all games."""
        self._begin(np.arange(self.engine.num_games))
        self.started = True

    @property
    def decisions_per_step(self) -> int:
        """Timesteps of the last step of all games: its lanes without those of seats that are out or wait."""
        return self._decisions

    @property
    def last_step(self) -> dict[str, Any]:
        """The last step as callbacks of Stable-Baselines3 read it, if it is `watched`; see `StepLocals`.

        `actions`, `rewards` (N,) float32 without shaping, `dones` (N,) bool, `new_obs` (N, *shape), and `infos`, a dict for each of the N
        games: with `episode`, `terminal_observation` and `TimeLimit.truncated` where one ended. Where every seat of a game decides
        at once, actions and observations have the seats as second axis, and rewards are those of seat 0.
        """
        return self._last_step

    def state(self) -> dict[str, Tensor]:
        """Running sums and memories of unfinished games, including other players'; with the engine's state, all that a resumed run needs."""
        parts = {
            "returns": torch.as_tensor(self._returns),
            "lengths": torch.as_tensor(self._lengths),
            "fresh": self._fresh,
            "memory": self.player.memory,
            "teacher_memory": self.teacher.memory,
            "previous": self.player.previous,
            "teacher_previous": self.teacher.previous,
        }
        return {name: tensor for name, tensor in parts.items() if tensor is not None} | self.lanes.state()

    def restore(self, state: dict[str, Tensor]) -> None:
        """Restore what `state` returned; if players of other seats cannot continue their games, the next rollout starts new ones."""
        if not self.lanes.restore(state):
            return
        self._returns[:], self._lengths[:] = state["returns"], state["lengths"]
        self._fresh = state["fresh"].to(self._fresh.device)
        self.player.memory, self.teacher.memory = state.get("memory"), state.get("teacher_memory")
        self.player.previous, self.teacher.previous = state.get("previous"), state.get("teacher_previous")
        if self._shaping is not None:
            # progress is not in the state: shaping begins anew
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
        version: int = 0,
    ) -> tuple[Rollout | None, EpisodeStats]:
        """Play `steps` decisions in every lane.

        `on_step` is called after each; if it returns False, sampling stops and there is no rollout. A `teacher` sees the same
        decisions with its own memory; the rollout then contains its logits. `version` counts changes of the weights.
        """
        self.version = version
        found = self.play(policy, steps, generator, on_step, teacher)
        return (assembled(found, self.lanes) if len(found.ended) == steps and found.columns else None), stats_of(found)

    def begin(self, policy: Policy, teacher: Policy | None = None) -> None:
        """Start all games, unless they run."""
        if not self.started:
            self.player.expect(policy)
            if teacher is not None:
                self.teacher.expect(teacher)
            self.start()

    def play(
        self,
        policy: Policy,
        steps: int,
        generator: torch.Generator,
        on_step: Callable[[], bool] | None = None,
        teacher: Policy | None = None,
    ) -> Played:
        """As `collect`, before returns are known; without columns if sampling was stopped."""
        # moves are told to networks only if one of them asks for the last moves: it costs a pass over the seats
        told = [network for network in (policy, teacher) if network is not None and network.uses_previous]
        self.lanes.listen(self._notice if told else None)
        self.lanes.generator = generator
        self.begin(policy, teacher)
        moves: list[dict[str, Tensor | None]] = []
        ended: list[tuple[Any, Any, Any]] = []
        self.lanes.begin()
        games, observation = self.lanes.games, self.lanes.observe()
        typical = self.typical(observation)
        self.player.prepare(policy, typical)
        if teacher is not None:
            self.teacher.prepare(teacher, typical)
        memory = None if self.player.memory is None else self.lanes.memory(self.player.memory)
        for _ in range(steps):
            mask, seats, valid = self.lanes.legal(), self.lanes.seats(), self.lanes.alive()
            decided = self.lanes.decided()
            acting = acting_rows(valid, decided)
            self._decisions = len(seats) if acting is None else int(acting.sum())
            # read before the mark is removed: the row says whether this is the first decision of its seat in a game
            starts = self._fresh[games, seats]
            self._fresh[self.lanes.movers(seats)] = False
            output = self.player.step(observation, games, seats)
            teacher_logits = None if teacher is None else self.teacher.step(observation, games, seats).logits
            critic_input = None if self.critic is None else self.lanes.critic()
            values = output.values if critic_input is None else self._critic_values(critic_input)
            previous = self.player.told(games, seats)
            actions, log_probs = self.draw(policy, output.logits, mask, generator)
            joint = self.lanes.joint(policy.playable(actions))
            used = self.lanes.used(joint)
            foreseen = self.foresee(policy, joint, generator)
            rewards = self.lanes.play(joint)
            terminated, truncated = self.lanes.ends()
            # games that were truncated in this step, before they start anew
            cut = on_host(games[truncated].unique())
            # before `_close`, which replaces the final observation by the first of the next game
            cuts = self._cut_values(cut, values)
            # the shaped rewards are learnt from; `_close` counts the true ones
            recorded = self._recorded(rewards if self._shaping is None else rewards + self._shaping.gains(rewards))
            ended.append(self._close(self.lanes.over(), rewards))
            moves.append(
                {
                    "observations": observation,
                    "masks": pack_bits(mask),
                    "actions": actions,
                    "log_probs": log_probs,
                    "values": values,
                    "cut_values": cuts,
                    "rewards": recorded,
                    "terminated": terminated,
                    "truncated": truncated,
                    "seats": seats.clone(),
                    "starts": starts,
                    "valid": valid,
                    "teacher_logits": teacher_logits,
                    "used": used,
                    "critic": critic_input,
                    "previous": previous,
                    "decided": decided,
                }
                | foreseen
            )
            # one observation serves as input of the next step and as bootstrap of the last
            observation = self.lanes.observe()
            if self.watched:
                made = policy.playable(actions), rewards, cut, ended[-1][0], observation, self.episodes
                self._last_step = self._step_locals.made(*made)
            if on_step is not None and not on_step():
                return Played({}, torch.empty(0), None, ended)
        last = self._values(observation, games, self.lanes.seats())
        columns: dict[str, Tensor | None] = {
            name: None if first is None else torch.stack([move[name] for move in moves])  # type: ignore[misc]
            for name, first in moves[0].items()
        }
        return Played(columns, last, memory, ended)

    def typical(self, observation: Tensor) -> Tensor:
        """Observations like those to come, given those of all lanes."""
        return self.lanes.typical(observation)

    def draw(self, policy: Policy, logits: Tensor, mask: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Actions of all lanes and their log-probabilities; see `Policy.draw`."""
        return policy.draw(logits, mask, generator)

    def foresee(self, policy: Policy, joint: Tensor, generator: torch.Generator) -> dict[str, Tensor | None]:
        """Columns that replace what the games pay for actions about to be played, with `next_values`; none here."""
        return {}

    def settle(self) -> None:
        """Bring engine and `state` of this process up to date before they are saved; they always are where games run here."""

    def _critic_values(self, critic_input: Tensor) -> Tensor:
        assert self.critic is not None
        with precise(critic_input.device, self.player.precision):
            values: Tensor = self.critic(critic_input)
        return values.float()

    def _values(self, observation: Tensor, games: Tensor, seats: Tensor, lanes: Tensor | None = None) -> Tensor:
        """Values of the decisions to come, of all lanes or of some."""
        if self.critic is not None:
            return self._critic_values(self.lanes.critic(lanes))
        return self.player.peek(observation, games, seats).values

    def _cut_values(self, rows: Any, like: Tensor) -> Tensor:
        """Values of the final observations of truncated games, 0 elsewhere: (lanes,), or (N, P) where rewards are own."""
        lanes, games = self.lanes, torch.as_tensor(rows, device=like.device)
        if lanes.own_rewards:
            values = like.new_zeros(self.engine.num_games, lanes.facts.players)
            for seat in range(lanes.facts.players if len(rows) else 0):
                values[games, seat] = self._value_of_seat(seat, rows, games)
            return values
        values = torch.zeros_like(like)
        if len(rows):
            here = torch.isin(lanes.games, games).nonzero().squeeze(1)
            # a game that is over has no seat to move
            seats = lanes.seats()[here].clamp(min=0)
            values[here] = self._values(lanes.observe(here), lanes.games[here], seats, here)
        return values

    def _value_of_seat(self, seat: int, rows: Any, games: Tensor) -> Tensor:
        if self.critic is not None:
            return self._critic_values(self.lanes.critic_of_seat(seat, rows))
        return self.player.peek(self.lanes.observe_seat(seat, rows), games, torch.full_like(games, seat)).values

    def _recorded(self, rewards: Any) -> Tensor:
        """(lanes,), or (N, P) where rewards are own."""
        every = torch.tensor(rewards) if isinstance(rewards, np.ndarray) else rewards.clone()
        return self.lanes.rewards(every)

    def _close(self, over: Any, rewards: Any) -> tuple[Any, Any, Any]:
        """Start the next game where one is over; returns these games, their returns and lengths."""
        self._returns += self.lanes.results(rewards)
        self._lengths += 1
        done = np.flatnonzero(on_host(over))
        ended = done, on_host(self._returns[done]), on_host(self._lengths[done])
        self.episodes.add(*ended[1:])
        if len(done):
            if self.watched:
                self._step_locals.before_restart(done)
            self.lanes.close(*ended)
            self._begin(done)
        return ended

    def _begin(self, rows: Any) -> None:
        self._returns[rows], self._lengths[rows] = 0, 0
        where = torch.as_tensor(rows, device=self._fresh.device)
        self._fresh[where] = True
        self.player.reset(where)
        self.teacher.reset(where)
        self.lanes.start(rows)
        if self._shaping is not None:
            self._shaping.forget(rows)


def assembled(played: Played, lanes: Lanes) -> Rollout:
    """The rollout of what was played."""
    columns: dict[str, Any] = dict(played.columns)
    cut_values = columns.pop("cut_values")
    following = torch.cat([columns["values"][1:], played.last.unsqueeze(0)])
    if lanes.own_rewards:  # [T, N, P] for N lanes: no column of a rollout
        # rewards of all seats have another shape than a column; until they are assigned, values stand in for them
        rewards, columns["rewards"] = columns["rewards"], columns["values"]
        rollout = Rollout(**columns, next_values=following, memory=played.memory)
        return own_rewards(rollout, rewards, cut_values, lanes.facts.players)
    foreseen = columns.pop("next_values", None)
    next_values = torch.where(columns["truncated"], cut_values, following) if foreseen is None else foreseen
    return Rollout(**columns, next_values=next_values, memory=played.memory)


def stats_of(played: Played) -> EpisodeStats:
    """The games that ended, in the order in which they did."""
    return EpisodeStats(*(np.concatenate([one[part] for one in played.ended]) for part in (1, 2)))
