"""`answer`: what the command says of an error, in one line, and the exit code that goes with it."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from traceback import extract_tb
from types import TracebackType
from typing import NamedTuple

from ludory.errors import LudoryError
from ludory.plugins.discovery import discover
from ludory.plugins.requirements import install_command
from ludory.visible import visible

INPUT, MACHINE, PLUGIN, FAULT = 2, 3, 4, 70
"""Exit codes: what was typed, or a file that was named; what the machine lacks; another package; Ludory itself.
docs/reliability.md has them all."""

CLONE = (
    "Ludory's benchmarks are not in the installed package, they run from a clone of the repository; "
    "type there: pip install -e . --config-settings editable_mode=compat"
)
LACKING = {
    errno.ENOSPC: "make room on the disk, or name another place",
    errno.EDQUOT: "your quota is used up: make room, or name another place",
    errno.EFBIG: "the file may not grow further (see `ulimit -f`)",
    errno.EIO: "the disk or what is behind this path does not work",
    errno.EROFS: "name a place that can be written to",
    errno.ENOMEM: "close other programs, or ask for less at once",
    errno.EMFILE: "too many files are open (see `ulimit -n`)",
    errno.ENFILE: "too many files are open on this machine",
    errno.EAGAIN: "no more processes or threads can be started (see `ulimit -u`)",
}
"""What the machine lacks, by the number of the error, and what to do."""
PATHS = {
    errno.ENOENT: "name a file or folder that exists",
    errno.EACCES: "name one that you may use",
    errno.EPERM: "name one that you may use",
    errno.EISDIR: "name a file, not a folder",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EEXIST: "name another one",
    errno.ELOOP: "links that lead to each other; name the file itself",
    errno.ENAMETOOLONG: "choose a shorter name",
}
"""What is wrong with a path that was named, and what to do."""
UNREADABLE = ("pyarrow", "safetensors", "zipfile", "zlib", "gzip", "lzma", "tarfile", "pickle", "json", "_pickle")
"""Modules whose errors mean that a file is damaged, or is another thing than its name says."""
TOO_LARGE = ("integer string conversion", "Maximum allowed dimension", "Overflow when unpacking", "without overflow")
"""Words of Python, NumPy and PyTorch, which have no class of errors for it."""
NESTED = "something that was read is nested too deeply: a file of JSON, or the brackets of an option"


class Answer(NamedTuple):
    """What is said, and the exit code."""

    code: int
    text: str


def answer(error: Exception) -> Answer:
    """The class of an error: see the table in docs/reliability.md."""
    text = str(error)
    if isinstance(error, LudoryError):
        return Answer(MACHINE if _lacks(error.__cause__) else INPUT, text)
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("ludory.benchmarks"):
        return Answer(INPUT, CLONE)
    if isinstance(error, ModuleNotFoundError) and error.name and (command := install_command("ludory", error.name)):
        return Answer(
            INPUT, f"this needs the module {error.name.partition('.')[0]!r}, which is not installed; type: {command}"
        )
    if isinstance(error, MemoryError) or _out_of_memory(error):
        return Answer(
            MACHINE,
            f"out of memory ({_short(text) or 'no more to be had'}); ask for less at once: fewer games, smaller batches",
        )
    if (where := _plugin_of(error)) is not None:
        distribution, place = where
        return Answer(
            PLUGIN,
            f"{distribution} failed: {_named(error)} ({place}); tell its authors, or uninstall it; --debug shows all",
        )
    if isinstance(error, RecursionError):
        return Answer(INPUT, NESTED)
    if isinstance(error, UnicodeError):
        return Answer(INPUT, f"text that is not UTF-8: {_short(text)}")
    if isinstance(error, OSError):
        return _of_system(error)
    if isinstance(error, RuntimeError) and text.startswith("Symlink loop"):  # of Path.resolve, up to Python 3.12
        return Answer(INPUT, f"{_short(text)}; {PATHS[errno.ELOOP]}")
    if isinstance(error, ValueError) and "embedded null" in text:
        return Answer(INPUT, "a path or name holds a zero byte; leave it out")
    if isinstance(error, OverflowError) or any(words in text for words in TOO_LARGE):
        return Answer(INPUT, f"a number is too large: {_short(text)}")
    if type(error).__module__.partition(".")[0] in UNREADABLE or isinstance(error, EOFError):
        return Answer(INPUT, f"a file cannot be read: {_named(error)}; it is damaged, or of another kind")
    return Answer(
        FAULT, f"this is a fault of Ludory, please report it: {_named(error)} ({_place(error)}); --debug shows all"
    )


def _of_system(error: OSError) -> Answer:
    """An operating-system error with the file and what to do."""
    files = [os.fsdecode(one) for one in (error.filename, error.filename2) if isinstance(one, (str, bytes))]
    what = f"{' to '.join(files)}: " if files else ""
    if type(error).__module__ == "pyarrow.lib" or not error.strerror:
        what, said = "", _short(str(error))
    else:
        said = error.strerror
    number = error.errno or 0
    cure = LACKING.get(number) or PATHS.get(number)
    return Answer(INPUT if number in PATHS else MACHINE, f"{what}{said}{f'; {cure}' if cure else ''}")


def _lacks(cause: BaseException | None) -> bool:
    return isinstance(cause, MemoryError) or (isinstance(cause, OSError) and cause.errno in LACKING)


def _out_of_memory(error: Exception) -> bool:
    """PyTorch says it in a RuntimeError of its own, or of none in particular."""
    if type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(
        words in str(error) for words in ("out of memory", "can't allocate memory", "not enough memory")
    )


def _plugin_of(error: BaseException) -> tuple[str, str] | None:
    """Distribution and place of the failing line, if a plugin's code was nearer to it than Ludory's."""
    packages = {
        re.split("[.:]", entry.target)[0]: entry.distribution
        for entries in discover().entries.values()
        for entry in entries
    }
    for frame in reversed(list(_frames(error.__traceback__))):
        package = frame.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        if package in packages:
            return packages[package], f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}"
        if package == "ludory":
            return None
    return None


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _place(error: BaseException) -> str:
    """File and line of the innermost line of Ludory."""
    lines = [
        f"{name.replace('.', '/')}.py:{frame.tb_lineno}"
        for frame in _frames(error.__traceback__)
        if (name := frame.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == "ludory"
    ]
    if lines:
        return lines[-1]
    last = extract_tb(error.__traceback__)[-1:]
    return f"{Path(last[0].filename).name}:{last[0].lineno}" if last else "no place is known"


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {_short(str(error))}"


def _short(text: str) -> str:
    """The first line, 300 characters at most."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 300 else f"{line[:299]}…"


def say(text: str) -> None:
    """Print a line to the error stream, if there is one that can be written to."""
    try:
        print(f"ludory: {visible(text, keep=chr(10))}", file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):  # closed, full, or not there at all
        return
