"""`SpreadSampler`: shares of a batch of games are played by workers, which send what they played to the learner."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludory.agents import Policy, build_policy
from ludory.algorithms.running.threads import one_thread
from ludory.cluster.workers import Actor, Pending, Workers
from ludory.errors import LostWorkerError

from .privileged import load_value, make_privileged_value, save_value
from .rollout import Rollout
from .sampler import EpisodeStats, Played, Sampler, assembled, stats_of
from .shares import Arrays, DividedSampler, Share, games_of, rows_of, share_sampler, tensors_of
from .teacher import load_teacher

LOG = logging.getLogger("ludory.sampling")
MOST_LOSSES = 20
"""Workers that one share may lose in one rollout before the training ends."""


class Order(NamedTuple):
    """What a share is to play."""

    steps: int
    generator: np.ndarray[Any, Any]
    """State of the generator before."""
    lockstep: bool
    """Draw as one process does that plays all games: the numbers of all lanes, of which the share uses its own."""
    games: tuple[Arrays, Arrays] | None
    """State of engine and sampler to begin with; None: as they are."""
    typical: np.ndarray[Any, Any] | None
    """Observations that are typical of all games; None: the share's own."""


class Returned(NamedTuple):
    """What a share played, and all that another worker needs to go on from there."""

    columns: dict[str, np.ndarray[Any, Any] | None]
    last: np.ndarray[Any, Any]
    memory: np.ndarray[Any, Any] | None
    ended: list[tuple[Any, Any, Any]]
    generator: np.ndarray[Any, Any]
    games: tuple[Arrays, Arrays]
    observation: np.ndarray[Any, Any]
    """Of the decisions to come."""


class SharePlayer:
    """Plays a share; lives with a worker.

    Args:
        share: which games.
    """

    def __init__(self, share: Share) -> None:
        self._sampler = share_sampler(share)
        game, device = self._sampler.engine.game, torch.device("cpu")
        self._policy = build_policy(share.policy, game.facts).eval()
        self._teacher = load_teacher(share.teacher, game, device).policy if share.teacher else None
        if getattr(share.config, "privileged_value", False):
            self._sampler.critic = make_privileged_value(share.config, game.facts, device)

    @torch.no_grad()
    def play(self, weights: Mapping[str, np.ndarray[Any, Any]], order: Order) -> Returned:
        """Play with these weights."""
        sampler = self._sampler
        tensors = tensors_of(weights)
        self._policy.load_state_dict({name: tensors[name] for name in self._policy.state_dict()})
        load_value(sampler.critic, tensors)
        if order.games is not None:
            fields, state = order.games
            sampler.engine.load_fields(fields, check=False)
            sampler.restore(tensors_of(state))
        sampler.lockstep = order.lockstep
        sampler.given = None if order.typical is None else torch.from_numpy(np.array(order.typical))
        generator = torch.Generator()
        generator.set_state(torch.from_numpy(np.array(order.generator)))
        with one_thread():
            played = sampler.play(self._policy, order.steps, generator, teacher=self._teacher)
        return Returned(
            {name: None if part is None else part.numpy() for name, part in played.columns.items()},
            played.last.numpy(),
            None if played.memory is None else played.memory.numpy(),
            played.ended,
            generator.get_state().numpy(),
            games_of(sampler),
            sampler.lanes.observe().numpy(),
        )


