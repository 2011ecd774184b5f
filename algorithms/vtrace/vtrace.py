"""`VTrace`: the learner of V-trace and UPGO."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor
from typing_extensions import Unpack

from ludory.agents.networks.build import PolicySpec
from ludory.agents.networks.layers.packed_linear import unpack
from ludory.agents.networks.policy import Policy, PolicyOutput
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.keywords import VTraceKeywords
from ludory.algorithms.losses.actor_critic import actor_critic_loss
from ludory.algorithms.losses.returns import Steps
from ludory.algorithms.running.optimiser_state import load_adam, make_adam, save_adam
from ludory.algorithms.running.threads import precise
from ludory.algorithms.sampling.privileged import load_value, make_privileged_value, save_value, values_of
from ludory.algorithms.sampling.rollout import Rollout, by_seat, seat_index
from ludory.envs.make import EnvLike

from .config import VTraceConfig
from .replay import SequenceReplay

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
    teacher_weight = "c_kl"
    config: VTraceConfig

    def __init__(
        self, policy: str | PolicySpec = "auto", env: EnvLike | None = None, **config: Unpack[VTraceKeywords]
    ) -> None:
        super().__init__(policy, env, **self.config_class.with_preset(config))

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
        with precise(self.device, self.config.precision):
            output = outputs_in_time(self.policy, rollout, self.game.facts.players)
            # the privileged value sees other inputs, so it is computed beside the policy
            if self.value is not None:
                output = output._replace(values=values_of(self.value, rollout))
        loss, numbers = self._loss(rollout, output)
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        self.optimizer.step()
        return numbers | {"gradient_norm": float(norm)}

    def _loss(self, rollout: Rollout, output: PolicyOutput) -> tuple[Tensor, dict[str, float]]:
        config, values = self.config, output.values.float()
        mask = unpack(rollout.masks, self.game.facts.num_actions).bool()
        policy = self.policy.distribution(output.logits, mask)
        teacher_logits = rollout.teacher_logits
        teacher = None if teacher_logits is None else self.policy.distribution(teacher_logits, mask)
        steps = replayed_steps(rollout, values.detach())
        used = rollout.used
        head_mask = torch.ones_like(rollout.log_probs, dtype=torch.bool) if used is None else used
        loss = actor_critic_loss(
            policy,
            values,
            steps,
            rollout.actions,
            rollout.log_probs,
            head_mask,
            teacher,
            self.value_only if config.value_warm_up and self.num_timesteps <= config.value_warm_up else config,
            config.ratios,
            rollout.decided,
            config.discount_per,
        )
        learnt = rows_to_learn(rollout)
        ratios = loss.log_ratios.exp()
        # against the values at sampling: how far the critic moved since the sequence was played
        errors = (steps.values - rollout.values)[learnt]
        numbers = {
            "loss": float(loss.total.detach()),
            "pg_loss": float(loss.pg),
            "upgo_loss": float(loss.upgo),
            "value_loss": float(loss.value),
            "teacher_kl": float(loss.kl),
            "normalised_entropy": float(loss.entropy),
            "value_drift": float(errors.abs().mean()),
        }
        for head, name in enumerate(self.game.facts.head_names):
            rho = ratios[..., head][learnt & head_mask[..., head]]
            if not len(rho):
                continue
            numbers[f"rho/{name}"] = float(rho.mean())
            numbers[f"rho_clipped/{name}"] = float((rho > config.rho_bar).float().mean())
            # Kish's effective sample size, as a share
            numbers[f"effective_sample/{name}"] = float(rho.sum() ** 2 / rho.square().sum() / len(rho))
        return loss.total, numbers


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
