"""`PPO`: the learner of proximal policy optimisation."""

from __future__ import annotations

import dataclasses
import logging
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from typing_extensions import Self, Unpack

from ludory.agents import MaskedHeads, PolicySpec
from ludory.agents.networks.fast.choice import ROWS, fastest
from ludory.agents.networks.fast.compiled_mlp import can_compile
from ludory.agents.networks.layers.encoders import scale_inputs
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.config import linear
from ludory.algorithms.keywords import PPOKeywords
from ludory.algorithms.losses.returns import affine_scan
from ludory.algorithms.running.optimiser_state import load_adam, make_adam, save_adam, set_learning_rate
from ludory.algorithms.running.threads import precisions
from ludory.algorithms.sampling.privileged import load_value, make_privileged_value, save_value
from ludory.algorithms.sampling.rollout import Rollout, by_seat
from ludory.envs import EnvLike, Game, Symmetry
from ludory.envs.engine.kernel_engine import few_steps_asked
from ludory.errors import OptionError

from . import loss as definition
from .captured_minibatch import CapturedMinibatches
from .compiled import CompiledUpdate, is_twin_of
from .compiled_loss import compiled_loss
from .config import LONE_TIMESTEPS, PPOConfig, suited_to
from .loss import Coefficients, Loss, PPOLoss, PPOMinibatch
from .torch_update import TorchUpdate

LOG = logging.getLogger("ludory.ppo")
TWIN = "twin"
"""Name of the compiled update among the ways to compute it; the others are PyTorch's precisions."""
WORTH_COMPILING = 1_000_000
"""Decisions that a run learns from, each as often as it does, from which on the compiled loss saves what compiling it takes, some 5 s."""
WORTH_LOADING = 50_000
"""Such decisions from which on the compiled twin saves the time in which it is loaded, about half a second; a new machine compiles it for 20 s."""


