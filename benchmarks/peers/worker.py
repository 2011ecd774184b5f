"""Runs one contestant: `python worker.py MODULE [ARGUMENT ...]`, with MODULE in the folder of this file.

Needs nothing but the contestant's own packages. The first line of output is a JSON object, {"versions": {...}} or
{"missing": "why"}. Then each line "SECONDS OBSERVE" of input, OBSERVE being 0 or 1, is answered by
{"steps": n, "seconds": s, "cpu_seconds": c}.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any


def measure(play: Callable[[bool], int], seconds: float, observe: bool) -> dict[str, Any]:
    """Play bursts until `seconds` are over."""
    steps, elapsed, start, cpu_start = 0, 0.0, perf_counter(), process_time()
    while elapsed < seconds:
        steps += play(observe)
        elapsed = perf_counter() - start
    return {"steps": steps, "seconds": elapsed, "cpu_seconds": process_time() - cpu_start}


def main() -> None:
    """Answer on what was the output; anything that a package prints goes to the error stream."""
    with os.fdopen(os.dup(1), "w") as output:
        os.dup2(2, 1)

        def answer(message: dict[str, Any]) -> None:
            print(json.dumps(message), file=output, flush=True)

        try:
            versions, play = importlib.import_module(sys.argv[1]).start(*sys.argv[2:])
        except Exception as error:
            answer({"missing": f"{type(error).__name__}: {error}"})
            return
        answer({"versions": versions})
        for line in sys.stdin:
            seconds, observe = line.split()
            answer(measure(play, float(seconds), observe == "1"))


if __name__ == "__main__":
    main()
