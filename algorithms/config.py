"""Options that every algorithm has. Field docstrings are the command line's help."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from ludory.errors import OptionError
from ludory.limits import OneOf, PositiveInt, check_limits

C = TypeVar("C", bound="LearnerConfig")
Options = TypeVar("Options")


@dataclass(frozen=True, slots=True)
class LearnerConfig:
    """The network of an algorithm, and its device."""

    seed: int = 0
    """Seed of the games, the weights and all random numbers."""
    device: str = "cpu"
    """"cpu" or "cuda", for the games and the network."""
    precision: Annotated[str, OneOf("32", "bf16")] = "32"
    """"32", or "bf16": matrix products of the network in bfloat16."""
    compile: bool = False
    """Compile the network with torch.compile; worthwhile on CUDA, and takes a minute."""
    init_from: str | None = None
    """Checkpoint whose network the training starts from: of any algorithm, or a .zip of Stable-Baselines3, with the same layers."""
    hidden: tuple[int, ...] = ()
    """Width of each hidden layer; empty: the network's own default."""
    activation: str = ""
    """"relu" or "tanh"; empty: the network's own default."""
    separate_value: bool = False
    """Separate hidden layers for the value function, as in Stable-Baselines3."""

    def __post_init__(self) -> None:
        """Check the limits of all fields; a subclass with checks of its own calls this first.

        Raises:
            OptionError: naming the field, the value and what is allowed.
        """
        check_limits(self)


@dataclass(frozen=True, slots=True)
class AlgorithmConfig(LearnerConfig):
    """The games of an algorithm, and its network."""

    num_envs: PositiveInt = 1024
    """Games played side by side."""
    seats: str = "auto"
    """Seats that learn: "all" (self-play where rewards differ), a seat number, or "auto": all under a shared reward, else 0."""
    others: str = "random"
    """Agent in the other seats when one seat learns."""
    shaping: float = 0.0
    """Training reward per unit of the game's progress, such as damage in the arena; scores do not include it."""


def make_options(kind: type[Options], values: Mapping[str, Any]) -> Options:
    """Make the options of a learner, a dataclass of type `kind`, from keyword arguments.

    Raises:
        OptionError: an unknown name, or a number out of range.
    """
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # a dataclass
    for name in values:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise OptionError(f"{kind.__name__} has no option {name!r}; it has {', '.join(names)}{hint}")
    options = kind(**values)
    check_limits(options)  # also where a subclass has a `__post_init__` that does not
    for name in names:
        number = getattr(options, name)
        if isinstance(number, int | float) and not -(2**63) <= number < 2**63 and number != math.inf:
            raise OptionError(f"{name}={number:.3g}: must be a number between -2^63 and 2^63")
    return options


def make_config(kind: type[C], values: Mapping[str, Any]) -> C:
    """Make a config of type `kind` from keyword arguments.

    Raises:
        OptionError: an unknown name, or a number out of range.
    """
    config = make_options(kind, values)
    if isinstance(config.hidden, int | str):
        raise OptionError(f"hidden={config.hidden!r}: must be the widths of the layers, such as (256, 256)")
    return dataclasses.replace(config, hidden=tuple(config.hidden))


def linear(start: float, end: float | None, done: float) -> float:
    """A value that goes from `start` to `end` as `done` goes from 0 to 1; `start` where `end` is None."""
    return start if end is None else start + (end - start) * done
