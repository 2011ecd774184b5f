"""`CompiledUpdate`: the twin of `TorchUpdate` with `ppo_loss`, for multi-layer perceptrons over bits on the CPU.

It computes the same update to rounding, without a tensor operation per layer: at batches of 64 the time goes into arithmetic and not
into calls. Products of large matrices are faster by PyTorch. `loss.py` is the definition; `is_twin_of` returns whether `kernels.py` still implements it.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim import Adam

from ludory.agents.networks.fast.compiled_mlp import CompiledMlp, Workspace
from ludory.agents.networks.layers.bit_kernels import bit_code
from ludory.agents.networks.policies.mlp import MlpPolicy
from ludory.algorithms.sampling.rollout import Rollout
from ludory.envs.engine.parallel import part_count, run_parts, thread_count
from ludory.envs.parts import Symmetry

from .config import PPOConfig
from .kernels import TWIN_OF, normalise_rows, prepare_update, take_step, update

ROWS_PER_THREAD = 512
"""Fewest rows of a minibatch per thread: starting a thread's work costs about 50 microseconds."""


@cache
def code_hash(function: Callable[..., Any]) -> str | None:
    """Hash of a function's code without comments, docstring and layout; None if its source is not available."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:16]


def is_twin_of(definition: Callable[..., Any]) -> bool:
    """Whether the compiled pass computes this loss: it names the hash of the code that it was written after."""
    return code_hash(definition) == TWIN_OF


class CompiledUpdate:
    """Copies the weights and Adam's moments, takes gradient steps, and writes them back with `finish`."""

    def __init__(
        self,
        policy: MlpPolicy,
        optimizer: Adam,
        config: PPOConfig,
        rollout: Rollout,
        advantages: Tensor,
        returns: Tensor,
        value_scale: float = 1.0,
    ) -> None:
        self.config, self.optimizer = config, optimizer
        self.ent_coef, self.kl_coef = config.ent_coef, config.kl_coef
        self.symmetry: Symmetry | None = None
        """Symmetry of the game under which the next minibatches are learnt from."""
        teacher = rollout.teacher_logits
        if teacher is None:
            teacher = torch.empty(*rollout.values.shape, 0)
        parts = [part.flatten(0, 1) for part in (*rollout[:4], advantages, returns, teacher)]
        none_said = torch.empty(0, len(policy.head_sizes), dtype=torch.bool)
        parts.append(none_said if rollout.used is None else rollout.used.flatten(0, 1))
        if rollout.learnt is not None:
            learnt = rollout.learnt.flatten()
            parts = [part[learnt] if len(part) else part for part in parts]
        seen, masks, actions, log_probs, self.raw, targets, lessons, used = (p.contiguous().numpy() for p in parts)
        self.advantages = self.raw.copy()
        joint = (log_probs * used if len(used) else log_probs).sum(-1)
        self.data = seen, masks, actions, joint, self.advantages, targets, lessons, used
        self.count, self.batch = len(seen), config.batch_size
        self.vf_coef = config.vf_coef / value_scale**2
        self.mlp = CompiledMlp(policy, bit_code(seen))
        self.heads = np.array(policy.head_sizes, np.int64)
        self.weights = self.mlp.pack(self.mlp.parameters())
        self.moments, self.squares = (self._moment(name) for name in ("exp_avg", "exp_avg_sq"))
        self.steps = int(self._state("step")[0]) if self.optimizer.state else 0
        self.base, self.turned = self.mlp.empty_base(), self.mlp.empty_turned()
        self.work = [Workspace(self.mlp) for _ in range(thread_count())]

    def _state(self, name: str) -> list[Tensor]:
        return [self.optimizer.state[parameter][name] for parameter in self.mlp.parameters()]

    def _moment(self, name: str) -> NDArray[np.float32]:
        moments = self._state(name) if self.optimizer.state else [torch.zeros_like(p) for p in self.mlp.parameters()]
        return self.mlp.pack(moments, signed=name == "exp_avg")[: self.mlp.size]

    def gradient(self, order: Tensor) -> NDArray[np.float64]:
        """Compute the gradient of the loss over rows `order`; returns the numbers of `PPOLoss`."""
        config, rows = self.config, np.sort(order.numpy())  # as they lie in memory
        if config.normalize_advantage and len(rows) > 1:
            normalise_rows(self.raw, rows, self.advantages)
        weights = self.weights if self.symmetry is None else self.mlp.renamed(self.weights, self.symmetry)
        prepare_update(weights, self.mlp.shape, tuple(self.mlp.code), self.base, self.turned)
        sums = np.zeros((len(self.work), 6))
        share, threads = np.float32(1 / len(rows)), self._parts(len(rows))

        def part(start: int, stop: int) -> None:
            which = round(start * threads / len(rows))
            self._run(weights, rows[start:stop], len(rows), share, np.inf, which, sums[which : which + 1], np.empty(0))

        run_parts(part, len(rows), rows_per_thread=ROWS_PER_THREAD)
        for other in self.work[1:threads]:
            self.work[0].gradient += other.gradient
            other.gradient[:] = 0
        if self.symmetry is not None:
            self.work[0].gradient[:] = self.mlp.renamed(self.work[0].gradient, self.symmetry, back=True)
        return self._reported(sums.sum(0) / len(rows))

    @property
    def in_one_call(self) -> bool:
        """Whether a minibatch is worked on by one thread, so that `minibatches` can take them all."""
        return self._parts(min(self.batch, self.count)) == 1

    def minibatches(self, order: Tensor, max_kl: float) -> tuple[NDArray[np.float64], int, list[float]]:
        """`gradient` and `step` for all minibatches of `order`, in one call.

        Returns:
            The sum of what `gradient` returns, how many minibatches were begun, and what `step` returns. One whose approximate KL is
            above `max_kl` is the last, and no step is taken along its gradient.
        """
        count = -(-len(order) // self.batch)
        sums, norms, sizes = np.zeros((count, 6)), np.zeros(count), np.full(count, float(self.batch))
        sizes[-1] = len(order) - self.batch * (count - 1)
        # minibatches are read as they lie in memory
        rows = np.concatenate(
            [np.sort(part) for part in np.split(order.numpy(), range(self.batch, len(order), self.batch))]
        )
        begun = self._run(self.weights, rows, self.batch, np.float32(0), max_kl, 0, sums, norms)
        means = sums[:begun] / sizes[:begun, None]
        taken = begun - int(means[-1, 3] > max_kl)
        self.steps += taken
        return self._reported(means.sum(0)), begun, norms[:taken].tolist()

    def _parts(self, rows: int) -> int:
        return max(1, part_count(rows, rows_per_thread=ROWS_PER_THREAD))

    def _run(
        self,
        weights: NDArray[np.float32],
        order: NDArray[np.int64],
        batch: int,
        share: Any,
        max_kl: float,
        which: int,
        *out: Any,
    ) -> int:
        """`kernels.update` with the scratch arrays `which`; writes sums and norms to `out`."""
        config, group = self.config, self.optimizer.param_groups[0]
        net = weights, self.mlp.shape, self.heads, tuple(self.mlp.code), self.base, self.turned
        coefficients = tuple(map(np.float32, (config.clip_range, self.ent_coef, self.vf_coef, self.kl_coef)))
        settings = (*map(float, (group["lr"], *group["betas"], group["eps"])), float(config.max_grad_norm))
        adam = self.moments, self.squares, self.steps, *settings
        rest = coefficients, bool(config.normalize_advantage), float(max_kl), self.work[which].arrays, adam
        done: int = update(net, self.data, self.raw, order, batch, share, *rest, *out)
        return done

    def _reported(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """The numbers of `PPOLoss`."""
        policy, value, entropy, _, _, teacher_kl = means
        return np.array([policy + self.vf_coef * value - self.ent_coef * entropy + self.kl_coef * teacher_kl, *means])

    def step(self) -> float:
        """Take a step along the gradient; returns its norm before clipping."""
        group, gradient = self.optimizer.param_groups[0], self.work[0].gradient
        self.steps += 1
        moments = self.moments, self.squares, self.steps
        norm: float = take_step(
            self.weights, gradient, *moments, group["lr"], *group["betas"], group["eps"], self.config.max_grad_norm
        )
        return norm

    def finish(self) -> None:
        """Write weights and moments back."""
        self.mlp.unpack(self.weights, self.mlp.parameters())
        if self.steps:
            for parameter in self.mlp.parameters():
                state = self.optimizer.state[parameter]
                if not state:
                    state.update(exp_avg=torch.zeros_like(parameter), exp_avg_sq=torch.zeros_like(parameter))
                state["step"] = torch.tensor(float(self.steps))
            self.mlp.unpack(self.moments, self._state("exp_avg"))
            self.mlp.unpack(self.squares, self._state("exp_avg_sq"), signed=False)
