"""Adam, made without PyTorch's compiler; its moments as named tensors, so that a checkpoint needs no pickles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor
from torch.optim import Adam, Optimizer

MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def make_adam(parameters: Iterable[Tensor], learning_rate: float) -> Adam:
    """`Adam(parameters, lr=learning_rate, eps=1e-5, fused=True)`, which takes a second less and 150 MB less, until its first step.

    PyTorch forbids its compiler to look into the method that takes parameters, and imports the compiler to tell it so.
    """
    guarded: Any = getattr(Optimizer.add_param_group, "__wrapped__", None)
    if guarded is None or hasattr(guarded, "__dynamo_disable"):
        return Adam(parameters, lr=learning_rate, eps=1e-5, fused=True)
    guarded.__dynamo_disable = guarded
    try:
        return Adam(parameters, lr=learning_rate, eps=1e-5, fused=True)
    finally:
        del guarded.__dynamo_disable


def save_adam(optimizer: Adam) -> dict[str, Tensor]:
    """One tensor per parameter and moment; empty before the first step."""
    states = optimizer.state_dict()["state"]
    return {f"adam/{index}/{name}": state[name] for index, state in states.items() for name in MOMENTS}


def load_adam(optimizer: Adam, tensors: dict[str, Tensor]) -> None:
    """Restore what `save_adam` returned; other tensors are left alone."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        if key.startswith("adam/"):
            _, index, name = key.split("/")
            state.setdefault(int(index), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
