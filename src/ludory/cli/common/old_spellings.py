"""Old spellings of commands, which go on for a version: each is answered with the new one on stderr."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from .guard import say


class Spelling(NamedTuple):
    """The new spelling of a command."""

    words: str
    """In place of the command's first two words."""
    renamed: Mapping[str, Callable[[str], str]] = {}
    """What stands for an option and its value."""
    flags: Mapping[str, str] = {}
    """What stands for an option without a value."""
    first: str = ""
    """Name of what was typed first."""


def _budget(text: str) -> str:
    return f"--minutes {text[:-1]}" if text.endswith("m") else f"--timesteps {text}"


def _shares(text: str) -> str:
    names = ("--pfsp-share", "--self-play-share", "--verification-share")
    return " ".join(f"{name} {share}" for name, share in zip(names, text.split(","), strict=False))


NEW: Mapping[str, Spelling] = {
    "league run": Spelling(
        "train league --eval-games 0",
        {
            "--budget": _budget,
            "--shares": _shares,
            "--weighting": lambda text: "--prioritised" if text == "priority" else "--no-prioritised",
            "--anchors": lambda text: f"--anchors {text.replace(',', ' ')}",
        },
        {"--ray": "--ray 0"},
    ),
    "league resume": Spelling(
        "train league --resume --eval-games 0", {"--budget": _budget}, {"--ray": "--ray 0"}, "--out"
    ),
    "spa tiny": Spelling("bench spa-tiny"),
    "texas42 train": Spelling("train texas42_oracle --env Texas42Play-v0 --policy domino"),
    "texas42 train-eq": Spelling("train texas42_student --env Texas42Play-v0 --option observation=transcript"),
}
"""By the old spelling."""


def respelt(argv: Sequence[str]) -> list[str]:
    """The command line in the new spelling, which is said if it is another one."""
    spelling = NEW.get(" ".join(argv[:2]))
    if spelling is None:
        return list(argv)
    words, rest = shlex.split(spelling.words), list(argv[2:])
    while rest and rest[0] != "--":
        name, equals, value = rest.pop(0).partition("=")
        if spelling.first and not name.startswith("-"):
            words += [spelling.first, name]
            spelling = spelling._replace(first="")
        elif name in spelling.flags:
            words += spelling.flags[name].split()
        elif name in spelling.renamed and (equals or rest):
            words += spelling.renamed[name](value if equals else rest.pop(0)).split()
        else:
            words.append(name + equals + value)
    say(f"`ludory {' '.join(argv[:2])}` is now `ludory {shlex.join([*words, *rest])}`")
    return [*words, *rest]
