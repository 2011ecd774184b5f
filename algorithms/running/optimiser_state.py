"""Adam, without PyTorch's compiler, its moments as named tensors, so that a checkpoint needs no pickles; what must stay finite."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adam, AdamW, Optimizer

from ludory.agents.networks.policy import not_finite
from ludory.errors import TrainingError

MOMENTS = ("step", "exp_avg", "exp_avg_sq")


class LightAdam(Adam):
    """`torch.optim.Adam`, with its arguments and numbers, but without PyTorch's compiler, which takes two seconds to import.

    PyTorch forbids its compiler to look into these methods, and imports it to tell it so.
    """

    add_param_group = inspect.unwrap(Optimizer.add_param_group)
    state_dict = inspect.unwrap(Optimizer.state_dict)
    load_state_dict = inspect.unwrap(Optimizer.load_state_dict)
    zero_grad = inspect.unwrap(Optimizer.zero_grad)
    _step = inspect.unwrap(Adam.step)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Change the parameters by their gradients."""
        self._step(closure)


class LightAdamW(LightAdam, AdamW):
    """`torch.optim.AdamW` likewise."""


def make_adam(parameters: Iterable[Tensor], learning_rate: float, captured: bool = False) -> Adam:
    """`LightAdam(parameters, lr=learning_rate, eps=1e-5, fused=True)`.

    captured: on CUDA, its steps can be captured as a graph, with the learning rate on the GPU.
    """
    parameters = list(parameters)
    options: dict[str, Any] = {"lr": learning_rate, "eps": 1e-5, "fused": True}
    if captured and parameters[0].is_cuda:
        options |= {"lr": torch.tensor(learning_rate, device=parameters[0].device), "capturable": True}
    return LightAdam(parameters, **options)


def set_learning_rate(group: dict[str, Any], learning_rate: float) -> None:
    """Of a group of Adam's parameters; one that graphs read is changed where it is."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(learning_rate)
    else:
        group["lr"] = learning_rate


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


CURE = (
    "the run has diverged: begin again from the last checkpoint (init_from=) with a lower learning_rate or max_grad_norm, "
    "or scale large rewards and observations; files saved before are whole"
)


@contextmanager
def diverging(when: Callable[[], str]) -> Iterator[None]:
    """Add to the error of a diverged run when it happened and what to try.

    Raises:
        TrainingError: the error of the block, with these additions.
    """
    try:
        yield
    except TrainingError as error:
        raise TrainingError(f"{when()}: {error}; {CURE}") from error


def check_finite(metrics: Mapping[str, float], weights: Mapping[str, Tensor]) -> None:
    """Check that the losses and gradients among the `metrics`, and the weights, are finite.

    Raises:
        TrainingError: naming the first quantity that is not.
    """
    for name, value in metrics.items():
        if name.endswith(("loss", "gradient_norm")) and not math.isfinite(value):
            raise TrainingError(f"{name} is {value}")
    if wrong := not_finite(weights):
        raise TrainingError(f"the weights {wrong!r} hold NaN or infinity")


def check_savable(file: object, tensors: Mapping[str, Tensor]) -> None:
    """Check that what is written can be resumed.

    Raises:
        TrainingError: weights or moments of the optimiser are not finite.
    """
    learnt = ("policy/", "training/adam/", "training/privileged_value/")
    if name := not_finite({name: tensor for name, tensor in tensors.items() if name.startswith(learnt)}):
        raise TrainingError(f"{file}: not written, for {name!r} holds NaN or infinity; {CURE}")
