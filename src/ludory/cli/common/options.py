"""`--option KEY=VALUE` of the commands that make a game."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ludory.errors import OptionError
from ludory.plugins.spec import parse_value


def add_options(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the argument `--option`, to be read by `parse_options`."""
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="option of the game, may be repeated; e.g. --option players=3",
    )


def parse_options(texts: Sequence[str]) -> dict[str, Any]:
    """{"players": 3, "observation": "minimal"} for ["players=3", "observation=minimal"].

    Values are numbers, `true`, `false`, `none` or other Python literals; anything else is a string.

    Raises:
        OptionError: a text is not KEY=VALUE, or a key comes twice.
    """
    options: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key.isidentifier():
            raise OptionError(f"--option {text}: must be KEY=VALUE, e.g. --option players=3")
        if key in options:
            raise OptionError(f"--option {key} is given twice; leave one out")
        options[key] = parse_value(value)
    return options


def count(text: str) -> int:
    """2000000 for "2e6", "2_000_000" or "2,000,000".

    Raises:
        ValueError: it is no number, or one without end.
    """
    number = float(text.replace("_", "").replace(",", ""))
    if not math.isfinite(number):
        raise ValueError(f"{text} is not finite")
    return int(number)


def seconds(text: str) -> float:
    """0.5 for "0.5".

    Raises:
        ValueError: it is no number, below 0, or without end.
    """
    number = float(text)
    if not 0 <= number < math.inf:
        raise ValueError(f"{text} is no time to wait")
    return number


def file_with_suffix(option: str, file: Path, suffix: str) -> Path:
    """`file` with the ending `suffix`.

    Raises:
        OptionError: it is no name of a file, such as "" or "..".
    """
    try:
        return file.with_suffix(suffix)
    except ValueError as error:
        raise OptionError(f"{option} {str(file)!r}: name a file, such as runs/model{suffix}") from error


def behind_dashes(argv: list[str]) -> tuple[list[str], list[str]]:
    """What stands before and behind `--`."""
    place = argv.index("--") if "--" in argv else len(argv)
    return argv[:place], argv[place + 1 :]


def learner_options(command: str, learner: str, argv: list[str]) -> dict[str, Any]:
    """Fields of the config of the algorithm `learner` that differ from their defaults, from options behind `--`."""
    import dataclasses

    import tyro

    from ludory.plugins import algorithms

    kind: Any = algorithms.load(learner).config_class
    config = tyro.cli(kind, prog=f"{command} ... -- ({learner})", args=argv)
    plain = kind()
    return {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(kind)
        if getattr(config, field.name) != getattr(plain, field.name)
    }