class PPO(Algorithm):
    """Clipped policy gradient on fresh data, with the options of `PPOConfig`.

    Networks with memory are trained through time over the decisions of each seat in a rollout, from the seat's memory at its start.

    To use another loss, override `loss` in a subclass or pass a function. A checkpoint does not contain it: pass it to `load` again.

    Args:
        policy, env, config: as `Algorithm`.
        loss: a function with the arguments of `ppo_loss`; None: the method `loss`.
    """

    id = "ppo-v1"
    splits_batches = True
    samples_in: ClassVar[str | None] = "lockstep"
    config_class: ClassVar[type[PPOConfig]] = PPOConfig
    search_space: ClassVar[Mapping[str, str]] = {
        "learning_rate": "1e-4..3e-3",
        "ent_coef": "1e-3..3e-2",
        "gamma": "0.97,0.99,0.997,1.0",
        "gae_lambda": "0.8,0.9,0.95,1.0",
        "num_envs": "64,256,1024",
        "n_steps": "16,32,64",
        "batch_size": "512,2048,8192",
        "n_epochs": "1,2,4",
        "hidden": "64x64,128x128,256x256",
    }
    inputs: ClassVar[tuple[str, ...]] = ("init_from", "teacher")
    changeable: ClassVar[tuple[str, ...]] = ("devices",)
    teacher_weight: ClassVar[str | None] = "kl_coef"
    continuous: ClassVar[bool] = True
    config: PPOConfig

    def __init__(
        self,
        policy: str | PolicySpec = "auto",
        env: EnvLike | None = None,
        *,
        loss: Loss | None = None,
        **config: Unpack[PPOKeywords],
    ) -> None:
        if loss is not None:
            self.loss = loss  # type: ignore[method-assign]
        super().__init__(policy, env, **config)

    @classmethod
    def suited_to(cls, game: Game) -> dict[str, Any]:
        """Other defaults for games whose rules run elsewhere, which are slow and often give a reward at every step."""
        return suited_to(game)

    @property
    def planned_timesteps(self) -> int:
        """Default length of a training run."""
        lone = self.game.rules.kernels is None and self.game.facts.players == 1
        return LONE_TIMESTEPS if lone else super().planned_timesteps

    def loss(self, policy: MaskedHeads, values: Tensor, decisions: PPOMinibatch, coefficients: Coefficients) -> PPOLoss:
        """The loss: `ppo_loss`. A subclass that overrides it runs on PyTorch, without the compiled twin."""
        return definition.ppo_loss(policy, values, decisions, coefficients)

    def setup(self) -> None:
        """Make the optimiser, and the privileged value if there is one."""
        self._path: str | None = None  # which of the two updates was logged last
        # whether the twin can run -> the fastest way to compute updates, once it was measured
        self._ways: dict[bool, str] = {}
        self.value = make_privileged_value(self.config, self.game.facts, self.device)
        self.sampler.critic = self.value
        parameters = [*self.policy.parameters(), *(self.value.parameters() if self.value else ())]
        self._graphs = CapturedMinibatches() if self._captures_steps else None
        self.optimizer = make_adam(parameters, self.config.learning_rate, self._graphs is not None)
        self.return_moments, self.reward_moments = RunningMoments(), RunningMoments()
        self.observation_moments = RunningMoments(self.game.facts.observation.size)
        if self.config.normalize_observations and self.game.facts.observation.bits:
            raise OptionError(f"normalize_observations: {self.game.id} shows bits, which are not scaled; leave it out")
        if self.config.symmetry_augmentation and self.game.analysis.symmetry is None:
            raise OptionError(f"symmetry_augmentation: no symmetry of {self.game.id} is known; leave it out")
        if self.config.symmetry_augmentation and self.policy.recurrent:
            raise OptionError(
                f"symmetry_augmentation: {self.policy.id} has a memory, which cannot be renamed within a game; "
                "leave it out, or take policy='mlp'"
            )

    def training_state(self) -> dict[str, Tensor]:
        """Adam's moments, those of returns, and the privileged value."""
        moments = {
            "return_moments": self.return_moments.tensor(),
            "reward_moments": self.reward_moments.tensor(),
            "observation_moments": self.observation_moments.tensor(),
        }
        return save_adam(self.optimizer) | moments | save_value(self.value)

    def restore_training_state(self, state: dict[str, Tensor]) -> None:
        """Restore what `training_state` returned."""
        load_adam(self.optimizer, state)
        load_value(self.value, state)
        self.return_moments = RunningMoments.of(state["return_moments"])
        self.observation_moments = RunningMoments.of(state["observation_moments"])
        if "reward_moments" in state:  # files of earlier versions have none
            self.reward_moments = RunningMoments.of(state["reward_moments"])

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """One rollout, `n_epochs` passes over it."""
        config = self.config
        teacher = self._learn_from_teacher() if config.kl_coef else None
        rollout, stats = self.sampler.collect(self.policy, config.n_steps, self.generator, on_step, teacher)
        if rollout is None:
            return None
        if rollout.learnt is not None and not rollout.learnt.any():
            LOG.warning("%s: a rollout in which every seat waited is skipped; a larger n_steps avoids it", self.id)
            return rollout.faults()
        if config.normalize_rewards:
            rollout = self._with_normal_rewards(rollout)
        advantages, returns = rollout.gae(gamma=config.gamma, lam=config.gae_lambda, discount_per=config.discount_per)
        metrics = {"train/explained_variance": _explained_variance(rollout, returns)} | rollout.faults()
        self.return_moments.update(returns if rollout.learnt is None else returns[rollout.learnt])
        totals = self._passes(self._update(rollout, advantages, returns))
        metrics |= {f"train/{name}": value for name, value in totals.items()}
        if config.normalize_observations:  # after the passes: ratios are those of the networks that played
            self.observation_moments.update(rollout.observations)
            scale_inputs(self.policy, self.observation_moments.mean, self.observation_moments.deviation)
        return metrics | stats.metrics()

    def _with_normal_rewards(self, rollout: Rollout) -> Rollout:
        """Rewards divided by the standard deviation of discounted returns, each up to the end of its game or of the rollout."""
        # time runs backwards in the scan, so a game that ends keeps later rewards out
        goes_on = ~(rollout.terminated | rollout.truncated)
        discounted = affine_scan(rollout.rewards, self.config.gamma * goes_on.float())
        self.reward_moments.update(discounted if rollout.learnt is None else discounted[rollout.learnt])
        # only divided: a shift would make long games worth more, or less
        return rollout._replace(rewards=rollout.rewards / self.reward_moments.deviation.float().to(self.device))

    def _update(self, rollout: Rollout, advantages: Tensor, returns: Tensor) -> CompiledUpdate | TorchUpdate:
        scale = float(self.return_moments.deviation) if self.config.normalize_values else 1.0
        # memories of all seats: a column holds the decisions of several seats, and is taken apart by seat
        if self.policy.recurrent and rollout.memory is not None and rollout.memory.dim() == 3:
            rollout, (advantages, returns) = by_seat(rollout, self.game.facts.players, advantages, returns)

        def twin() -> CompiledUpdate:
            assert can_compile(self.policy)
            return CompiledUpdate(self.policy, self.optimizer, self.config, rollout, advantages, returns, scale)

        def by_pytorch(precision: str | None = None) -> TorchUpdate:
            config = self.config if precision is None else dataclasses.replace(self.config, precision=precision)
            loss = compiled_loss if self._compiles_loss else self.loss
            targets = rollout, advantages, returns, scale
            update = TorchUpdate(self.policy, self.optimizer, config, *targets, self.value, loss, self.ranks)
            update.captured = self._graphs if self.ranks is None else None
            return update

        reason = self._reason_for_pytorch()
        if self.config.compiled and reason:
            raise OptionError(f"compiled=True: {reason}; leave it out, and PyTorch runs the update")
        if (way := self._ways.get(not reason)) is None:
            ways: dict[str, Callable[[], CompiledUpdate | TorchUpdate]] = {} if reason else {TWIN: twin}
            if not self.config.compiled:
                ways |= {name: partial(by_pytorch, name) for name in self._precisions}
            way = self._ways[not reason] = self._fastest_way(ways)
        if self.config.precision == "auto":
            self._settle("float32" if way == TWIN else way)
        if way != TWIN and not reason:
            reason = "it is faster for this network and batch on this machine"
        path = f"PyTorch in {self.config.precision}: {reason}" if reason else "its compiled twin"
        if reason and self._compiles_loss:
            path = f"its compiled twin, behind a network of PyTorch in {self.config.precision}: {reason}"
        if path != self._path:
            LOG.info("%s: ppo_loss is computed by %s", self.id, path)
            self._path = path
        return by_pytorch() if reason else twin()

    @property
    def _precisions(self) -> tuple[str, ...]:
        """Those in which PyTorch may compute updates; processes that learn together do not measure, since each might find another one."""
        if self.config.precision != "auto":
            return (self.config.precision,)
        return precisions(self.device) if self.ranks is None else ("float32",)

    def _suited_precision(self) -> str:
        """Left open for one process on a CPU with a choice: it is measured at the first update, where all ways to compute that are at hand."""
        open_yet = self.device.type == "cpu" and len(precisions(self.device)) > 1 and self.config.devices == 1
        return "auto" if open_yet else super()._suited_precision()

    def _fastest_way(self, ways: Mapping[str, Callable[[], CompiledUpdate | TorchUpdate]]) -> str:
        """The name of the way that takes the least time for a minibatch."""
        if len(ways) == 1:
            return next(iter(ways))
        updates = {name: make() for name, make in ways.items()}
        rows = min(min(update.batch, update.count) for update in updates.values())
        order = torch.arange(min(rows, ROWS))
        network = f"{self.policy_spec}, {[tuple(parameter.shape) for parameter in self.policy.parameters()]}"
        if isinstance(twin := updates.get(TWIN), CompiledUpdate):
            network = twin.mlp.subject
        loss = "compiled loss" if self._compiles_loss else "loss by PyTorch"
        length = self.config.n_steps if self.policy.recurrent else 1
        subject = f"ppo, {loss}, {network}, {len(order)} of length {length}"
        fastest_one = fastest(subject, {name: partial(update.gradient, order) for name, update in updates.items()})
        self.optimizer.zero_grad()
        return fastest_one

    @property
    def _compiles_loss(self) -> bool:
        """Whether the loss behind a network that PyTorch runs is the compiled one."""
        return (
            self.device.type == "cpu"
            and self.policy.box is None
            and self.config.compiled is not False
            and not few_steps_asked()
            and self._passes_of_run >= WORTH_COMPILING
            and not self._has_own_loss
            and is_twin_of(definition.ppo_loss)
        )

    @property
    def _passes_of_run(self) -> int:
        """Decisions of the run as a whole, also when it is resumed, each counted as often as it is learnt from."""
        return self.config.n_epochs * (self.schedule_timesteps or self._total_timesteps)

    @property
    def _has_own_loss(self) -> bool:
        """Whether a subclass or a user replaced `loss`."""
        return type(self).loss is not PPO.loss or "loss" in vars(self)

    @property
    def _captures_steps(self) -> bool:
        """Whether gradient steps are CUDA graphs: sequences are cut into pieces by what was played, and `target_kl` looks at every minibatch."""
        config = self.config
        return (
            config.cuda_graphs
            and not self.policy.recurrent
            and config.target_kl is None
            and not config.symmetry_augmentation
        )

    def _reason_for_pytorch(self) -> str:
        """Why the compiled twin cannot run; empty if it can."""
        reasons = {
            "compiled=False": self.config.compiled is False,
            "cuda_graphs=True": self._graphs is not None,
            "this run has a loss of its own": self._has_own_loss,
            "the compiled twin is for multi-layer perceptrons over bits, in float32 on the CPU": not can_compile(
                self.policy
            )
            or self.config.precision not in ("auto", "float32"),
            "several processes share each minibatch": self.ranks is not None,
            "the compiled twin has no privileged value": self.value is not None,
            "ppo_loss was changed, and the compiled twin in ppo/kernels.py was not": not is_twin_of(
                definition.ppo_loss
            ),
            "few steps do not pay for compiling": self.config.compiled is None
            and (few_steps_asked() or self._passes_of_run < WORTH_LOADING),
        }
        return next((reason for reason, holds in reasons.items() if holds), "")

    def _passes(self, update: CompiledUpdate | TorchUpdate) -> dict[str, float]:
        """Gradient steps on minibatches, `n_epochs` passes over the rollout; returns the mean losses."""
        config, done = self.config, 1 - self.progress_remaining
        for group in self.optimizer.param_groups:
            set_learning_rate(group, linear(config.learning_rate, config.final_learning_rate, done))
        update.ent_coef = linear(config.ent_coef, config.final_ent_coef, done)
        update.kl_coef = linear(config.kl_coef, config.final_kl_coef, done)
        # 1.5 times the target, as in OpenAI's Spinning Up and Stable-Baselines3
        max_kl = float("inf") if config.target_kl is None else 1.5 * config.target_kl
        sums: Any = 0
        count = 0
        norms: list[Any] = []
        for _ in range(config.n_epochs):
            order = torch.randperm(update.count, generator=self.generator, device=self.device)
            if isinstance(update, CompiledUpdate) and update.in_one_call and not config.symmetry_augmentation:
                losses, begun, taken = update.minibatches(order, max_kl)
            else:
                losses, begun, taken = self._minibatches(update, order, max_kl)
            sums, count, norms = sums + losses, count + begun, norms + taken
            if len(taken) < begun:
                break
        update.finish()
        means = dict(zip(PPOLoss._fields, (sums / count).tolist(), strict=True))
        return means | ({"gradient_norm": float(sum(norms)) / len(norms)} if norms else {})

    def _minibatches(
        self, update: CompiledUpdate | TorchUpdate, order: Tensor, max_kl: float
    ) -> tuple[Any, int, list[Any]]:
        """As `CompiledUpdate.minibatches`, a call for each gradient and step."""
        approx_kl = PPOLoss._fields.index("approx_kl")
        sums: Any = 0
        norms: list[Any] = []
        begun = 0
        for rows in order.split(update.batch):
            begun += 1
            update.symmetry = self._draw_symmetry()
            losses = update.gradient(rows)
            sums = sums + losses
            if math.isfinite(max_kl) and losses[approx_kl] > max_kl:  # to look is to wait for a GPU
                break
            norms.append(update.step())
        return sums, begun, norms

    def _draw_symmetry(self) -> Symmetry | None:
        """A random symmetry of the game for a minibatch; None without `symmetry_augmentation`."""
        if not self.config.symmetry_augmentation or self.game.analysis.symmetry is None:
            return None
        # the generator of the run chooses the seed, so that a resumed run draws the same symmetries
        seed = torch.randint(1 << 62, (), generator=self.generator, device=self.device)
        return self.game.analysis.symmetry(np.random.default_rng(int(seed)))


