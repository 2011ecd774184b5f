"""`RecurrentPolicy`: base of policies with a gated recurrent unit (arXiv 1406.1078)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ludory.agents.networks.policy import Policy, PolicyOutput, output_layers
from ludory.envs.facts import GameFacts
from ludory.errors import OptionError


class RecurrentPolicy(Policy):
    """Features, a GRU whose state is the memory, then logits and value. Subclasses implement `features`.

    Args:
        facts: of the game.
        num_features: width of the output of `features`.
        memory_size: width of the GRU.
    """

    def __init__(self, facts: GameFacts, num_features: int, memory_size: int) -> None:
        super().__init__(facts)
        if memory_size < 1:
            raise OptionError(f"memory_size={memory_size}: must be at least 1")
        self.memory_size = memory_size
        self.gru = GruStep(num_features, memory_size)
        self.logits, self.value = output_layers(memory_size, facts)

    def features(self, observation: Tensor, seat: Tensor | None, previous: Tensor | None = None) -> Tensor:
        """(..., num_features) from observations (..., bytes) or (..., size), seats (...) and last moves (..., P)."""
        raise NotImplementedError

    def initial_memory(self, rows: int) -> Tensor:
        """Zeros (rows, memory_size)."""
        return torch.zeros(rows, self.memory_size, device=self.value.weight.device)

    def forward(
        self,
        observation: Tensor,
        memory: Tensor | None = None,
        seat: Tensor | None = None,
        previous: Tensor | None = None,
    ) -> PolicyOutput:
        """See `Policy.forward`; `previous` (m, P) last moves, the own one first, for networks with `uses_previous`."""
        memory = self.initial_memory(len(observation)) if memory is None else memory
        after = self.gru(self.gru.inputs(self.features(observation, seat, previous)), memory)
        return self._outputs(after, after)

    def unroll(
        self,
        observations: Tensor,
        memory: Tensor | None,
        starts: Tensor,
        seats: Tensor | None = None,
        previous: Tensor | None = None,
    ) -> PolicyOutput:
        """See `Policy.unroll`; `previous` [T, B, P] as in `forward`."""
        memory = self.initial_memory(starts.shape[1]) if memory is None else memory
        hidden = self.gru.scan(self.features(observations, seats, previous), memory, starts)
        return self._outputs(hidden, hidden[-1])

    def _outputs(self, hidden: Tensor, memory: Tensor) -> PolicyOutput:
        return PolicyOutput(self.logits(hidden), self.value(hidden).squeeze(-1), memory)


@cache
def keep_from_compiling() -> None:
    """Let `torch.compile` run `GruStep.scan_pieces` as it is: the pieces depend on what was played.

    To be called before compiling and not at import, since PyTorch then imports its compiler, which takes more than a second.
    """
    GruStep.scan_pieces = torch.compiler.disable(GruStep.scan_pieces)  # type: ignore[method-assign]


PRODUCTS_FOR_CASTS = 2**20
"""Fewest multiplications of a step's product that pay for casting its inputs: measured for memories of 64 to 512, two to 128 rows."""