class SpreadSampler(DividedSampler):
    """A sampler whose games are played by workers, in shares of the batch.

    In lockstep all shares play with the same weights and the same numbers as one process draws: the rollout is that of one process. Else
    each share plays on by itself with the newest weights that there were when it began; a rollout is what one share played, and
    `version` says how old its weights are. A share whose worker is lost goes on elsewhere from its last rollout.

    Args:
        sampler: of this process, whose games are the ones to play.
        workers: who plays.
        shares: what they play.
        lockstep: see above.
    """

    def __init__(self, sampler: Sampler, workers: Workers, shares: Sequence[Share], lockstep: bool) -> None:
        super().__init__(sampler)
        self._workers, self._shares, self._lockstep = workers, list(shares), lockstep
        self._actors: list[Actor | None] = [None] * len(shares)
        self._generators: list[np.ndarray[Any, Any]] = []
        self._waiting: dict[int, tuple[Pending, Any, Order, int]] = {}
        self._typical: np.ndarray[Any, Any] | None = None
        self.lost = 0
        """Workers lost so far."""

    def restore(self, state: dict[str, Tensor]) -> None:
        """As `Sampler.restore`; what is being played is dropped."""
        self._inner.restore(state)
        self.started = self._inner.started
        self._games, self._waiting = [], {}

    def close(self) -> Sampler:
        """Copy the games into this process, and free the workers; returns the sampler that plays them here."""
        self.settle()
        for actor in self._actors:
            if actor is not None:
                actor.close()
        self._actors, self._games, self._waiting = [None] * len(self._shares), [], {}
        return self._inner

    def collect(
        self,
        policy: Policy,
        steps: int,
        generator: torch.Generator,
        on_step: Callable[[], bool] | None = None,
        teacher: Policy | None = None,
        version: int = 0,
    ) -> tuple[Rollout | None, EpisodeStats]:
        """As `Sampler.collect`; `on_step` is called for every step when all have been played."""
        if not self._games:
            self._divide(policy, teacher, generator)
        weights = policy.state_dict() | save_value(self.critic)
        shared = self._workers.share({name: tensor.detach().cpu().numpy().copy() for name, tensor in weights.items()})
        play = self._in_lockstep if self._lockstep else self._first_done
        played = play(shared, steps, generator, version)
        if on_step is not None and not self._tell(played, on_step):
            return None, stats_of(played)
        return assembled(played, self.lanes), stats_of(played)

    def _divide(self, policy: Policy, teacher: Policy | None, generator: torch.Generator) -> None:
        """Divide the games of this process among the shares."""
        self._inner.begin(policy, teacher)
        self.started = True
        fields, state = games_of(self._inner)
        games = self.engine.num_games
        self._games = [
            tuple(rows_of(part, share.start, share.stop, games) for part in (fields, state))  # type: ignore[misc]
            for share in self._shares
        ]
        self._typical = self.lanes.observe().numpy().copy()
        count = 0 if self._lockstep else len(self._shares)
        seeds = torch.randint(1 << 62, (count,), generator=generator).tolist() if count else []
        self._generators = [torch.Generator().manual_seed(seed).get_state().numpy() for seed in seeds]
        self._actors = [None] * len(self._shares)

    def _in_lockstep(self, weights: Any, steps: int, generator: torch.Generator, version: int) -> Played:
        """What all shares play with these weights."""
        state = generator.get_state().numpy()
        for number in range(len(self._shares)):
            self._hand_out(number, weights, Order(steps, state, True, None, self._typical), version)
        found = [self._result(number) for number in range(len(self._shares))]
        generator.set_state(torch.from_numpy(np.array(found[0].generator)))
        self._typical = np.concatenate([one.observation for one in found])
        self.version = version
        return _together(found, [share.start for share in self._shares])

    def _first_done(self, weights: Any, steps: int, generator: torch.Generator, version: int) -> Played:
        """What the first share to finish has played, with the weights that there were; it goes on with these."""
        for number in range(len(self._shares)):
            if number not in self._waiting:
                self._hand_out(number, weights, Order(steps, self._generators[number], False, None, None), version)
        numbers = list(self._waiting)
        number = numbers[self._workers.first([self._waiting[one][0] for one in numbers])]
        self.version = self._waiting[number][3]
        found = self._result(number)
        self._generators[number] = found.generator
        self._hand_out(number, weights, Order(steps, found.generator, False, None, None), version)
        return _together([found], [self._shares[number].start])

    def _hand_out(self, number: int, weights: Any, order: Order, version: int) -> None:
        """Let a share play; one without a worker gets one, and its games."""
        actor, sent = self._actors[number], order
        if actor is None:
            actor = self._actors[number] = self._workers.actor(SharePlayer, self._shares[number])
            sent = order._replace(games=self._games[number])
        self._waiting[number] = actor.call("play", weights, sent), weights, order, version

    def _result(self, number: int) -> Returned:
        """What a share has played; waits, and starts it again elsewhere as often as its worker is lost."""
        for _ in range(MOST_LOSSES):
            pending, weights, order, version = self._waiting.pop(number)
            try:
                found: Returned = pending.result()
            except LostWorkerError as error:
                self.lost += 1
                LOG.warning("share %d of the games lost its worker (%s) and goes on elsewhere", number, error)
                self._actors[number] = None
                self._hand_out(number, weights, order, version)
                continue
            self._games[number] = found.games
            return found
        raise LostWorkerError(
            f"share {number} of the games lost {MOST_LOSSES} workers in one rollout; give more, smaller shares"
        )


def _together(found: Sequence[Returned], starts: Sequence[int]) -> Played:
    """What shares have played, side by side."""
    columns = {
        name: None if part is None else torch.from_numpy(np.concatenate([one.columns[name] for one in found], axis=1))
        for name, part in found[0].columns.items()
    }
    memory = None if found[0].memory is None else np.concatenate([one.memory for one in found])
    ended = []
    for step in range(len(found[0].ended)):
        parts = [(start + one.ended[step][0], *one.ended[step][1:]) for start, one in zip(starts, found, strict=True)]
        ended.append(tuple(np.concatenate(part) for part in zip(*parts, strict=True)))
    last = torch.from_numpy(np.concatenate([one.last for one in found]))
    return Played(columns, last, None if memory is None else torch.from_numpy(memory), ended)  # type: ignore[arg-type]
