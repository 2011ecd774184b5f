"""Options of the arena, and the numbers that follow from them. `plugins/builtin.py` says which ids fix which options."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from ludory.envs import check_choice, check_flag, check_range
from ludory.errors import OptionError

from .constants import ARENA_RADIUS, WALL_PERCENT

ObservationName = Literal["ego19", "seed19", "full", "tactical", "evasive"]
HeadsName = Literal["default", "seed"]

BINS = {"default": (5, 9), "seed": (11, 11)}
"""Bins of a movement head and of an aim head."""


@dataclass(frozen=True, slots=True)
class ArenaOptions:
    """A variant of the arena. Invalid values raise an OptionError."""

    players: int = 2
    """Number of seats, 2 to 8."""
    observation: ObservationName = "ego19"
    """What a seat sees: ego19, seed19, full, tactical or evasive."""
    heads: HeadsName = "default"
    """Sizes of the action heads: default (5, 5, 9, 9, 2, 5, 2) or seed (11, 11, 11, 11, 2, 5, 2)."""
    spawn_jitter: bool = True
    """Draw where a seat starts around its place; otherwise seats start evenly spaced on a circle."""
    aim_noise_degrees: float = 3.0
    """Largest error of a shot's direction, 0 to 45 degrees."""

    def __post_init__(self) -> None:
        check_range("players", self.players, 2, 8)
        check_choice("observation", self.observation, get_args(ObservationName))
        check_choice("heads", self.heads, get_args(HeadsName))
        check_flag("spawn_jitter", self.spawn_jitter)
        degrees = self.aim_noise_degrees
        if not isinstance(degrees, int | float) or isinstance(degrees, bool) or not 0 <= degrees <= 45:
            raise OptionError(f"aim_noise_degrees={degrees!r}: must be a number from 0 to 45")

    @property
    def radius(self) -> int:
        """R0, radius of the arena in sub."""
        return ARENA_RADIUS[self.players - 2]

    @property
    def wall(self) -> int:
        """W, radius of the wall in sub."""
        return self.radius * WALL_PERCENT // 100

    @property
    def move_bins(self) -> int:
        """Values of `move_x` and of `move_y`."""
        return BINS[self.heads][0]

    @property
    def aim_bins(self) -> int:
        """Values of `aim_x` and of `aim_y`."""
        return BINS[self.heads][1]

    @property
    def noise(self) -> int:
        """E, the tangent of the largest error of a shot in 1/16384."""
        return round(16384 * math.tan(math.radians(self.aim_noise_degrees)))
