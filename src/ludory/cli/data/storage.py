"""`ludory storage`: copies of runs, recordings and checkpoints in stores such as S3."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Annotated

from ludory.arguments import Arg
from ludory.cli.common.options import Flag, Maybe
from ludory.cli.common.parser import parse, run_job
from ludory.errors import OptionError, OutputError

if TYPE_CHECKING:
    from ludory.data.storage import Stored

JOBS = {
    "push": ("data.storage:push", "copy a folder or a file to a store, only what has changed"),
    "pull": ("data.storage:pull", "copy what was stored into a folder"),
}


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    return run_job(
        "storage", "Copies in stores named by a URL: s3://, gs://, file://, and those of fsspec.", JOBS, argv
    )


@dataclass(frozen=True, kw_only=True)
class _Push:
    """Copy a folder or a file to a store; files that are there already are not sent again.

    A job may write to the folder meanwhile. The copy is whole or not there: its list of files is written last.

    Example: ludory storage push runs/league s3://bucket/league
    """

    place: Annotated[str, Arg(positional=True, metavar="PLACE")]
    """Folder or file."""
    url: Annotated[str, Arg(positional=True, metavar="URL")]
    """Where it is stored, such as s3://bucket/folder; credentials are those of the environment."""
    every: Annotated[Maybe[float], Arg(metavar="SECONDS")] = None
    """Copy again and again, with so many seconds between two copies, and a last time at Ctrl+C or SIGTERM."""
    json: Flag = False
    """Print one JSON object for each copy, for programs."""


def push(argv: list[str]) -> int:
    """Store a folder, once or again and again; returns the exit code."""
    chosen = parse(_Push, argv, "storage push")
    from ludory.data.storage import store

    if chosen.every is None:
        return _told(store(chosen.place, chosen.url), chosen.url, chosen.json)
    if not chosen.every > 0:
        raise OptionError(f"--every {chosen.every}: must be more than 0 seconds")
    from ludory.algorithms.running.interrupt import stop_on_interrupt

    over = Event()
    with stop_on_interrupt(over.set):
        while True:
            # read before the copy: what was written until then is in the last one
            last = over.is_set()
            try:
                _told(store(chosen.place, chosen.url), chosen.url, chosen.json)
            except OutputError as error:  # a store that cannot be reached now may be later
                print(f"ludory: {error}", file=sys.stderr)
                if last:
                    return 3
            if last:
                return 0
            over.wait(chosen.every)


@dataclass(frozen=True, kw_only=True)
class _Pull:
    """Copy what `ludory storage push` stored into a folder, which appears when it is whole.

    Example: ludory storage pull s3://bucket/league runs/league
    """

    url: Annotated[str, Arg(positional=True, metavar="URL")]
    """Where it is stored."""
    folder: Annotated[str, Arg(positional=True, metavar="DIR")]
    """New folder."""
    replace: Flag = False
    """Replace the folder if it has files."""
    json: Flag = False
    """Print one JSON object, for programs."""


def pull(argv: list[str]) -> int:
    """Fetch a folder; returns the exit code."""
    chosen = parse(_Pull, argv, "storage pull")
    from ludory.data.storage import fetch

    return _told(fetch(chosen.url, chosen.folder, replace=chosen.replace), chosen.folder, chosen.json)


def _told(done: Stored, target: str, as_json: bool) -> int:
    if as_json:
        print(json.dumps(done._asdict()))
    else:
        print(f"{done.files:,} files ({done.bytes / 1e6:,.1f} MB) in {target}, {done.sent:,} of them copied now")
    return 0
