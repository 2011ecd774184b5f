"""`main`: finds the verb among the registered commands, runs it, and turns errors into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from ludory.errors import LudoryError, UnknownIdError
from ludory.plugins import commands

USAGE = "usage: ludory [--help] [--version] [--debug] <command> ..."
FAILED, INTERRUPTED, PIPE_CLOSED = 2, 130, 141
"""Exit codes: bad input; Ctrl+C and a reader that went away, as shells count these signals."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: of the process); gives the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    if debug:
        arguments.remove("--debug")
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse and tyro end so, after printing what they have to say
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else _fail(stop.code)
    except LudoryError as error:
        if debug:
            raise
        return _fail(error)
    except KeyboardInterrupt:
        if debug:
            raise
        print("\nludory: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # `ludory list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED


def _fail(message: object) -> int:
    print(f"ludory: {message}", file=sys.stderr)
    return FAILED


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(help_text())
        return 0 if arguments else FAILED
    if arguments[0] == "--version":
        from importlib.metadata import version

        print(f"ludory {version('ludory')}")
        return 0
    if arguments[0].startswith("-"):
        raise UnknownIdError(f"unknown option {arguments[0]!r}\n{USAGE}")
    return commands.load(arguments[0]).run(arguments[1:])


def help_text() -> str:
    """Usage and one line for each command; imports none of them."""
    found = [commands.describe(id) for id in commands.ids()]
    width = max(len(one.id) for one in found)
    lines = [f"  {one.id:{width}}  {one.summary}{' (broken)' if one.problem else ''}" for one in found]
    return "\n".join(
        [
            USAGE,
            "",
            "Games, agents and learning algorithms under one roof.",
            "",
            *lines,
            "",
            "`ludory <command> --help` tells more of one; --debug shows where an error came from.",
        ]
    )
