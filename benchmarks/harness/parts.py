"""Parts of a benchmark that are kept as soon as they are known, so that the same command goes on after a stop."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ludory.algorithms.running.folder_lock import FileLock
from ludory.atomic import atomic_file
from ludory.child_processes import begin_child, process_pool
from ludory.errors import DataError
from ludory.reading import parse_json, read_json
from ludory.written import lost

T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def kept_lines(file: Path, what: str) -> Iterator[tuple[list[Any], Callable[[Any], None]]]:
    """Lines of a file of JSON lines, and a function that appends one; an unfinished last line is removed.

    Args:
        file: that grows; it is locked as long as the block runs.
        what: writes it, for the error.

    Raises:
        DataError: a line is no JSON.
        OutputError: another process writes the file, or it was deleted or replaced in the meantime.
    """
    with FileLock(file, what):
        lines = read_lines(file)
        with file.open("a", encoding="utf-8") as handle:
            handle.truncate(_finished(file))

            def append(line: Any) -> None:
                handle.write(json.dumps(line) + "\n")
                handle.flush()
                os.fsync(handle.fileno())

            yield lines, append
            ours = os.fstat(handle.fileno())
        if not file.exists() or not os.path.samestat(ours, file.stat()):
            raise lost([f"{file} is gone or has been replaced"])


def check_setting(stamp: Path, setting: Mapping[str, Any]) -> None:
    """Write the setting of the parts of a run to the file `stamp`, or check that it is the one written there.

    Raises:
        DataError: it is another one, or damaged.
    """
    wanted = json.loads(json.dumps(setting))
    if not stamp.exists():
        with atomic_file(stamp, "w") as handle:
            json.dump(wanted, handle)
    try:
        found = dict(read_json(stamp))
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"{stamp}: damaged ({error}); put a copy of it back, or name another folder with --out"
        ) from error
    for name, value in wanted.items():
        if found.get(name) != value:
            raise DataError(
                f"{stamp}: the results there are of {name}={found.get(name)!r}, asked for is {value!r}; name another folder with --out"
            )


def read_lines(file: Path) -> list[Any]:
    """Values of a file of JSON lines without an unfinished last line; none where the file is missing.

    Raises:
        DataError: a line is no JSON.
    """
    lines = []
    if file.exists():
        for number, line in enumerate(file.read_bytes()[: _finished(file)].splitlines(), 1):
            try:
                lines.append(parse_json(line))
            except ValueError as error:
                raise DataError(f"{file}, line {number}: not a result ({error}); remove it to play it again") from error
    return lines


def _finished(file: Path) -> int:
    """Bytes of the lines that end."""
    return file.read_bytes().rfind(b"\n") + 1


def in_processes(
    function: Callable[[T], R], tasks: Iterable[T], processes: int, prepare: Callable[[], object] | None = None
) -> Iterator[R]:
    """Results of `function` in the order in which they are known; workers have one thread each.

    Args:
        function: of a module, called in a worker.
        tasks: its arguments.
        processes: how many workers.
        prepare: called once in every worker, e.g. to compile; may be None.
    """
    left, running = iter(tasks), set()
    pool = process_pool(processes, _begin_worker, prepare)
    try:
        for task in left:
            running.add(pool.submit(function, task))
            if len(running) >= 2 * processes:
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (one.result() for one in ended)
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (one.result() for one in ended)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin_worker(prepare: Callable[[], object] | None) -> None:
    begin_child()
    os.environ["LUDORY_NUM_THREADS"] = "1"
    if prepare is not None:
        prepare()
