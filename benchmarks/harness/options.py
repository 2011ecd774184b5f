"""Options of benchmarks: a dataclass becomes a command line; its fields are checked before anything is measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_type_hints

from ludory.arguments import read_arguments
from ludory.errors import OptionError

O = TypeVar("O")  # noqa: E741 (options)


class _AtLeast(NamedTuple):
    bound: int

    def check(self, option: str, value: Any) -> None:
        if not value >= self.bound:
            raise OptionError(f"{option} {value}: must be at least {self.bound}")


class _Positive(NamedTuple):
    def check(self, option: str, value: Any) -> None:
        if not value > 0:  # also where it is not a number
            raise OptionError(f"{option} {value:g}: must be greater than 0")


Count = Annotated[int, _AtLeast(1)]
"""An integer of at least 1."""
TwoOrMore = Annotated[int, _AtLeast(2)]
"""An integer of at least 2."""
Natural = Annotated[int, _AtLeast(0)]
"""An integer of at least 0, such as a seed."""
Seconds = Annotated[float, _Positive()]
"""A number above 0."""


def parse_options(kind: type[O], name: str, description: str, argv: Sequence[str]) -> O:
    """The options of the benchmark `name`, from its command line.

    Raises:
        OptionError: a number is out of range.
        SystemExit: the command line cannot be parsed, or asks for help.
    """
    options = read_arguments(kind, argv, f"ludory bench {name}", description=description)
    for field, hint in get_type_hints(kind, include_extras=True).items():
        value = getattr(options, field)
        for one in value if isinstance(value, tuple) else (value,):
            for bound in _bounds(hint) if one is not None else ():
                bound.check(f"--{field.replace('_', '-')}", one)
    return options


def _bounds(hint: Any) -> list[_AtLeast | _Positive]:
    """Those of a type, also within `Count | None` and `tuple[Count, ...]`."""
    found = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, _AtLeast | _Positive)]
    return found + [bound for part in get_args(hint) for bound in _bounds(part)]
