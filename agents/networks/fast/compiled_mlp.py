"""`CompiledMlp`: converts the weights of an `MlpPolicy` to the vector that compiled passes read, and back."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, TypeGuard

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.agents.networks.layers.bit_kernels import LANES, BitCode, bit_code
from ludory.agents.networks.layers.packed_linear import PackedLinear
from ludory.agents.networks.layers.vectors import WIDTH
from ludory.agents.networks.policies.mlp import MlpPolicy
from ludory.agents.networks.policy import Policy, PolicyOutput
from ludory.envs.engine.binding.cached_kernel import source_hash
from ludory.envs.engine.parallel import run_parts, thread_count
from ludory.envs.parts import Symmetry

from .mlp_kernels import backward, behind_count, encoder_gradient, encoder_sums, outputs

Floats = NDArray[np.float32]


def can_compile(policy: Policy) -> TypeGuard[MlpPolicy]:
    """Whether `CompiledMlp` accepts this policy: an `MlpPolicy` over bits, in float32, on the CPU."""
    if policy.box is not None or type(policy) is not MlpPolicy or not isinstance(policy.encoder, PackedLinear):
        return False
    return all(p.dtype == torch.float32 and p.device.type == "cpu" for p in policy.parameters())


class CompiledMlp:
    """Layout of a policy's parameters in the vector, which `mlp_kernels` describes.

    Args:
        policy: a policy that `can_compile` accepts.
        code: by which packed rows are told apart.
    """

    def __init__(self, policy: MlpPolicy, code: BitCode) -> None:
        self.policy, self.code = policy, code
        towers, hidden = len(policy.torso), [layer.out_features for layer in _linears(policy.torso[0])]
        first = policy.encoder.out_features // towers
        self.shape = np.array(
            [len(code.usual), towers, policy.logits.out_features, policy.activation_name == "tanh", first, *hidden],
            np.int64,
        )
        self.width, self.bits = towers * first, len(code.usual) * 8
        """Outputs of the encoder, and bits of a row."""
        self._start = int(behind_count(self.shape)) + self.width
        self.size = self._start + self.bits * self.width
        """Length of the vector without the room for patterns."""
        self.subject = f"mlp {'x'.join(map(str, [towers, first, *hidden]))} {policy.activation_name}, {len(code.usual)} bytes, {policy.logits.out_features} outputs, kernels {_version()}"
        """What the time of a pass depends on, in words."""
        used = np.unpackbits(code.usual)[: policy.encoder.in_features].astype(bool)
        self._signs = torch.from_numpy(np.where(used, np.float32(-1), np.float32(1))).unsqueeze(1)
        self.behind = [p for layer in self._layers() for p in (layer.weight, layer.bias)]

    def _layers(self) -> list[Any]:
        towers = [_linears(tower) for tower in self.policy.torso]
        return [
            *(layer for level in zip(*towers, strict=True) for layer in level),
            self.policy.logits,
            self.policy.value,
        ]

    def parameters(self) -> list[Tensor]:
        """Parameters in the order of the vector."""
        return [self.policy.encoder.weight, self.policy.encoder.bias, *self.behind]

    def empty_base(self) -> Floats:
        """An empty output array for `encoder_sums`."""
        return np.zeros(self.width, np.float32)

    def empty_turned(self) -> Floats:
        """An empty output array for `turn`."""
        return _zeros(self._start)

    def pack(self, tensors: list[Tensor], signed: bool = True) -> Floats:
        """The vector of tensors with the shapes and order of `parameters`; signed=False for squares."""
        encoder, bias, *rest = (tensor.detach() for tensor in tensors)
        vector = torch.from_numpy(self.zeros())
        columns = vector[self._start : self.size].view(self.bits, self.width)
        columns[: encoder.shape[1]] = encoder.t() * self._signs if signed else encoder.t()
        vector[: self._start] = torch.cat([tensor.flatten() for tensor in (*rest, bias)])
        return vector.numpy()

    def unpack(self, vector: Floats, into: list[Tensor], signed: bool = True) -> None:
        """Write the vector to tensors with the shapes and order of `parameters`."""
        encoder, bias, *rest = (tensor.detach() for tensor in into)
        source = torch.from_numpy(vector)
        columns = source[self._start :][: encoder.numel()].view(encoder.shape[1], encoder.shape[0])
        encoder.copy_((columns * self._signs if signed else columns).t())
        parts = [*rest, bias]
        for tensor, part in zip(parts, source[: self._start].split([part.numel() for part in parts]), strict=True):
            tensor.copy_(part.view_as(tensor))

    def zeros(self) -> Floats:
        """A vector of zeros, with room for patterns."""
        before = -self._start % WIDTH
        # columns begin with a cache line
        return _zeros(before + self.size + len(self.code.patterns) * self.width)[before:]

    def renamed(self, vector: Floats, symmetry: Symmetry, back: bool = False) -> Floats:
        """The weights with which the network sees rows as if they were renamed, and answers in the old names.

        Columns of the encoder and rows of the logits change their places. So a minibatch is learnt from under a symmetry without a
        change of its rows, which are many more than the weights.

        Args:
            vector: weights, or a gradient of such renamed weights.
            symmetry: of the game.
            back: return from the renamed places to the own ones.
        """
        entries, actions = symmetry.observation, symmetry.actions
        # The renamed network meets old bit j where the network meets the new bit that was bit j.
        columns, rows = (entries, np.argsort(actions)) if back else (np.argsort(entries), actions)
        signs = self._signs[:, 0].numpy()
        found, known = self.zeros()[: len(vector)], len(entries)
        found[:] = vector
        own, new = (array[self._start : self.size].reshape(self.bits, self.width) for array in (vector, found))
        np.multiply(own[columns], (signs * signs[columns])[:, None], out=new[:known])
        count, inner = int(self.shape[2]), int(self.shape[-1])
        end = self._start - self.width - inner - 1
        weights, bias = end - count * (inner + 1), end - count
        found[weights:bias] = vector[weights:bias].reshape(count, inner)[rows].ravel()
        found[bias:end] = vector[bias:end][rows]
        return found


class Workspace:
    """Scratch arrays of one thread."""

    def __init__(self, mlp: CompiledMlp) -> None:
        actions, units = int(mlp.shape[2]), int(mlp.shape[1] * mlp.shape[4:].sum())
        encoder = (
            _zeros((LANES, mlp.width)),
            np.zeros(mlp.bits + len(mlp.code.patterns), np.uint64),
            np.zeros((LANES, mlp.bits + 8), np.uint32),
            np.zeros(LANES, np.int64),
        )
        # rows that are no power of two apart do not meet in the same places of a cache
        widest = int(mlp.shape[4:].max()) + WIDTH
        sizes = (
            (units, LANES),
            (units, LANES),
            (actions + 1, LANES),
            (actions + 1, LANES),
            (LANES, widest),
            (LANES, mlp.width),
        )
        gradient = mlp.zeros()
        self.gradient = gradient[: mlp.size]
        self.arrays = (encoder, *map(_zeros, sizes), gradient)


class CompiledForward:
    """`policy(observation)` with the current weights, without gradients, for samplers.

    Args:
        policy: a policy that `can_compile` accepts.
        like: packed rows (m, bytes) that are typical of the observations to follow.
    """

    def __init__(self, policy: MlpPolicy, like: Tensor) -> None:
        self.mlp = CompiledMlp(policy, bit_code(like.numpy()))
        self.weights, self.base = self.mlp.pack(self.mlp.parameters()), self.mlp.empty_base()
        encoder_sums(self.weights, self.mlp.shape, tuple(self.mlp.code), self.base)
        self.work = [Workspace(self.mlp) for _ in range(thread_count())]

    def __call__(self, observation: Tensor) -> PolicyOutput:
        """Logits (m, A) and values (m,)."""
        rows = len(observation)
        logits, values = torch.empty(rows, int(self.mlp.shape[2])), torch.empty(rows)
        common = self.weights, self.mlp.shape, tuple(self.mlp.code), self.base, observation.contiguous().numpy()
        free = list(self.work)

        def part(start: int, stop: int) -> None:
            outputs(*common, logits.numpy(), values.numpy(), free.pop().arrays, start, stop)

        run_parts(part, rows)
        return PolicyOutput(logits, values, None)


@cache
def _version() -> str:
    """Of the kernels: what is fastest is measured again when they change."""
    return source_hash("", [outputs, backward, encoder_gradient])[:8]


def _zeros(shape: int | tuple[int, ...]) -> Floats:
    """Zeros that begin with a cache line: vectors that two lines share are loaded twice."""
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    memory = np.zeros(size + WIDTH, np.float32)
    first = -memory.ctypes.data % 64 // 4
    return memory[first : first + size].reshape(shape)


def _linears(tower: Any) -> list[Any]:
    return [layer for layer in tower if isinstance(layer, torch.nn.Linear)]
