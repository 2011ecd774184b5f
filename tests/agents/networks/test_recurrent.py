"""`GruStep.scan` beside PyTorch's own cell, step by step, and its gradients beside numerical ones."""

from __future__ import annotations

import pytest
import torch
from python_process import python
from torch import Tensor

from ludory.agents.networks.layers import recurrent
from ludory.agents.networks.layers.recurrent import GruStep

STEPS, ROWS, INPUT, SIZE = 5, 3, 4, 2


def _case(dtype: torch.dtype) -> tuple[GruStep, Tensor, Tensor, Tensor]:
    torch.manual_seed(3)
    cell = GruStep(INPUT, SIZE).to(dtype)
    x = torch.randn(STEPS, ROWS, INPUT, dtype=dtype, requires_grad=True)
    memory = torch.randn(ROWS, SIZE, dtype=dtype, requires_grad=True)
    starts = torch.tensor([[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=torch.bool)
    return cell, x, memory, starts


def _cell_by_cell(cell: GruStep, x: Tensor, memory: Tensor, starts: Tensor) -> Tensor:
    out = []
    for now, start in zip(x, starts, strict=True):
        memory = memory.masked_fill(start.unsqueeze(1), 0)
        memory = torch.gru_cell(now, memory, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
        out.append(memory)
    return torch.stack(out)


@pytest.mark.parametrize(
    ("way", "dtype", "allowed"),
    [
        ("scan", torch.float64, 1e-12),
        ("scan", torch.float32, 1e-5),
        ("scan_pieces", torch.float64, 1e-12),
        ("scan_pieces", torch.float32, 1e-5),
    ],
)
def test_scan_is_the_cell_step_by_step(way: str, dtype: torch.dtype, allowed: float) -> None:
    cell, x, memory, starts = _case(dtype)
    weights = torch.randn(STEPS, ROWS, SIZE, dtype=dtype)
    found = []
    for scan in (getattr(cell, way), lambda *columns: _cell_by_cell(cell, *columns)):
        hidden = scan(x, memory, starts)
        gradients = torch.autograd.grad((hidden * weights).sum(), [x, memory, *cell.parameters()])
        found.append([hidden, *gradients])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=allowed, atol=allowed)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9, 1.0])
def test_pieces_of_random_sequences_are_the_steps_one_by_one(share: float) -> None:
    """On a GPU if there is one, where cuDNN does the work, in its reduced precision."""
    where = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(4)
    cell = GruStep(7, 16)
    x, memory, starts = torch.randn(9, 33, 7), torch.randn(33, 16), torch.rand(9, 33) < share
    expected = _cell_by_cell(cell, x, memory, starts)
    found = cell.to(where).scan_pieces(x.to(where), memory.to(where), starts.to(where))
    allowed = 1e-5 if where == "cpu" else 5e-3
    torch.testing.assert_close(found.cpu(), expected, rtol=allowed, atol=allowed)


def test_gradients_are_those_of_finite_differences() -> None:
    cell, x, memory, starts = _case(torch.float64)

    def scan(x: Tensor, memory: Tensor, *weights: Tensor) -> Tensor:
        named = dict(zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), weights, strict=True))
        hidden: Tensor = torch.func.functional_call(
            _Scanning(cell), {f"cell.{k}": v for k, v in named.items()}, (x, memory, starts)
        )
        return hidden

    inputs = [x, memory, *(weight.detach().clone().requires_grad_() for weight in cell.parameters())]
    assert torch.autograd.gradcheck(scan, inputs)


def test_one_step_is_that_of_the_sequence() -> None:
    cell, x, memory, _ = _case(torch.float64)
    never = torch.zeros(STEPS, ROWS, dtype=torch.bool)
    hidden, now = cell.scan(x, memory, never), memory
    for t in range(STEPS):
        now = cell(cell.inputs(x[t]), now)
        torch.testing.assert_close(now, hidden[t], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("pay", [0, 2**60], ids=["all in bfloat16", "those of a step in float32"])
def test_matrix_products_in_bfloat16_are_near(pay: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrent, "PRODUCTS_FOR_CASTS", pay)
    cell, x, memory, starts = _case(torch.float32)
    found = []
    for low in (True, False):
        with torch.autocast("cpu", torch.bfloat16, enabled=low):
            hidden = cell.scan(x, memory, starts)
        found.append([hidden, *torch.autograd.grad(hidden.square().sum(), [x, memory, *cell.parameters()])])
    for near, exact in zip(*found, strict=True):
        assert near.dtype == torch.float32
        assert 0 < (near - exact).norm() <= 0.01 * exact.norm()


@pytest.mark.slow
def test_torch_compile_sees_the_whole_sequence() -> None:
    """In one graph, which it can fuse; the steps of our own would hide in an operation that it cannot look into."""
    cell, x, memory, starts = _case(torch.float64)
    compiled = torch.compile(cell.scan, backend="aot_eager", fullgraph=True)
    found = []
    for scan in (cell.scan, compiled):
        hidden = scan(x, memory, starts)
        found.append([hidden, *torch.autograd.grad(hidden.square().sum(), [x, memory, *cell.parameters()])])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


class _Scanning(torch.nn.Module):
    def __init__(self, cell: GruStep) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor, memory: Tensor, starts: Tensor) -> Tensor:
        return self.cell.scan(x, memory, starts)


@pytest.mark.slow
def test_a_network_with_memory_is_made_without_pytorchs_compiler():
    made = "import sys, ludory; ludory.make_algorithm('ppo', env='TicTacToe-v0', policy='gru'); "
    assert python(made + "print('torch._dynamo' in sys.modules)").strip() == "False"
