"""`VTrace`: the learner of V-trace and UPGO, and `SequenceReplay`, the sequences that it learns from more than once."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor
from typing_extensions import Unpack

from ludory.agents import Policy, PolicyOutput, PolicySpec
from ludory.agents.networks.layers.packed_linear import unpack
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.keywords import VTraceKeywords
from ludory.algorithms.losses.returns import Steps
from ludory.algorithms.running.optimiser_state import load_adam, make_adam, save_adam
from ludory.algorithms.running.ranks import MinibatchPart
from ludory.algorithms.running.threads import precise
from ludory.algorithms.sampling.privileged import load_value, make_privileged_value, save_value, values_of
from ludory.algorithms.sampling.rollout import Rollout, by_seat, seat_index
from ludory.algorithms.vtrace.loss import ActorCriticLoss, actor_critic_loss
from ludory.envs.make import EnvLike

from .config import VTraceConfig


@dataclass
class _Stored:
    rollout: Rollout | None  # None: used up; its place is kept, since it counts among those that are held
    uses: Tensor  # (B,) int64, on the CPU
    version: int


class ReplaySample(NamedTuple):
    """Columns of one rollout, and the version of the weights that sampled them."""

    rollout: Rollout
    version: int


class SequenceReplay:
    """The newest rollouts; every column is drawn `reuse` times, unless it gets too old.

    Args:
        rollouts: how many are kept.
        reuse: draws of each column.
        max_lag: versions that a rollout may be behind.
    """

    def __init__(self, rollouts: int, reuse: int, max_lag: int) -> None:
        self.rollouts, self.reuse, self.max_lag = rollouts, reuse, max_lag
        self.dropped = 0
        """Columns that were too old, or pushed out, before they had been used `reuse` times."""
        self._stored: list[_Stored] = []

    def add(self, rollout: Rollout, version: int) -> None:
        """Add a rollout; the oldest is removed when there are too many."""
        self._stored.append(_Stored(rollout, torch.zeros(rollout.starts.shape[1], dtype=torch.int64), version))
        while len(self._stored) > self.rollouts:
            self._leave(self._stored.pop(0))

    def draw(self, columns: int, version: int, generator: torch.Generator) -> ReplaySample | None:
        """Up to `columns` columns of one rollout, the least used first, at random among equals; None when all are used up."""
        for stored in [stored for stored in self._stored if version - stored.version > self.max_lag]:
            self._stored.remove(stored)
            self._leave(stored)
        left = [stored for stored in self._stored if (stored.uses < self.reuse).any()]
        if not left:
            return None
        which = int(torch.randint(len(left), (1,), generator=generator, device=generator.device))
        stored = left[which]
        noise = torch.rand(len(stored.uses), generator=generator, device=generator.device).cpu()
        order = (stored.uses + noise).argsort()
        chosen = order[: min(columns, int((stored.uses < self.reuse).sum()))]
        stored.uses[chosen] += 1
        assert stored.rollout is not None
        drawn = columns_of(stored.rollout, chosen.to(stored.rollout.starts.device))
        if (stored.uses >= self.reuse).all():
            stored.rollout = None
        return ReplaySample(drawn, stored.version)

    @property
    def full(self) -> bool:
        """Whether it holds as many rollouts as it keeps."""
        return len(self._stored) >= self.rollouts

    def state(self) -> dict[str, Tensor]:
        """Tensors of every rollout that still has columns to draw, and the use counts of the others."""
        state: dict[str, Tensor] = {}
        for k, stored in enumerate(self._stored):
            parts: dict[str, Tensor | None] = {"uses": stored.uses, "version": torch.tensor(stored.version)}
            parts |= {} if stored.rollout is None else stored.rollout._asdict()
            state |= {f"replay/{k}/{name}": part for name, part in parts.items() if part is not None}
        return state

    def restore(self, state: dict[str, Tensor], device: torch.device) -> None:
        """Restore what `state` returned."""
        self._stored = []
        while parts := {
            key.split("/")[2]: part for key, part in state.items() if key.startswith(f"replay/{len(self._stored)}/")
        }:
            uses, version = parts.pop("uses"), int(parts.pop("version"))
            rollout = Rollout(**{name: part.to(device) for name, part in parts.items()}) if parts else None
            self._stored.append(_Stored(rollout, uses, version))

    def uses(self) -> list[list[int]]:
        """Number of draws of each column of each rollout."""
        return [stored.uses.tolist() for stored in self._stored]

    def _leave(self, stored: _Stored) -> None:
        self.dropped += int((stored.uses < self.reuse).sum())


def columns_of(rollout: Rollout, columns: Tensor) -> Rollout:
    """Some columns of a rollout."""

    def part(name: str, value: Tensor | None) -> Tensor | None:
        return None if value is None else value[columns] if name == "memory" else value[:, columns]

    return Rollout(**{name: part(name, value) for name, value in rollout._asdict().items()})  # type: ignore[arg-type]


LOG = logging.getLogger("ludory.vtrace")


class VTrace(Algorithm):
    """Off-policy actor-critic on replayed sequences, with the options of `VTraceConfig`."""

    id = "vtrace-v1"
    splits_batches = True
    samples_in = "turns"
    config_class: ClassVar[type[VTraceConfig]] = VTraceConfig
    search_space: ClassVar[Mapping[str, str]] = {
        "learning_rate": "1e-4..3e-3",
        "c_entropy": "1e-4..3e-2",
        "gamma": "0.97,0.99,0.997,1.0",
        "vtrace_lam": "0.8,0.9,0.95,1.0",
        "num_envs": "64,256,1024",
        "n_steps": "16,32,64",
        "batch_columns": "32,128,512",
        "reuse": "1,2,4",
        "hidden": "64x64,128x128,256x256",
    }
    inputs: ClassVar[tuple[str, ...]] = ("init_from", "teacher")
    changeable: ClassVar[tuple[str, ...]] = ("devices",)
    teacher_weight = "c_kl"
    config: VTraceConfig

    def __init__(
        self, policy: str | PolicySpec = "auto", env: EnvLike | None = None, **config: Unpack[VTraceKeywords]
    ) -> None:
        super().__init__(policy, env, **self.config_class.with_preset(config))

    @property
    def _minibatch(self) -> tuple[int, int]:
        return self.config.n_steps, self.config.n_steps * self.config.batch_columns

    def setup(self) -> None:
        """Make the optimiser and the replay, and the privileged value if there is one."""
        config = self.config
        self.value = make_privileged_value(config, self.game.facts, self.device)
        self.sampler.critic = self.value
        self.parameters = [*self.policy.parameters(), *(self.value.parameters() if self.value else ())]
        self.optimizer = make_adam(self.parameters, config.learning_rate)
        self.replay = SequenceReplay(config.replay_rollouts, config.reuse, config.max_lag)
        self.version = 0
        """Gradient steps made."""
        # for the warm-up of the value: the same loss with all other terms off
        self.value_only = dataclasses.replace(config, c_pg=0.0, c_upgo=0.0, c_kl=0.0, c_entropy=0.0)

    def training_state(self) -> dict[str, Tensor]:
        """Adam's moments, the privileged value, the number of steps, and sequences that are still to be used."""
        steps = {"version": torch.tensor(self.version)}
        return save_adam(self.optimizer) | save_value(self.value) | steps | self.replay.state()

    def restore_training_state(self, state: dict[str, Tensor]) -> None:
        """Restore what `training_state` returned."""
        load_adam(self.optimizer, state)
        load_value(self.value, state)
        self.version = int(state["version"])
        self.replay.restore(state, self.device)

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """One rollout; once the replay is full, also as many gradient steps as use each sequence `reuse` times."""
        config = self.config
        teacher = self._learn_from_teacher() if config.c_kl else None
        rollout, stats = self.sampler.collect(
            self.policy, config.n_steps, self.generator, on_step, teacher, self.version
        )
        if rollout is None:
            return None
        self.replay.add(rollout, self.sampler.version)
        faults = rollout.faults()
        sums: dict[str, float] = {}
        count = 0
        # enough batches to draw each new column `reuse` times
        steps = -(-rollout.starts.shape[1] * config.reuse // config.batch_columns) if self.replay.full else 0
        for _ in range(steps):
            drawn = self.replay.draw(config.batch_columns, self.version, self.generator)
            if drawn is None:
                break
            if drawn.rollout.learnt is not None and not rows_to_learn(drawn.rollout).any():
                LOG.warning("%s: sequences in which every seat waited are skipped; a larger n_steps avoids it", self.id)
                continue
            numbers = self.update(drawn.rollout) | {"policy_lag": float(self.version - drawn.version)}
            sums = {name: sums.get(name, 0.0) + value for name, value in numbers.items()}
            self.version, count = self.version + 1, count + 1
        metrics = {f"train/{name}": value / max(1, count) for name, value in sums.items()}
        metrics |= faults
        metrics["train/dropped_sequences"] = float(self.replay.dropped)
        return metrics | stats.metrics()

    def update(self, rollout: Rollout) -> dict[str, float]:
        """One gradient step on sequences of any age; returns its metrics."""
        ranks, columns = self.ranks, rollout.starts.shape[1]
        part = MinibatchPart(0, columns, 1.0) if ranks is None else ranks.part(columns)
        own = rollout if ranks is None else columns_of(rollout, torch.arange(part.start, part.stop, device=self.device))
        with precise(self.device, self.config.precision):
            output = outputs_in_time(self.policy, own, self.game.facts.players)
            # the privileged value sees other inputs, so it is computed beside the policy
            if self.value is not None:
                output = output._replace(values=values_of(self.value, own))
        learnt = rows_to_learn(rollout)
        loss = self._loss(own, output, int(learnt.sum()))
        self.optimizer.zero_grad()
        loss.total.backward()
        terms = torch.stack([loss.total.detach(), *loss[1:6]])
        # of all columns: how far policy and critic have moved since the sequences were played
        log_ratios, values = loss.log_ratios, output.values.detach().float()
        if ranks is not None:
            terms = ranks.add(self.parameters, terms, part.weight)
            log_ratios, values = (ranks.of_columns(one, columns) for one in (log_ratios, values))
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        self.optimizer.step()
        names = ("loss", "pg_loss", "upgo_loss", "value_loss", "teacher_kl", "normalised_entropy")
        numbers = dict(zip(names, terms.tolist(), strict=True))
        numbers["value_drift"] = float((values - rollout.values)[learnt].abs().mean())
        return numbers | self._ratios(rollout, log_ratios.exp(), learnt) | {"gradient_norm": float(norm)}

    def _loss(self, rollout: Rollout, output: PolicyOutput, rows: int | None = None) -> ActorCriticLoss:
        """The loss of sequences, which are a part of a batch with `rows` decisions or all of it."""
        config, values = self.config, output.values.float()
        mask = unpack(rollout.masks, self.game.facts.num_actions).bool()
        policy = self.policy.distribution(output.logits, mask)
        teacher_logits = rollout.teacher_logits
        teacher = None if teacher_logits is None else self.policy.distribution(teacher_logits, mask)
        return actor_critic_loss(
            policy,
            values,
            replayed_steps(rollout, values.detach()),
            rollout.actions,
            rollout.log_probs,
            _used_heads(rollout),
            teacher,
            self.value_only if config.value_warm_up and self.num_timesteps <= config.value_warm_up else config,
            config.ratios,
            rollout.decided,
            config.discount_per,
            rows,
        )

    def _ratios(self, rollout: Rollout, ratios: Tensor, learnt: Tensor) -> dict[str, float]:
        """Of each head: mean ratio, share that is clipped, and effective sample size."""
        used, numbers = _used_heads(rollout), {}
        for head, name in enumerate(self.game.facts.head_names):
            rho = ratios[..., head][learnt & used[..., head]]
            if not len(rho):
                continue
            numbers[f"rho/{name}"] = float(rho.mean())
            numbers[f"rho_clipped/{name}"] = float((rho > self.config.rho_bar).float().mean())
            # Kish's effective sample size, as a share
            numbers[f"effective_sample/{name}"] = float(rho.sum() ** 2 / rho.square().sum() / len(rho))
        return numbers


def _used_heads(rollout: Rollout) -> Tensor:
    """[T, B, H] bool."""
    return torch.ones_like(rollout.log_probs, dtype=torch.bool) if rollout.used is None else rollout.used


def rows_to_learn(rollout: Rollout) -> Tensor:
    """[T, B] bool: the decisions of stored sequences that have a loss, see `replayed_steps`."""
    ended = rollout.terminated | rollout.truncated
    learnt = torch.ones_like(ended) if rollout.learnt is None else rollout.learnt.clone()
    learnt[-1] &= ended[-1]
    return learnt


def replayed_steps(rollout: Rollout, values: Tensor) -> Steps:
    """The steps of stored sequences under the current values, [T, B].

    The last decision of a column has no successor in it, so it only provides the value for its predecessor, unless its game ended there.
    """
    valid = torch.ones_like(rollout.starts) if rollout.valid is None else rollout.valid.clone()
    ended = rollout.terminated | rollout.truncated
    valid[-1] &= ended[-1]
    # the last row stands in for itself; `valid` lets it be read only where it ended
    following = torch.cat([values[1:], values[-1:]])
    next_values = torch.where(rollout.truncated, rollout.next_values, following)
    return Steps(rollout.rewards, values, next_values, rollout.terminated, rollout.truncated, valid)


def outputs_in_time(policy: Policy, rollout: Rollout, players: int) -> PolicyOutput:
    """Logits [T, B, A] and values [T, B] of the current policy, in the order in which the decisions were made.

    With memory, the decisions of each seat are unrolled separately, from the seat's memory at the start of the rollout.
    """
    shape = rollout.starts.shape
    if not policy.recurrent:
        told = () if rollout.previous is None else (rollout.previous.flatten(0, 1),)
        flat = policy(rollout.observations.flatten(0, 1), None, rollout.seats.flatten(), *told)
        return PolicyOutput(flat.logits.unflatten(0, shape), flat.values.unflatten(0, shape), None)
    if rollout.memory is None or rollout.memory.dim() == 2:  # one seat per column already
        # columns of single seats, unrolled in time, then back to the places of the decisions
        return _unrolled(policy, rollout)
    columns, _ = by_seat(rollout, players)
    assert columns.valid is not None
    index = seat_index(rollout.seats, players)
    rows = index.rows[:, index.valid.any(0)][columns.valid]
    output = _unrolled(policy, columns)
    logits = output.logits.new_zeros(shape.numel(), output.logits.shape[-1]).index_copy(
        0, rows, output.logits[columns.valid]
    )
    values = output.values.new_zeros(shape.numel()).index_copy(0, rows, output.values[columns.valid])
    return PolicyOutput(logits.unflatten(0, shape), values.unflatten(0, shape), None)


def _unrolled(policy: Policy, rollout: Rollout) -> PolicyOutput:
    told: tuple[Any, ...] = () if rollout.previous is None else (rollout.previous,)
    return policy.unroll(rollout.observations, rollout.memory, rollout.starts, rollout.seats, *told)
