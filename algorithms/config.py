"""Options that every algorithm has. Field docstrings are the command line's help."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

from ludory.errors import OptionError
from ludory.limits import OneOf, PositiveInt, check_limits

if TYPE_CHECKING:
    from ludory.envs.facts import GameFacts

C = TypeVar("C", bound="LearnerConfig")
Options = TypeVar("Options")


@dataclass(frozen=True, slots=True)
class LearnerConfig:
    """The network of an algorithm, and its device."""

    seed: int = 0
    """Seed of the games, the weights and all random numbers."""
    device: str = "cpu"
    """"cpu" or "cuda", for the games and the network."""
    precision: Annotated[str, OneOf("auto", "float32", "bf16", "32")] = "auto"
    """"float32", or "bf16": matrix products of the network in bfloat16, the rest in float32; "auto": bf16 on CUDA, and on a CPU with units for it if it is the fastest for the network and its minibatches ("32" is the earlier name of float32)."""
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
        if self.precision == "32":
            object.__setattr__(self, "precision", "float32")


@dataclass(frozen=True, slots=True)
class AlgorithmConfig(LearnerConfig):
    """The games of an algorithm, and its network."""

    num_envs: PositiveInt = 1024
    """Games played side by side."""
    seats: str = "auto"
    """Seats that learn: "all" (self-play where rewards differ), a seat number, or "auto": see `others`."""
    others: str = "auto"
    """Agent in the other seats when one seat learns, or "self": all seats learn. With seats="auto": if an agent is named, seat 0 learns against it, or beside it; else all seats learn, except in games with general rewards, where seat 0 learns against "random"."""
    shaping: float = 0.0
    """Training reward per unit of the game's progress, such as damage in the arena; scores do not include it."""

    def __post_init__(self) -> None:
        """As `LearnerConfig.__post_init__`; processes that learn together play as many games each."""
        LearnerConfig.__post_init__(self)
        devices = getattr(self, "devices", 1)
        if self.num_envs % devices:
            raise OptionError(
                f"devices={devices}: each plays as many games, and num_envs={self.num_envs} is no multiple of it; "
                f"take num_envs={-(-self.num_envs // devices) * devices}"
            )


def playing_seats(facts: GameFacts, seats: str, others: str) -> tuple[str, str]:
    """What "auto" means for `seats` and `others`: all seats learn, or one seat learns against an agent.

    Where an agent is named for the other seats, seat 0; else all seats, except under general rewards.
    """
    named = others not in ("auto", "self")
    if seats == "auto":
        one = facts.reward == "general" or (facts.players == 1 and facts.turns == "simultaneous")
        seats = "0" if named or (one and others != "self") else "all"
    return seats, others if named else "random"


def said_seats(facts: GameFacts, seats: str, others: str) -> str:
    """Who plays, in a line; empty in games of one seat."""
    seats, others = playing_seats(facts, seats, others)
    if facts.players == 1:
        return ""
    if seats != "all":
        return f"seat {seats} learns, {others} plays the other seats"
    return "one policy plays all seats" if facts.reward == "shared" else "all seats learn, by self-play"


LEAGUE_GAMES = 512
"""Games that a league's learner plays side by side, unless its options say otherwise."""


BY_LENGTH = ("num_envs", "n_steps", "batch_size", "batch_columns", "unit", "slice_steps", "learner_options")
"""Fields of configs whose defaults depend on the length of a training; see `smaller_batches`, and `unit` of a league."""


def smaller_batches(config: object, timesteps: int) -> dict[str, int]:
    """Fields of a config with which `timesteps` are at least about eight iterations, where its own would make fewer than four.

    Args:
        config: of an algorithm that plays `num_envs` games for `n_steps` decisions in each iteration; others are left as they are.
        timesteps: of the run.
    """
    games, steps = getattr(config, "num_envs", 0), getattr(config, "n_steps", 0)
    if not games * steps or 4 * games * steps <= timesteps:
        return {}
    wanted = max(timesteps // 8, 64)
    # the largest power of two that is not more
    fields = {"num_envs": min(games, max(8, 2 ** (wanted // min(steps, wanted)).bit_length() // 2))}
    fields["n_steps"] = min(steps, max(8, wanted // fields["num_envs"]))
    if hasattr(config, "batch_size"):
        share = fields["num_envs"] * fields["n_steps"] / (games * steps)
        fields["batch_size"] = min(config.batch_size, max(16, int(config.batch_size * share)))
    if hasattr(config, "batch_columns"):
        fields["batch_columns"] = max(1, config.batch_columns * fields["num_envs"] // games)
    return {name: value for name, value in fields.items() if value != getattr(config, name)}


def make_options(kind: type[Options], values: Mapping[str, object]) -> Options:
    """Make the options of a learner, a dataclass of type `kind`, from keyword arguments.

    Raises:
        OptionError: an unknown name, or a number out of range.
    """
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # a dataclass
    for name in values:
        if name not in names:
            from ludory.envs.options import unknown_option  # imports NumPy, which help pages do without

            raise unknown_option(kind.__name__, name, names)
    options = kind(**values)
    check_limits(options)  # also where a subclass has a `__post_init__` that does not
    for name in names:
        number = getattr(options, name)
        if isinstance(number, int | float) and not -(2**63) <= number < 2**63 and number != math.inf:
            raise OptionError(f"{name}={number:.3g}: must be a number between -2^63 and 2^63")
    return options


def make_config(kind: type[C], values: Mapping[str, object]) -> C:
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
