"""Measures several contestants in turns, so that a machine that slows down slows all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import NamedTuple, TypeVar

from .worker_process import MissingContestant, Sample

WARM_UP = 0.25
"""Share of a measurement's time that is played first and not counted."""

BUSY = 0.9
"""A contestant on one core that got less of it than this was disturbed."""

K = TypeVar("K")
Measure = Callable[[float], Sample]
"""Plays for the given number of seconds."""


class Rates(NamedTuple):
    """Decisions per second of one contestant, one number per round."""

    rounds: tuple[float, ...]
    processor: float
    """Processor seconds per second, over all rounds."""

    @property
    def median(self) -> float:
        """The middle one."""
        return median(self.rounds)


def take_turns(
    measures: Mapping[K, Measure], seconds: float, repeats: int, tick: Callable[[], None] = lambda: None
) -> tuple[dict[K, Rates], dict[K, str]]:
    """Measure every contestant once per round, `repeats` rounds of `seconds` each.

    Returns the rates of those that played to the end, and the reason for each of the others. `tick` is called after every
    measurement.
    """
    samples: dict[K, list[Sample]] = {name: [] for name in measures}
    failed: dict[K, str] = {}
    for turn in range(repeats + 1):
        for name, measure in measures.items():
            if name not in failed:
                try:
                    sample = measure(seconds if turn else seconds * WARM_UP)
                    samples[name] += [sample] if turn else []
                except MissingContestant as error:
                    failed[name] = str(error)
            tick()
    return {name: _rates(taken) for name, taken in samples.items() if name not in failed}, failed


def _rates(samples: list[Sample]) -> Rates:
    processor = sum(sample.cpu_seconds for sample in samples) / sum(sample.seconds for sample in samples)
    return Rates(tuple(sample.rate for sample in samples), processor)


def processor_rates(step: Callable[[], int], seconds: float, repeats: int) -> list[float]:
    """How much `step`, which returns how much it did, does per second of processor time, in each of `repeats` measurements."""
    found = []
    for turn in range(repeats + 1):
        end, done, started = time.perf_counter() + (seconds if turn else seconds * WARM_UP), 0, time.process_time()
        done += step()
        while time.perf_counter() < end:
            done += step()
        if turn:
            found.append(done / (time.process_time() - started))
    return found


def ratio(one: Rates, other: Rates) -> float:
    """How many times faster `one` is: the median over rounds, in each of which conditions were alike for both."""
    return median(a / b for a, b in zip(one.rounds, other.rounds, strict=True))
