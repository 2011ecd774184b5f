"""`Dimension`: the values that a sweep tries for one field of a config, written as `1e-4..3e-3`, `1..8` or `64x64,256x256`."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ludory.errors import OptionError
from ludory.plugins.spec import parse_value

LOGARITHMIC = 10
"""A range whose ends differ by this factor is searched by its logarithm."""


class Dimension(NamedTuple):
    """Values of one field: a range from `low` to `high`, or `choices`.

    Args:
        name: of the field.
        low, high: ends of the range; 0 where there are choices.
        choices: the values as they were written; empty where there is a range.
    """

    name: str
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()

    def suggest(self, trial: Any) -> Any:
        """The value that an Optuna trial takes."""
        if self.choices:
            return self.value(trial.suggest_categorical(self.name, list(self.choices)))
        log = self.low > 0 and self.high >= LOGARITHMIC * self.low
        ask = trial.suggest_int if isinstance(self.low, int) and isinstance(self.high, int) else trial.suggest_float
        return self.value(ask(self.name, self.low, self.high, log=log))

    def value(self, kept: Any) -> Any:
        """The value of the field, given what Optuna keeps: floats have four digits."""
        if self.choices:
            return value_of(kept)
        return float(f"{kept:.4g}") if isinstance(kept, float) else kept

    def kept(self, value: Any) -> Any:
        """What Optuna keeps of a value; None if this dimension does not have it."""
        if self.choices:
            return next((text for text in self.choices if value_of(text) == value), None)
        inside = isinstance(value, int | float) and self.low <= value <= self.high
        return value if inside else None

    @property
    def examples(self) -> list[Any]:
        """Values that must be allowed: all choices, or both ends."""
        return [value_of(text) for text in self.choices] or [self.low, self.high]


def dimensions(space: Mapping[str, str], config: Any) -> list[Dimension]:
    """The dimensions of a space, whose values the dataclass `config` allows.

    Args:
        space: texts by name of the field.
        config: the settings that the trials change.

    Raises:
        OptionError: there are none, a text cannot be read, or the config has no such field or does not allow a value.
    """
    if not space:
        raise OptionError(
            f"{type(config).__name__.removesuffix('Config').lower()} states no values to try; name some, e.g. --tune learning_rate=1e-4..3e-3"
        )
    names = [field.name for field in dataclasses.fields(config)]
    found = []
    for name, text in space.items():
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(names)}"
            raise OptionError(f"--tune {name}={text}: {type(config).__name__} has no option {name!r}{hint}")
        one = dimension(name, text)
        for value in one.examples:
            dataclasses.replace(config, **{name: value})  # raises where the value is not allowed
        found.append(one)
    return found


def dimension(name: str, text: str) -> Dimension:
    """The dimension that `text` describes: a range `LOW..HIGH`, of whole numbers where both ends are, or values with commas.

    Raises:
        OptionError: it is neither.
    """
    low, dots, high = text.partition("..")
    if not dots:
        choices = tuple(part.strip() for part in text.split(",") if part.strip())
        if len(choices) < 2:
            raise OptionError(
                f"--tune {name}={text}: must be a range, such as 1e-4..3e-3, or several values, such as 1,2,4"
            )
        return Dimension(name, choices=choices)
    ends = [parse_value(low), parse_value(high)]
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends) or not ends[0] < ends[1]:
        raise OptionError(f"--tune {name}={text}: both ends must be numbers, the smaller one first, such as 1e-4..3e-3")
    return Dimension(name, ends[0], ends[1])


def value_of(text: str) -> Any:
    """(64, 64) for "64x64", 0.5 for "0.5"; as the options of games are read."""
    widths = text.split("x")
    if len(widths) > 1 and all(width.isdecimal() for width in widths):
        return tuple(map(int, widths))
    return parse_value(text)


def typed(settings: Mapping[str, Any]) -> list[str]:
    """Settings as options of `ludory train`."""
    words: list[str] = []
    for name, value in settings.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            words.append(option if value else f"--no-{option[2:]}")
        else:
            words += [
                option,
                *(
                    [str(one) for one in value]
                    if isinstance(value, Sequence) and not isinstance(value, str)
                    else [shown(value)]
                ),
            ]
    return words


def shown(value: Any) -> str:
    """A value in few characters: four digits of a float, 64x64 for widths."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return "x".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
