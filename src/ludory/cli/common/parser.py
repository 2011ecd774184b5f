"""`parse`: the command line as a dataclass of options; `run_job`: commands that have several jobs.

A command is a dataclass of options, whose class docstring is its help and whose field docstrings are the help of its options, and a
function that takes one. Two commands use argparse instead: `list`, which must not import a library, and `bench`, which passes the
arguments behind its name on.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from importlib import import_module
from typing import Any, TypeVar

from ludory.errors import LudoryError, OptionError, UnknownIdError

T = TypeVar("T")


def parse(options: type[T], argv: Sequence[str], command: str, default: T | None = None) -> T:
    """The arguments of `ludory COMMAND` as `options`, with the defaults of the class or of an instance.

    Raises:
        OptionError: a field without a default, of any number of values, got none.
        SystemExit: after the help (0), or after a message about arguments that cannot be read (2).
    """
    import tyro

    given: dict[str, Any] = {} if default is None else {"default": default}
    chosen: T = tyro.cli(options, prog=f"ludory {command}", args=list(argv), config=_config(), **given)
    for field in fields(options):  # type: ignore[arg-type]
        if field.default is MISSING and getattr(chosen, field.name) == ():
            raise OptionError(
                f"{field.name} are missing: name one or more; `ludory {command} --help` tells what they are"
            )
    return chosen


def parse_known(options: type[T], argv: Sequence[str], command: str) -> tuple[T, list[str]]:
    """As `parse`, with the arguments that `options` does not know; there is no --help."""
    import tyro

    return tyro.cli(
        options, prog=f"ludory {command}", args=list(argv), config=_config(), return_unknown_args=True, add_help=False
    )


def _config() -> tuple[Any, ...]:
    from tyro import conf

    return conf.FlagCreatePairsOff, conf.DisallowNone, conf.PositionalMetavarFromFieldName, conf.HelptextFromCommentsOff


def typed(read: Callable[[str], Any], metavar: str) -> Any:
    """Annotation of a field whose value is `read` from one argument; a ValueError of `read` ends the command with one line."""
    from tyro.constructors import PrimitiveConstructorSpec

    def from_words(words: list[str]) -> Any:
        try:
            return read(words[0])
        except ValueError as error:  # of these tyro makes a box of several lines
            said = str(error) if isinstance(error, LudoryError) else f"{metavar} {words[0]!r}: {error}"
            raise LudoryError(said) from error

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=from_words,
        is_instance=lambda value: True,
        str_from_instance=_as_typed,
    )


def _as_typed(value: Any) -> list[str]:
    """How the help shows a default."""
    if isinstance(value, tuple):
        return [",".join(map(str, value))]
    return [f"{value:,}" if isinstance(value, int) else str(value)]


def run_job(command: str, about: str, jobs: Mapping[str, tuple[str, str]], argv: Sequence[str]) -> int:
    """Do one of the jobs of `ludory COMMAND`; returns the exit code.

    jobs: "module:function" within `ludory.cli`, imported when it is asked for, and one line for people, by name.

    Raises:
        UnknownIdError: there is no such job.
    """
    if not argv or argv[0] in ("-h", "--help"):
        width = max(map(len, jobs))
        lines = [f"  {name:{width}}  {summary}" for name, (_, summary) in jobs.items()]
        print(
            "\n".join(
                [f"usage: ludory {command} <job> ...", "", about, "", *lines, "", "Each explains itself: --help."]
            )
        )
        return 0 if argv else 2
    if argv[0] not in jobs:
        near = difflib.get_close_matches(argv[0], jobs, 1, 0)
        raise UnknownIdError(f"ludory {command} {argv[0]}: must be one of {', '.join(jobs)}; did you mean {near[0]!r}?")
    module, _, function = jobs[argv[0]][0].partition(":")
    code: int = getattr(import_module(f"ludory.cli.{module}"), function)(list(argv[1:]))
    return code
