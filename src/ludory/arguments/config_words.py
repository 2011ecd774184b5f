"""Values of a file of `--config` as words of a command line, and the other way round."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from ..config_file import write_config
from ..errors import OptionError
from .options import Option

LEARNER_OPTIONS = "learner_options"
"""Name, in a file of --config, of what is typed behind `--`."""
_WORD = re.compile(r"[A-Za-z_][\w-]*")


def print_config(prog: str, values: dict[str, Any]) -> None:
    """Print a file that `--config` takes."""
    parts = [
        asdict(value) for value in values.values() if is_dataclass(value) and not isinstance(value, type)
    ]  # their fields are options themselves
    shown = {
        name: _plain(value) for table in (values, *parts) for name, value in table.items() if not is_dataclass(value)
    }
    shown = {name: value for name, value in shown.items() if value not in (None, [], {})}
    sys.stdout.write(write_config(shown, f"{prog} --config FILE"))


def words_of(option: Option, value: object) -> list[list[str]]:
    """A value of a file as it would be typed."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise OptionError(f"{option.field}: {value!r}: must be true or false")
        return [[option.names[0 if value else -1]]]
    values = value if isinstance(value, list) else [value]
    if option.repeated:
        return [[text_of(part) for part in one] if isinstance(one, list) else [text_of(one)] for one in values]
    return [[text_of(one) for one in values]]


def words_of_unknown(name: str, value: object) -> list[str]:
    """A value of a file as it would be typed for an option that another parser reads."""
    if isinstance(value, bool):
        return [name if value else "--no-" + name[2:]]
    return [] if value is None else [name, *(text_of(one) for one in (value if isinstance(value, list) else [value]))]


def text_of(value: object) -> str:
    """A value of a file as one word."""
    return "none" if value is None else str(value)


def as_typed_default(option: Option, value: object) -> Any:
    """A default as it would be typed, where the field reads its text itself."""
    return ",".join(map(str, value)) if option.kind.arg.read and isinstance(value, tuple) else value


def field_value(chosen: object, name: str) -> Any:
    """A field of a dataclass, or of one in its fields."""
    if hasattr(chosen, name):
        return getattr(chosen, name)
    assert is_dataclass(chosen)
    return next(
        field_value(inner, name)
        for one in fields(chosen)
        if is_dataclass(inner := getattr(chosen, one.name)) and name in {part.name for part in fields(inner)}
    )


def _plain(value: Any) -> Any:
    """As a file of --config holds it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def plain_words(option: Option, given: list[list[str]]) -> Any:
    """Typed words as a file of --config holds them."""
    if option.is_flag:
        return option.value(given)
    if option.repeated:
        pairs = [word.partition("=") for words in given for word in words]
        if all(equals and _WORD.fullmatch(key) for key, equals, _ in pairs):
            return {key: _number_or_text(value) for key, _, value in pairs}
        return [[_number_or_text(word) for word in words] for words in given]
    words = [_number_or_text(word) for word in given[0]]
    return words if option.many else words[0]


def learner_options(behind: Sequence[str]) -> dict[str, Any]:
    """The words behind `--` as a file of --config holds them."""
    found: dict[str, Any] = {}
    for word in behind:
        name, equals, value = word.partition("=")
        if name.startswith("--"):
            key = name[2:].replace("-", "_")
            found[key] = [_number_or_text(value)] if equals else []
        elif found:
            found[key].append(_number_or_text(word))
    # an option without words is a switch
    alone = {key: not key.startswith("no_") for key, words in found.items() if not words}
    found |= {key: words[0] for key, words in found.items() if len(words) == 1}
    found = {key: value for key, value in found.items() if key not in alone}
    return {LEARNER_OPTIONS: found | {key.removeprefix("no_"): on for key, on in alone.items()}} if behind else {}


def _number_or_text(word: str) -> Any:
    """A number that prints as it was typed; everything else is text."""
    for kind in (int, float):
        try:
            if str(value := kind(word)) == word:
                return value
        except ValueError:
            continue
    return word
