"""`Axis`: from numbers to places on a picture, linear or logarithmic, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .drawing import FAINT, INK, Mark, Words, line


class Axis(NamedTuple):
    """Shows the numbers from `low` to `high` between the places `start` and `stop`."""

    title: str
    low: float
    high: float
    ticks: Sequence[float]
    log: bool = False
    start: float = 0.0
    stop: float = 1.0

    def __call__(self, number: float) -> float:
        """The place of a number; numbers beyond an end are placed at that end."""
        number, low, high = (
            math.log(max(value, 1e-12)) if self.log else value for value in (number, self.low, self.high)
        )
        return self.start + min(max((number - low) / (high - low), 0.0), 1.0) * (self.stop - self.start)

    def between(self, start: float, stop: float) -> Axis:
        """The same axis at other places."""
        return self._replace(start=start, stop=stop)


def linear_axis(title: str, low: float, high: float, count: int = 5, widen: bool = True) -> Axis:
    """An axis over [low, high] with at most about `count` ticks.

    Args:
        title: of the axis.
        low: smallest number.
        high: largest number.
        count: of ticks.
        widen: extend the axis to the next ticks; otherwise it ends at `high` where the next tick is more than 2 % away.
    """
    if not high > low:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    power = 10.0 ** math.floor(math.log10((high - low) / count))
    step = next(power * k for k in (1, 2, 5, 10, 20) if (high - low) / (power * k) <= count)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    top = last * step if widen or last * step <= high * 1.02 else high
    return Axis(title, first * step, top, [round(k * step, 10) for k in range(first, last + 1) if k * step <= top])


def log_axis(title: str, values: Sequence[float]) -> Axis:
    """An axis that holds `values` > 0, with ticks at 1 and 3 times every power of ten."""
    low, high = min(values) / 1.2, max(values) * 1.2
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [k * 10.0**power for power in powers for k in (1, 3) if low <= k * 10.0**power <= high]
    return Axis(title, low, high, ticks, log=True)


def frame(x: Axis, y: Axis, beside: bool = True, size: float = 13) -> Iterator[Mark]:
    """Both axes with ticks and titles; the title of `y` stands beside it, turned, or above it in bold."""
    for tick in y.ticks:
        yield line(x.start, y(tick), x.stop, y(tick), FAINT)
        yield Words(x.start - 7, y(tick) + 4.5, f"{tick:g}", size, anchor="end")
    for tick in x.ticks:
        yield line(x(tick), y.start, x(tick), y.start + 5)
        yield Words(
            x(tick), y.start + 6 + size, f"{tick:g}" if abs(tick) < 1e5 else f"{tick:.0e}", size, anchor="middle"
        )
    yield line(x.start, y.start, x.stop, y.start, INK)
    yield Words((x.start + x.stop) / 2, y.start + 14 + 2 * size, x.title, size, anchor="middle")
    if beside:
        yield Words(x.start - 44, (y.start + y.stop) / 2, y.title, size, anchor="middle", turn=-90)
    else:
        yield Words(x.start - 6, y.stop - 8, y.title, size, bold=True)
