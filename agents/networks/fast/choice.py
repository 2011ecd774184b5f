"""`fastest`: the fastest of several ways to compute the same, measured once on each machine."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import perf_counter, process_time

import torch
from llvmlite import binding

from ludory.atomic import atomic_file
from ludory.cache_folder import cache_directory
from ludory.envs.engine.parallel import thread_count
from ludory.errors import OptionError

ROUNDS = 3
ROWS = 8192
"""Most rows to measure with."""


def fastest(subject: str, ways: Mapping[str, Callable[[], object]]) -> str:
    """Name of the way that takes the least time on this machine.

    It is measured when a machine meets the subject for the first time, and kept in the cache folder: ways may round differently, and a
    run with the same seed gives the same numbers again. With `LUDORY_MEASURE=0` in the environment it is the first way, unmeasured: the
    same on every machine and for any number of rows.

    Args:
        subject: what is computed, with all sizes that matter.
        ways: called without arguments, a few times each; results are thrown away.

    Raises:
        OptionError: `LUDORY_MEASURE` is neither 0 nor 1.
    """
    measure = os.environ.get("LUDORY_MEASURE") or "1"
    if measure not in ("0", "1"):
        raise OptionError(f"LUDORY_MEASURE={measure!r}: set it to 0 or 1, or unset it")
    if measure == "0":
        return next(iter(ways))
    where = (
        f"{binding.get_host_cpu_name()}, {os.cpu_count()} cores, {thread_count()} threads, torch {torch.__version__}"
    )
    return _kept(f"{subject}; {where}", tuple(ways)) or _measured(f"{subject}; {where}", ways)


@cache
def _file(subject: str) -> Path:
    return cache_directory("choices") / f"{hashlib.sha256(subject.encode()).hexdigest()[:20]}.json"


def _kept(subject: str, names: tuple[str, ...]) -> str | None:
    """What was measured before; None if nothing was, or if the file cannot be read."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        name: str = json.loads(_file(subject).read_text(encoding="utf-8"))["fastest"]
        return name if name in names else None
    return None


def _measured(subject: str, ways: Mapping[str, Callable[[], object]]) -> str:
    for way in ways.values():
        way()  # compiles
    # with one thread, what others do on the machine is left out
    now = process_time if thread_count() == 1 else perf_counter
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, way in ways.items():
            began = now()
            way()
            best[name] = min(best[name], now() - began)
    fastest = min(best, key=best.__getitem__)
    milliseconds = {name: round(1000 * seconds, 3) for name, seconds in best.items()}
    # another process may have measured meanwhile: the first one counts
    if (kept := _kept(subject, tuple(ways))) is None:
        with suppress(OSError), atomic_file(_file(subject), "w") as file:
            json.dump({"subject": subject, "fastest": fastest, "milliseconds": milliseconds}, file, indent=2)
    return kept or fastest
