"""Functions and objects that workers run in the tests."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from ludory.errors import OptionError


def square(number: int) -> int:
    return number * number


def slow_square(number: int) -> int:
    time.sleep(0.3)
    return number * number


def refuse(number: int) -> int:
    raise OptionError(f"{number}: not today")


def die(number: int) -> int:
    os.kill(os.getpid(), 9)
    return number


def die_once(task: tuple[Path, int]) -> int:
    """A task that ends its worker when it is tried first."""
    tried, number = task
    if not tried.exists():
        tried.touch()
        die(number)
    return number


class Counter:
    """Counts its calls."""

    def __init__(self, start: int) -> None:
        self.count = start

    def add(self, number: int) -> int:
        self.count += number
        return self.count

    def refuse(self) -> None:
        raise OptionError("not today")

    def die(self) -> None:
        os.kill(os.getpid(), 9)


def refuse_from_30(number: int) -> int:
    """A task of which some fail."""
    if number >= 30:
        raise OptionError(f"{number}: not today")
    return number


def die_at_50(number: int) -> int:
    """A task of which one ends its worker."""
    if number == 50:
        die(number)
    return number


def part_of_three(part: Any) -> dict[str, bytes]:
    """A run of `ludory bench arena-league` that counts its parts, of which it needs three."""
    before = part.files.get("players/log", part.teacher)
    count = before.count(b" ") - part.teacher.count(b" ")
    time.sleep(0.3)
    result = {name: part.task[name] for name in ("contender", "seed")}
    result |= {
        "styles": {},
        "past": {},
        "exploiters": [],
        "main_steps": 1,
        "env_steps": 1,
        "frozen": {},
        "seconds": 1.0,
    }
    done = {"result.json": json.dumps(result).encode()} if count == 2 else {}
    return {"players/log": before + b" %d" % count, **done}
