"""Options of a dataclass: their names, the words that they take, and the values that words stand for."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from itertools import cycle
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from ..errors import LudoryError, OptionError

T = TypeVar("T")
GAME_NAMES = ("--game", "--env")
"""Two names of one option, in every command."""
NONE = ("None", "none")
"""Words for None, where an option may be None."""


class Arg(NamedTuple):
    """Annotation of a field: what its type does not say of the option. Of several, the outer ones win."""

    metavar: str = ""
    """What the help has in place of a value, such as FILE."""
    name: str = ""
    """Name of the option instead of the field's."""
    aliases: tuple[str, ...] = ()
    """Further names, such as --lr."""
    read: Callable[[str], Any] | None = None
    """Makes the value of a word; a ValueError says what is allowed."""
    positional: bool = False
    """Is typed without a name."""
    repeated: bool = False
    """May be given several times; the field is a tuple with a value for each."""
    hidden: bool = False
    """No option, set by the program."""


Positional = Annotated[T, Arg(positional=True)]
"""Is typed without a name, such as `game: Positional[str]`."""
Repeated = Annotated[T, Arg(repeated=True)]
"""May be given several times, such as `ask: Repeated[tuple[str, ...]]`."""
Hidden = Annotated[T, Arg(hidden=True)]
"""No option, set by the program."""


