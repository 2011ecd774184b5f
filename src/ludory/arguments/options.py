"""Options of a dataclass: their names, the words that they take, and which words are refused."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from ..errors import LudoryError, OptionError

GAME_NAMES = ("--game", "--env")
"""Two names of one option, in every command."""
SWITCH: Any = Literal["True", "False", "None"]
"""Type of an option that is on, off, or left to the program: --x, --no-x, or --x with one of the words."""


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


class Option(NamedTuple):
    """An option or a positional argument, as read from a field of a dataclass."""

    field: str
    names: tuple[str, ...]
    """As typed, such as --game and --env; of a positional argument, what may be typed in its place."""
    kind: Any
    """Type of a value; None where the field reads its text itself."""
    read: Callable[[list[str]], Any] | None
    """How it does."""
    positional: bool
    many: bool
    """Takes any number of words."""
    repeated: bool
    """May be given several times."""
    optional: bool
    """May be none."""
    default: Any
    """`dataclasses.MISSING` if there is none."""
    metavar: str = ""
    """What the help has in place of a value, such as FILE or DIR; "" if the type says it."""
    called: str = ""
    """How the help calls a positional argument, if not by its field."""

    @property
    def shown(self) -> str:
        """How messages call it."""
        return (self.called or self.field.upper()) if self.positional else self.names[0]

    @property
    def is_flag(self) -> bool:
        """Takes no word."""
        return self.kind is bool

    @property
    def choices(self) -> tuple[str, ...]:
        """All values, if these are few names."""
        return tuple(map(str, get_args(self.kind))) if get_origin(self.kind) is Literal else ()


def options_of(kind: type[Any]) -> list[Option]:
    """The options of a dataclass, and of those in its fields that share its names."""
    from tyro import conf

    hints, found = get_type_hints(kind, include_extras=True), []
    for one in fields(kind):
        base, extras = _unwrapped(hints[one.name])
        named = [extra for extra in extras if hasattr(extra, "aliases")]
        name = next((extra.name for extra in named if extra.name is not None), one.name)
        if conf.Suppress in extras or not one.init:
            continue
        if is_dataclass(base):
            found += options_of(base)  # type: ignore[arg-type]
            continue
        positional = conf.Positional in extras
        aliases = [alias for extra in named for alias in extra.aliases or ()]
        long = ["--" + name.replace("_", "-"), *aliases]
        if positional:
            long = list(GAME_NAMES) if name == "game" else []
        if base in (bool, SWITCH):
            long.append("--no-" + name.replace("_", "-"))
        read = next((extra.instance_from_str for extra in extras if hasattr(extra, "instance_from_str")), None)
        default = one.default if one.default_factory is MISSING else one.default_factory()
        many = read is None and get_origin(base) in (tuple, list, dict, Mapping)
        found.append(
            Option(
                one.name,
                tuple(long),
                None if read else base,
                read,
                positional,
                # what may be given several times, a text each, takes one word each time
                many and not (conf.UseAppendAction in extras and get_args(base)[:1] == (str,)),
                conf.UseAppendAction in extras,
                None in extras,
                default,
                next((extra.metavar for extra in extras if getattr(extra, "metavar", None)), ""),
                next((extra.metavar for extra in reversed(named) if extra.metavar), ""),
            )
        )
    return _with_game_names(found)


def _with_game_names(options: list[Option]) -> list[Option]:
    """The options, of which one that names a game answers to --game and to --env."""
    taken = {name for option in options for name in option.names}
    free = tuple(name for name in GAME_NAMES if name not in taken)
    return [
        option._replace(names=(*option.names, *free))
        if option.names[:1] in (GAME_NAMES[:1], GAME_NAMES[1:])
        else option
        for option in options
    ]


def _unwrapped(hint: Any) -> tuple[Any, list[Any]]:
    """The type without annotations and without `| None`, and all annotations."""
    extras: list[Any] = []
    while True:
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            extras += more
            continue
        rest = [part for part in get_args(hint) if part is not type(None)]
        # `X | None` and nothing else
        if len(rest) == 1 and len(get_args(hint)) == 2 and type(None) in get_args(hint):
            extras.append(None)
            hint = rest[0]
            if hint is bool:
                return SWITCH, extras
            continue
        return hint, extras


def check_words(option: Option, words: Sequence[str]) -> None:
    """Refuse what is not a number or one of a few names, where that is asked for."""
    if option.read is not None:
        try:
            option.read(list(words))
        except LudoryError as error:
            if error.__cause__ is None or isinstance(error.__cause__, LudoryError):
                raise
            raise OptionError(f"{option.shown} {words[0][:99]}: {error.__cause__}") from error
    for word in () if option.is_flag else words:
        if option.optional and word in ("None", "none"):
            continue
        if option.choices and word not in option.choices:
            near = difflib.get_close_matches(word, option.choices, 1)
            *first, last = option.choices
            allowed = f"{', '.join(first)} or {last}" if first else last
            raise OptionError(
                f"{option.shown} {word}: must be {allowed}" + (f"; did you mean {near[0]}?" if near else "")
            )
        # of `tuple[int, ...]` the int
        inner = {part for part in get_args(option.kind) if part is not Ellipsis} if option.many else {option.kind}
        for kind, read in _READERS.items():
            if inner == {kind}:
                try:
                    read(word)
                except ValueError as error:
                    said = str(error) if "must be" in str(error) else f"must be a number ({error})"
                    raise OptionError(f"{option.shown} {word[:99]}: {said}") from error


_READERS: dict[type, Callable[[str], Any]] = {int: whole_number, float: number}