class GruStep(nn.GRUCell):
    """A GRU cell whose input part can be computed for a whole sequence at once."""

    def inputs(self, x: Tensor) -> Tensor:
        """Input gates (..., 3 * size) of inputs (..., input)."""
        return nn.functional.linear(x, self.weight_ih, self.bias_ih)

    def forward(self, inputs: Tensor, memory: Tensor) -> Tensor:  # type: ignore[override]  # gates instead of inputs
        """Memory (m, size) after a step; float32 under autocast, so that small updates are not rounded away."""
        memory = memory.to(self.weight_hh.dtype)
        gates = nn.functional.linear(memory, self.weight_hh, self.bias_hh)
        reset_in, update_in, new_in = inputs.chunk(3, -1)
        reset_memory, update_memory, new_memory = gates.chunk(3, -1)
        reset, update = (reset_in + reset_memory).sigmoid(), (update_in + update_memory).sigmoid()
        new = (new_in + reset * new_memory).tanh()
        return new + update * (memory - new)

    def scan(self, x: Tensor, memory: Tensor, starts: Tensor) -> Tensor:
        """Memory [T, B, size] after each step of inputs [T, B, input]; reset before the steps where `starts` [T, B] is true."""
        hidden: Tensor
        if x.is_cuda:
            hidden = self.scan_pieces(x, memory, starts)
            return hidden
        kept = (~starts).unsqueeze(-1).to(memory.dtype)
        if not torch.compiler.is_compiling():  # a compiler fuses operations: it has to see them one by one
            kind = x.device.type
            dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else self.weight_hh.dtype
            weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
            with torch.autocast(kind, enabled=False):
                hidden = _Scan.apply(dtype, x, memory, kept, *weights)  # type: ignore[no-untyped-call]
            return hidden
        out = []
        for now, keep in zip(self.inputs(x), kept, strict=True):
            memory = self(now, memory * keep)
            out.append(memory)
        return torch.stack(out)

    def scan_pieces(self, x: Tensor, memory: Tensor, starts: Tensor) -> Tensor:
        """As `scan`, in the weights' precision, by PyTorch's operation for sequences of several lengths: cuDNN's on a GPU.

        It knows no starts, so each sequence is cut into pieces that begin there. It takes a few launches for all steps, where the steps
        one by one take thirty each with their gradients.
        """
        pieces = _Pieces.of(starts)
        first = torch.where(starts[pieces.step, pieces.row].unsqueeze(1), 0, memory[pieces.row]).unsqueeze(0)
        weights = [self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh]
        with torch.autocast(x.device.type, enabled=False), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk of memory")
            inputs = x.to(self.weight_hh.dtype).flatten(0, 1)
            rows = _Reordered.apply(inputs, pieces.source, pieces.place)  # type: ignore[no-untyped-call]
            rest = True, 1, 0.0, True, False  # biases, layers, dropout, training, both directions
            after, _ = torch.gru(rows, pieces.sizes, first.to(rows.dtype), weights, *rest)
            ordered: Tensor = _Reordered.apply(after, pieces.place, pieces.source)  # type: ignore[no-untyped-call]
            hidden: Tensor = ordered.unflatten(0, starts.shape)
        return hidden


class _Pieces(NamedTuple):
    """The parts of sequences [T, B] between starts, longest first.

    `torch.gru` takes them as one list of rows: all first steps, then the second steps of those that have one, and so on.
    """

    step: Tensor  # (pieces,) the step at which each begins
    row: Tensor  # (pieces,) the sequence in which it lies
    sizes: Tensor  # (longest,) on the CPU: pieces that are longer than k
    place: Tensor  # (T * B,) where each step of each sequence is put
    source: Tensor  # (T * B,) the inverse of `place`

    @classmethod
    def of(cls, starts: Tensor) -> _Pieces:
        """The pieces of sequences that begin anew where `starts` [T, B] is true."""
        time = torch.arange(len(starts), device=starts.device).unsqueeze(1)
        begins = starts | (time == 0)
        since = torch.where(begins, time, 0).cummax(0).values  # the step at which the piece of each entry begins
        step, row = begins.nonzero(as_tuple=True)
        number = torch.empty_like(since)
        number[step, row] = torch.arange(len(step), device=starts.device)
        piece = number.gather(0, since)
        lengths = torch.bincount(piece.flatten(), minlength=len(step))
        longest_first = lengths.argsort(descending=True, stable=True)
        rank = torch.empty_like(longest_first)
        rank[longest_first] = torch.arange(len(step), device=starts.device)
        sizes = (lengths > time).sum(1)
        place = ((sizes.cumsum(0) - sizes)[time - since] + rank[piece]).flatten()
        source = torch.empty_like(place)
        source[place] = torch.arange(len(place), device=starts.device)
        on_host = sizes.cpu()
        return cls(step[longest_first], row[longest_first], on_host[on_host > 0], place, source)


