"""Specs, as users type them: `random`, `pimc(worlds=10)`, `sparta(hanabi/smartbot, joint=True)`, `run/hanabi.ludory`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ludory.errors import OptionError

CHECKPOINT_SUFFIX = ".ludory"
HUB = "hf://"
"""Before the name of a repository of the Hugging Face hub, such as hf://owner/name, in the place of a file."""
FOLDER_HEADER = "ludory.json"
"""File in every folder that is a checkpoint."""
_CALL = re.compile(r"(?P<name>[^()]*?)\s*\((?P<arguments>.*)\)", re.DOTALL)
_HUB = re.compile(rf"{HUB}[^()\s]*")
_KEYWORD = re.compile(r"(?P<key>[A-Za-z_]\w*)\s*=\s*(?P<value>.+)", re.DOTALL)
_WORDS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True, slots=True)
class Spec:
    """A name with arguments. Arguments that are specs themselves stay strings."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    checkpoint: bool = False
    """True if `name` is a checkpoint: the path of a file or folder, or hf://owner/name."""


def parse_spec(text: str) -> Spec:
    """Parse `name`, `name(value, key=value)`, or a checkpoint: a path (ends in .ludory, is an existing file, or a folder with a ludory.json) or hf://owner/name.

    Values are Python literals (also `true`, `false`, `none`); anything else is a string, so names need no quotes.

    Raises:
        OptionError: the text is empty, or its brackets or arguments are invalid.
    """
    text = text.strip()
    if _is_checkpoint(text):
        return Spec(text, checkpoint=True)
    match = _CALL.fullmatch(text)
    name = match["name"] if match else text
    if not name or (re.search(r"[\s(),=]", name) and not _is_checkpoint(name)):
        raise OptionError(
            f"{text!r} is not a name; type one like random, name(option=1) or a path that ends in {CHECKPOINT_SUFFIX}"
        )
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for argument in _split(match["arguments"], text) if match else []:
        keyword = _KEYWORD.fullmatch(argument)
        if keyword and keyword["key"] in kwargs:
            raise OptionError(f"{text!r} gives {keyword['key']} twice")
        if keyword:
            kwargs[keyword["key"]] = parse_value(keyword["value"])
        elif kwargs or not argument:
            raise OptionError(f"{text!r}: arguments are values first, then key=value, with commas between")
        else:
            args.append(parse_value(argument))
    return Spec(name, tuple(args), kwargs, _is_checkpoint(name))


def parse_value(text: str) -> Any:
    """A Python literal, `true`, `false` or `none`; any other text is a string."""
    text = text.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # the last two: brackets are nested too deeply
        return text


def _is_checkpoint(text: str) -> bool:
    if text.rstrip("/").endswith(CHECKPOINT_SUFFIX) or _HUB.fullmatch(text):
        return True
    try:
        path = Path(text)
        return path.is_file() or (path / FOLDER_HEADER).is_file()
    except (OSError, ValueError):  # too long for a path, or a zero byte
        return False


def _split(arguments: str, text: str) -> list[str]:
    """Parts between the commas outside brackets and quotes."""
    parts, start, closing, quote, escaped = [], 0, [], "", False
    for k, character in enumerate(arguments):
        if quote:
            quote = "" if character == quote and not escaped else quote
            # a backslash behind a backslash escapes nothing
            escaped = character == "\\" and not escaped
        elif character in "'\"":
            quote = character
        elif character in "([{":
            closing.append(")]}"["([{".index(character)])
        elif character in ")]}" and (not closing or closing.pop() != character):
            raise OptionError(f"{text!r} has a {character!r} too many")
        elif character == "," and not closing:
            parts.append(arguments[start:k].strip())
            start = k + 1
    if quote or closing:
        raise OptionError(f"{text!r} lacks a closing {quote or closing[-1]!r}")
    return [*parts, arguments[start:].strip()] if arguments.strip() else []


def short_name(spec: str) -> str:
    """An agent's spec as pages show it: of a checkpoint, only its folder and its file, such as "ppo-seed1/hanabi.ludory"."""
    head, _, rest = spec.partition("(")
    if not head.endswith((CHECKPOINT_SUFFIX, ".zip")):
        return spec
    return "/".join(head.replace("\\", "/").split("/")[-2:]) + (f"({rest}" if rest else "")
