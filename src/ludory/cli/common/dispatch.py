"""`main`: finds the verb among the registered commands, runs it, and turns errors into one line and an exit code."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from io import TextIOWrapper

from ludory.algorithms.running.interrupt import exit_code, handled_by, raise_interrupt
from ludory.algorithms.running.torchrun import among_torchrun, hint_of_idle
from ludory.errors import UnknownIdError
from ludory.plugins import commands, jobs
from ludory.plugins.files import FILES, load_file

from .guard import INPUT, answer, say
from .old_spellings import respelt
from .stored import StoredPlaces

USAGE = "usage: ludory [--help] [--version] [--debug] [--plugin FILE] <command> ..."
PIPE_CLOSED = 141
"""Exit code of a reader that went away, as shells count SIGPIPE."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: of the process); returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    if debug:
        arguments.remove("--debug")
    _open_streams()
    with _no_tracebacks_beside(debug), _few_collections(argv is None), among_torchrun() as runs:
        code = _answered(arguments, debug) if runs else 0
        if code == 0 and (hint := hint_of_idle()):
            say(hint)
        return code


def _answered(arguments: list[str], debug: bool) -> int:
    try:
        with _sigterm_as_ctrl_c(), _plugin_files_of_one_command():
            code = _run(arguments)
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # after the help, or of argparse
        return _exit_code(stop)
    except KeyboardInterrupt as stop:
        if debug:
            raise
        say("interrupted")
        return exit_code(stop)
    except BrokenPipeError:  # `ludory list | head`
        _drop_output()
        return PIPE_CLOSED
    except Exception as error:
        if debug:
            raise
        code, text = answer(error)
        say(text)
        _drop_output_that_cannot_be_written()
        return code


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    say(str(stop.code))
    return INPUT


@contextmanager
def _few_collections(whole_process: bool) -> Iterator[None]:
    """Spare a process of one command a third of its time: to look again and again through what is imported, and at its end once more."""
    if whole_process:
        gc.set_threshold(20_000)
    try:
        yield
    finally:
        if whole_process:
            gc.freeze()


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl+C does, with what it writes whole; jobs that can stop cleanly handle both themselves."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        with handled_by(raise_interrupt, signal.SIGTERM):
            yield
    else:
        yield


@contextmanager
def _plugin_files_of_one_command() -> Iterator[None]:
    before = os.environ.get(FILES, "")
    try:
        yield
    finally:
        os.environ[FILES] = before


@contextmanager
def _no_tracebacks_beside(debug: bool) -> Iterator[None]:
    """Of errors that no caller sees.

    Those of finalizers are not told: an object that Ctrl+C left half made, such as one of the compiler's, has no better end. Those of a
    library's threads, such as a writer of logs whose folder is gone, are told in one line. Ctrl+C while the process ends, after the command
    has ended, is not told either.
    """
    before = sys.unraisablehook, threading.excepthook
    if not debug:
        sys.unraisablehook = lambda unraisable: None
        threading.excepthook = _say_of_thread
    try:
        yield
    finally:
        sys.unraisablehook, threading.excepthook = before
        if before[0] is sys.__unraisablehook__:
            sys.unraisablehook = _tell_all_but_interrupts


def _tell_all_but_interrupts(unraisable: sys.UnraisableHookArgs) -> None:
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _say_of_thread(ended: threading.ExceptHookArgs) -> None:
    if isinstance(ended.exc_value, Exception):
        say(f"a thread in the background ended: {answer(ended.exc_value).text}")


def _open_streams() -> None:
    """Stand-ins for closed streams, so that no file gets their numbers; no character is one that cannot be printed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _drop_output_that_cannot_be_written() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _drop_output() -> None:
    """Forget what waits to be written: at the end Python would try once more, and complain."""
    with suppress(OSError):  # a stream without a number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str]) -> int:
    while arguments[:1] == ["--plugin"]:
        load_file("".join(arguments[1:2]))
        arguments = arguments[2:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(help_text())
        return 0 if arguments else INPUT
    if arguments[0] == "--version":
        from importlib.metadata import version

        print(f"ludory {version('ludory')}")
        return 0
    if arguments[0].startswith("-"):
        near = get_close_matches(arguments[0], ("--help", "--version", "--debug", "--plugin"), 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UnknownIdError(f"unknown option {arguments[0]!r}; {hint}{USAGE}")
    arguments = respelt(arguments)
    with StoredPlaces(arguments):
        job = "/".join(arguments[:2])
        if job in jobs or job in jobs.missing:
            return jobs.load(job).run(arguments[2:])
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
            "--plugin FILE first runs a file of Python that registers games, agents or algorithms of yours.",
            "A URL such as s3://bucket/run may stand for a file or folder: --work DIR, --push-every SECONDS.",
        ]
    )
