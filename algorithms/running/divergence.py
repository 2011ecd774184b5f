"""Checks that losses, gradients and weights stay finite; they stop a run that has diverged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor

from ludory.agents.networks.policy import not_finite
from ludory.errors import TrainingError

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