def _explained_variance(rollout: Rollout, returns: Tensor) -> float:
    errors, targets = returns - rollout.values, returns
    if rollout.learnt is not None:
        errors, targets = errors[rollout.learnt], targets[rollout.learnt]
    return float(1 - errors.var() / (targets.var() + 1e-8))


class RunningMoments:
    """Running mean and standard deviation of each entry (Chan et al. 1979), in float64 on the CPU.

    Args:
        size: entries of a value; 0: values are numbers.
    """

    def __init__(self, size: int = 0) -> None:
        self.count = 0.0
        self.mean, self.squares = (torch.zeros(max(1, size), dtype=torch.float64) for _ in range(2))

    @classmethod
    def of(cls, tensor: Tensor) -> Self:
        """The moments that returned `tensor`."""
        moments = cls(tensor.shape[1])
        moments.count, moments.mean, moments.squares = float(tensor[0, 0]), tensor[1].clone(), tensor[2].clone()
        return moments

    def tensor(self) -> Tensor:
        """(3, size) float64."""
        return torch.stack([torch.full_like(self.mean, self.count), self.mean, self.squares])

    def update(self, values: Tensor) -> None:
        """Add values, (..., size); numbers may have any shape."""
        wide = values.detach().double().cpu().reshape(-1, len(self.mean))
        if not len(wide):
            return
        mean, squares = wide.mean(0), (wide - wide.mean(0)).square().sum(0)
        total, gap = self.count + len(wide), mean - self.mean
        self.squares = self.squares + squares + gap * gap * self.count * len(wide) / total
        self.mean = self.mean + gap * len(wide) / total
        self.count = total

    @property
    def deviation(self) -> Tensor:
        """(size,) standard deviation, at least 1e-4; 1 before two values were seen."""
        if self.count < 2:
            return torch.ones_like(self.mean)
        return (self.squares / self.count).sqrt().clamp(min=1e-4)
