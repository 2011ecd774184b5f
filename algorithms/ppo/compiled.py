"""`CompiledUpdate`: the twin of `TorchUpdate` with `ppo_loss`, for multi-layer perceptrons over bits on the CPU.

It computes the same update to rounding, without a tensor operation per layer: at batches of 64 the time goes into arithmetic and not
into calls. `loss.py` is the definition; `is_twin_of` returns whether `kernels.py` still implements it.
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
from ludory.agents.networks.fast.mlp_kernels import base_row
from ludory.agents.networks.layers.packed_linear import usual_row
from ludory.agents.networks.policies.mlp import MlpPolicy
from ludory.algorithms.sampling.rollout import Rollout
from ludory.envs.engine.parallel import part_count, run_parts, thread_count
from ludory.envs.parts import Symmetry

from .config import PPOConfig
from .kernels import TWIN_OF, adam_step, add_gradient, normalise

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
        if rollout.learnt is not None:
            parts = [part[rollout.learnt.flatten()] for part in parts]
        seen, masks, actions, log_probs, self.raw, targets, lessons = (part.contiguous().numpy() for part in parts)
        self.data = (seen, masks, actions, log_probs.sum(-1), self.raw.copy(), targets, lessons)
        self.count, self.batch = len(seen), config.batch_size
        self.vf_coef = config.vf_coef / value_scale**2
        self.mlp = CompiledMlp(policy, usual_row(seen))
        self.heads = np.array(policy.head_sizes, np.int64)
        self.weights = self.mlp.pack(self.mlp.parameters())
        self.moments, self.squares = (self._moment(name) for name in ("exp_avg", "exp_avg_sq"))
        self.steps = int(self._state("step")[0]) if self.optimizer.state else 0
        self.base = self.mlp.empty_base()
        self.work = [Workspace(self.mlp) for _ in range(thread_count())]

    def _state(self, name: str) -> list[Tensor]:
        return [self.optimizer.state[parameter][name] for parameter in self.mlp.parameters()]

    def _moment(self, name: str) -> NDArray[np.float32]:
        moments = self._state(name) if self.optimizer.state else [torch.zeros_like(p) for p in self.mlp.parameters()]
        return self.mlp.pack(moments, signed=name == "exp_avg")

    def gradient(self, order: Tensor) -> NDArray[np.float64]:
        """Compute the gradient of the loss over rows `order`; returns the numbers of `PPOLoss`."""
        config, rows = self.config, order.numpy()
        if config.normalize_advantage and len(rows) > 1:
            normalise(self.raw, rows, self.data[4])
        weights = self.weights if self.symmetry is None else self.mlp.renamed(self.weights, self.symmetry)
        base_row(weights, self.mlp.shape, self.mlp.usual, self.base)
        sums = np.zeros((len(self.work), 6))
        share = np.float32(1 / len(rows))
        coefficients = tuple(map(np.float32, (config.clip_range, self.ent_coef, self.vf_coef, self.kl_coef)))
        threads = max(1, part_count(len(rows), rows_per_thread=ROWS_PER_THREAD))

        def part(start: int, stop: int) -> None:
            which = round(start * threads / len(rows))
            common = weights, self.mlp.shape, self.heads, self.mlp.usual, self.base, self.data, rows
            add_gradient(*common, share, coefficients, self.work[which].arrays, sums[which], start, stop)

        run_parts(part, len(rows), rows_per_thread=ROWS_PER_THREAD)
        for other in self.work[1:threads]:
            self.work[0].gradient += other.gradient
            other.gradient[:] = 0
        if self.symmetry is not None:
            self.work[0].gradient[:] = self.mlp.renamed(self.work[0].gradient, self.symmetry, back=True)
        policy, value, entropy, kl, clipped, teacher_kl = sums.sum(0) / len(rows)
        loss = policy + self.vf_coef * value - self.ent_coef * entropy + self.kl_coef * teacher_kl
        return np.array([loss, policy, value, entropy, kl, clipped, teacher_kl])

    def step(self) -> float:
        """Take a step along the gradient; returns its norm before clipping."""
        group, gradient = self.optimizer.param_groups[0], self.work[0].gradient
        self.steps += 1
        moments = self.moments, self.squares, self.steps
        norm: float = adam_step(
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