class _Reordered(torch.autograd.Function):
    """Rows in another order, whose gradient goes back through the inverse order: nothing is added up, as indexing would."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
        ctx.save_for_backward(inverse)
        return rows[order]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (inverse,) = ctx.saved_tensors
        return gradient[inverse], None, None


class _Scan(torch.autograd.Function):
    """The steps of a sequence and their gradient, with one matrix product for each weight's gradient instead of one for each step.

    A step's product with the weights costs as much for few rows as reading the weights takes, and threads that share a batch wait for
    each other between operations: both are kept to what depends on the step before. With r, z the reset and update gates, n the new
    values and m the memory's part of n before r, h' = n + z (h - n).

    Matrix products are computed in `dtype`, the rest in the weights' precision, so that small updates of the memory and gradients of many
    steps are not rounded away. Where products within a step are too small to pay for casts, they are in the weights' precision as well.
    """

    @staticmethod
    def forward(
        ctx: Any,
        dtype: torch.dtype,
        x: Tensor,
        memory: Tensor,
        kept: Tensor,
        weight_in: Tensor,
        weight_memory: Tensor,
        bias_in: Tensor,
        bias_memory: Tensor,
    ) -> Tensor:
        steps, rows, size = *x.shape[:2], memory.shape[-1]
        exact = weight_memory.dtype
        step_dtype = dtype if rows * weight_memory.numel() >= PRODUCTS_FOR_CASTS else exact
        x, weight_in, step_weight = x.to(dtype), weight_in.to(dtype), weight_memory.to(step_dtype)
        # r, z, n: first the input's part, then all
        gates = nn.functional.linear(x, weight_in, bias_in.to(dtype)).to(exact)
        before, m, hidden = (gates.new_empty(steps, rows, size) for _ in range(3))
        own, transposed, bias = step_weight.new_empty(rows, 3 * size), step_weight.t(), bias_memory.to(step_dtype)
        own_both, own_new = own[:, : 2 * size], own[:, 2 * size :]
        both, (r, z, n) = gates[..., : 2 * size], gates.view(steps, rows, 3, size).unbind(2)
        # Views are made before the loop: to index a tensor keeps the interpreter's lock as long as an operation takes.
        for rz, r_t, z_t, n_t, m_t, before_t, after, keep in _by_step(both, r, z, n, m, before, hidden, kept):
            torch.mul(memory, keep, out=before_t)
            torch.addmm(bias, before_t.to(step_dtype), transposed, out=own)
            rz.add_(own_both).sigmoid_()
            m_t.copy_(own_new)
            n_t.addcmul_(m_t, r_t).tanh_()
            memory = torch.lerp(n_t, before_t, z_t, out=after)
        ctx.save_for_backward(x, kept, gates, before, m, weight_in, step_weight)
        return hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, kept, gates, before, m, weight_in, step_weight = ctx.saved_tensors
        dtype, step_dtype, exact = x.dtype, step_weight.dtype, gates.dtype
        steps, rows, size = before.shape
        r, z, n = gates.view(steps, rows, 3, size).unbind(2)
        # The gradient by the gates is a factor times that by h'; only the latter has to be known step by step.
        factor = torch.empty_like(gates)
        by_gate = factor.view(steps, rows, 3, size)
        by_r, by_z, by_n = by_gate.unbind(2)
        inner = 1 - n * n
        inner.addcmul_(inner, z, value=-1)
        torch.mul(inner, r, out=by_n)
        torch.mul(by_n, m, out=by_r).addcmul_(by_r, r, value=-1)
        torch.sub(before, n, out=by_z).mul_(z).addcmul_(by_z, z, value=-1)
        by_hidden, later = torch.empty_like(before), torch.zeros_like(before[0])
        keeps = torch.cat([kept[1:], kept[:1]])  # of the step after; after the last one `later` is 0
        views = _by_step(gradient, z, factor, by_gate, by_hidden, keeps)
        for gradient_t, z_t, factor_t, by_gate_t, by_hidden_t, keep in reversed(list(views)):
            torch.addcmul(gradient_t, keep, later, out=by_hidden_t)
            by_gate_t.mul_(by_hidden_t.unsqueeze(1))
            torch.mul(by_hidden_t, z_t, out=later)
            if step_dtype == exact:
                later.addmm_(factor_t, step_weight)
            else:
                later.add_(factor_t.to(step_dtype) @ step_weight)
        flat = factor.flatten(0, 1)
        by_weight_memory, by_bias_memory = flat.to(dtype).t() @ before.flatten(0, 1).to(dtype), flat.sum(0)
        torch.mul(inner, by_hidden, out=by_n)  # the input's part of n is not multiplied by r
        cast = flat.to(dtype)
        by_weights = cast.t() @ x.flatten(0, 1), by_weight_memory, flat.sum(0), by_bias_memory
        return None, (cast @ weight_in).view_as(x), later * kept[0], None, *by_weights


def _by_step(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The parts of tensors [T, ...] for each step."""
    return zip(*(tensor.unbind() for tensor in tensors), strict=True)