def whole_number(text: str) -> int:
    """5000000 for "5000000", "5_000_000" and "5e6".

    Raises:
        ValueError: the text is not a whole number.
    """
    try:
        value = int(text)
    except ValueError:
        value = _whole(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError("must be a whole number between -2^63 and 2^63")
    return value


def _whole(text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value.is_integer():
        raise ValueError("must be a whole number, such as 5000 or 5e6")
    return int(value)


def number(text: str) -> float:
    """0.0003 for "3e-4".

    Raises:
        ValueError: the text is not a number.
    """
    try:
        return float(text)
    except ValueError:
        raise ValueError("must be a number, such as 0.5 or 3e-4") from None


class Kind(NamedTuple):
    """A type, without its annotations."""

    type: Any
    arg: Arg
    optional: bool
    """May be None."""


class Option(NamedTuple):
    """An option or a positional argument, as read from a field of a dataclass."""

    field: str
    names: tuple[str, ...]
    """As typed, such as --game and --env, the last of a flag to switch it off; of a positional argument, what may be typed in its place."""
    kind: Kind
    """Type of a value; of a repeated option, that of each."""
    positional: bool
    repeated: bool
    default: Any
    """`dataclasses.MISSING` if there is none."""
    owner: type[Any]
    """The dataclass of the field."""

    @property
    def shown(self) -> str:
        """How messages call it."""
        return (self.kind.arg.metavar or self.field.upper()) if self.positional else self.names[0]

    @property
    def is_flag(self) -> bool:
        """Takes no word."""
        return self.kind.type is bool and not self.kind.optional and self.kind.arg.read is None

    @property
    def is_switch(self) -> bool:
        """On, off, or left to the program: --x, --no-x, or --x with one of the words True, False and None."""
        return self.kind.type is bool and self.kind.optional

    @property
    def many(self) -> bool:
        """Takes any number of words."""
        return self.kind.arg.read is None and get_origin(self.kind.type) in (tuple, list, dict, Mapping)

    @property
    def choices(self) -> tuple[str, ...]:
        """All values, if these are few names."""
        return tuple(map(str, get_args(self.kind.type))) if get_origin(self.kind.type) is Literal else ()

    def value(self, given: Sequence[Sequence[str]]) -> Any:
        """What typed words stand for; those of each time that the option was given.

        Raises:
            OptionError: what is not a number, or not one of a few names, where that is asked for.
        """
        if self.is_flag:
            return given[-1][0] != self.names[-1]
        values = [self._value(words) for words in given]
        return tuple(values) if self.repeated else values[-1]

    def _value(self, words: Sequence[str]) -> Any:
        if self.kind.optional and len(words) == 1 and words[0] in NONE:
            return None
        if not self.many:
            return self._read(self.kind, words[0])
        inner = get_args(self.kind.type)
        parts = [kind_of(one) for one in inner if one is not Ellipsis]
        is_table, is_fixed = get_origin(self.kind.type) in (dict, Mapping), inner[-1] is not Ellipsis
        if is_fixed and not is_table and len(words) == 1:
            words = words[0].split(",")
        if len(words) % len(parts) or (is_fixed and not is_table and len(words) != len(parts)):
            each = "pairs of a name and a value" if is_table else f"{len(parts)} values, such as {_words(self.default)}"
            raise OptionError(f"{self.shown} {' '.join(words)[:99]}: must be {each}")
        values = [self._read(part, word) for part, word in zip(cycle(parts), words, strict=False)]
        return dict(zip(values[::2], values[1::2], strict=True)) if is_table else tuple(values)

    def _read(self, part: Kind, word: str) -> Any:
        if part.optional and word in NONE:
            return None
        try:
            return _reader(part)(word)
        except LudoryError:
            raise
        except ValueError as error:
            raise OptionError(f"{self.shown} {word[:99]}: {error}") from error


def _reader(kind: Kind) -> Callable[[str], Any]:
    if kind.arg.read is not None:
        return kind.arg.read
    if get_origin(kind.type) is Literal:
        return lambda word: _choice(word, get_args(kind.type))
    if get_args(kind.type):  # such as int | str
        return lambda word: _first([_reader(kind_of(one)) for one in get_args(kind.type)], word)
    read: Callable[[str], Any] = _READERS.get(kind.type, kind.type)
    return read


def _choice(word: str, values: Sequence[Any]) -> Any:
    names = {str(value): value for value in values}
    if word in names:
        return names[word]
    near = difflib.get_close_matches(word, names, 1)
    *first, last = names
    allowed = f"{', '.join(first)} or {last}" if first else last
    raise ValueError(f"must be {allowed}" + (f"; did you mean {near[0]}?" if near else ""))


def _first(readers: Sequence[Callable[[str], Any]], word: str) -> Any:
    """The value that the first reader makes that can; text comes last."""
    *others, last = sorted(readers, key=lambda one: one is str)
    for read in others:
        try:
            return read(word)
        except ValueError:
            continue
    return last(word)


_READERS: dict[Any, Callable[[str], Any]] = {
    int: whole_number,
    float: number,
    bool: lambda word: _choice(word.capitalize(), ("True", "False")) == "True",
}


def options_of(kind: type[Any]) -> tuple[Option, ...]:
    """The options of a dataclass, and of those in its fields, which share its names."""
    found = list(_options(kind))
    taken = {name for option in found for name in option.names}
    free = tuple(name for name in GAME_NAMES if name not in taken)
    return tuple(
        option._replace(names=(*option.names, *free)) if option.names[:1] in (("--game",), ("--env",)) else option
        for option in found
    )


def _options(kind: type[Any]) -> Iterator[Option]:
    hints = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        part = kind_of(hints[one.name])
        if not one.init or part.arg.hidden or Any in get_args(part.type):  # what it holds, no word can say
            continue
        if is_dataclass(part.type):
            yield from options_of(part.type)  # type: ignore[arg-type]
            continue
        name, positional, repeated = part.arg.name or one.name, part.arg.positional, part.arg.repeated
        names: tuple[str, ...] = ("--" + name.replace("_", "-"), *part.arg.aliases)
        if positional:
            names = GAME_NAMES if name == "game" else ()
        elif part.type is bool and part.arg.read is None:
            names = (*names, "--no-" + names[0][2:])
        if repeated:
            inner = kind_of(get_args(part.type)[0])
            part = inner._replace(arg=inner.arg._replace(metavar=part.arg.metavar or inner.arg.metavar))
        default = one.default if one.default_factory is MISSING else one.default_factory()
        yield Option(one.name, names, part, positional, repeated, default, kind)


def kind_of(hint: object) -> Kind:
    """The type without annotations and without `| None`."""
    arg, optional = Arg(), False
    while True:
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            for extra in reversed(more):
                if isinstance(extra, Arg):
                    arg = extra._replace(**{name: value for name, value in arg._asdict().items() if value})
            continue
        rest = [part for part in get_args(hint) if part is not type(None)]
        if get_origin(hint) is not tuple and len(rest) < len(get_args(hint)) and get_origin(hint) is not Literal:
            optional = True
            if len(rest) == 1:
                hint = rest[0]
                continue
        return Kind(hint, arg, optional)


def _words(default: Any) -> str:
    return ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
