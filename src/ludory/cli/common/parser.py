"""`parse`: the command line as a dataclass of options; `run_job`: commands that have several jobs.

A command is a dataclass of options, whose class docstring is its help and whose field docstrings are the help of its options, and a
function that takes one.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TypeVar

from ludory.arguments import Arguments, Described, answer, is_describing, read_arguments, scan
from ludory.errors import OptionError, UnknownIdError

T = TypeVar("T")


def parse(options: type[T], argv: Sequence[str], command: str, default: T | None = None) -> T:
    """The arguments of `ludory COMMAND` as `options`, with the defaults of the class or of an instance.

    Raises:
        OptionError: the arguments are wrong; the message says what is allowed.
        SystemExit: after the help, or the configuration of --print-config.
    """
    return read_arguments(options, argv, f"ludory {command}", default=default)


def parse_with_learner(options: type[T], argv: Sequence[str], command: str) -> tuple[T, list[str]]:
    """As `parse`, and the words behind `--`, which are options of a learner."""
    place = argv.index("--") if "--" in argv else len(argv)
    found = scan(options, argv[:place], f"ludory {command}")
    found.behind = list(argv[place + 1 :]) or found.behind
    return answer(found), found.behind


def parse_known(options: type[T], argv: Sequence[str], command: str) -> tuple[T, Arguments[T]]:
    """As `parse`, for a command whose other options are known later: they are in `rest` of what is returned second."""
    found = scan(options, argv, f"ludory {command}", partial=True)
    return found.build(), found


def run_job(command: str, about: str, jobs: Mapping[str, tuple[str, str]], argv: Sequence[str]) -> int:
    """Do one of the jobs of `ludory COMMAND`; returns the exit code.

    jobs: "module:function" within `ludory.cli`, imported when it is asked for, and one line for people, by name.

    Raises:
        UnknownIdError: there is no such job.
    """
    if jobs_shown(command, about, {name: summary for name, (_, summary) in jobs.items()}, argv):
        return 0 if argv else 2
    if argv[0] not in jobs:
        near = difflib.get_close_matches(argv[0], jobs, 1, 0)
        raise UnknownIdError(f"{command} {argv[0]}: must be one of {', '.join(jobs)}; did you mean {near[0]!r}?")
    module, _, function = jobs[argv[0]][0].partition(":")
    code: int = getattr(import_module(f"ludory.cli.{module}"), function)(list(argv[1:]))
    return code


def jobs_shown(command: str, about: str, summaries: Mapping[str, str], argv: Sequence[str], kind: str = "job") -> bool:
    """Print the help of a command with several jobs, if it is asked for or no job is named; returns whether it was printed.

    Args:
        command: behind `ludory`.
        about: one line.
        summaries: one line for each job, by its name.
        argv: what was typed behind the command.
        kind: what a job of the command is called.

    Raises:
        OptionError: there is an option before the name of a job.
    """
    if is_describing() and not argv:
        raise Described([], tuple(summaries))
    if argv and argv[0] not in ("-h", "--help"):
        if argv[0].startswith("-"):
            raise OptionError(
                f"{command} {argv[0]}: options come behind the name of a {kind}; see `ludory {command} --help`"
            )
        return False
    width = max(map(len, summaries), default=0)
    lines = [f"  {name:{width}}  {summary}" for name, summary in summaries.items()]
    more = f"`ludory {command} <{kind}> --help` tells more of one."
    print("\n".join([f"usage: ludory {command} <{kind}> ...", "", about, "", *lines, "", more]))
    return True
