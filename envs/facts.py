"""Facts of a game: what a caller may need to know without running it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple


class Head(NamedTuple):
    """One categorical part of an action, with `size` values."""

    name: str
    size: int


class Box(NamedTuple):
    """A continuous action of D numbers; entry d lies in low[d]..high[d], which may be infinite."""

    low: tuple[float, ...]
    high: tuple[float, ...]


class Segment(NamedTuple):
    """A named range of entries of the flat observation."""

    name: str
    start: int
    length: int


# no slots: what follows from the fields is asked for in every step, and kept
@dataclass(frozen=True)
class ObservationSpec:
    """Shape and meaning of what a seat sees. Observations in which every entry is 0 or 1 (`bits`) are stored eight to a byte."""

    name: str
    shape: tuple[int, ...]
    dtype: Literal["uint8", "float32"]
    segments: tuple[Segment, ...]
    low: float = 0.0
    """Smallest value, possibly -inf."""
    high: float = 1.0
    """Largest value, possibly inf."""

    @cached_property
    def size(self) -> int:
        """Number of entries, the product of `shape`."""
        return math.prod(self.shape)

    @property
    def bits(self) -> bool:
        """True if every entry is 0 or 1."""
        return self.dtype == "uint8" and self.low == 0 and self.high == 1


@dataclass(frozen=True)
class GameFacts:
    """What a caller may need to know about a game without running it."""

    name: str
    players: int
    turns: Literal["sequential", "simultaneous"]
    reward: Literal["shared", "zero_sum", "general"]
    hidden_information: bool
    chance: bool
    heads: tuple[Head, ...]
    observation: ObservationSpec
    longest_game: int
    """Upper bound on the number of decisions (sequential) or rounds (simultaneous) of one game."""
    min_return: float
    """Smallest return that a seat can end with. An illegal action costs it under `illegal="lose"`."""
    max_return: float
    privileged_observation: bool = False
    """True if the observation shows hidden information on purpose. Such a variant is not tested for leaks."""
    critic: ObservationSpec | None = None
    """What the `critic` kernel writes, flat. None: the game has no such kernel, see `critic_spec`."""
    teams: tuple[int, ...] = ()
    """Team of every seat, where the seats of a team always have the same return. Empty: no teams, or all seats share rewards."""
    box: Box | None = None
    """Continuous actions. `heads` is then empty, actions are float32 (N, D), and legal masks have no columns."""
    clones: bool | None = None
    """Whether `Engine.clone` and `Engine.gather` exist, which searches need. None: only in games with kernels."""
    redeals: bool | None = None
    """Whether `Engine.redeal` exists. None: if there is a `redeal` kernel."""
    saves: bool | None = None
    """Whether `Engine.fields`, `load_fields`, `save` and `restore` exist, so that running games can be saved. None: only in games with kernels."""
    seats_leave: bool | None = None
    """Whether a seat may be out before the game ends. None: follows from the fields, see `Game.seats_leave`."""
    seats_wait: bool | None = None
    """Whether a seat to move may have nothing to decide, as in simultaneous games. None: follows from the fields, see `Game.seats_wait`."""
    network: str | None = None
    """Id of the network that policy="auto" makes, where hidden layers over the observation are not the right one."""

    @cached_property
    def head_sizes(self) -> tuple[int, ...]:
        """Number of values of each head."""
        return tuple(head.size for head in self.heads)

    @property
    def head_names(self) -> tuple[str, ...]:
        """Name of each head."""
        return tuple(head.name for head in self.heads)

    @cached_property
    def num_actions(self) -> int:
        """Length A of a legal mask: the sum of the head sizes."""
        return sum(self.head_sizes)

    @property
    def action_size(self) -> int:
        """Length of one seat's action: H heads, or the D numbers of `box`."""
        return len(self.heads) if self.box is None else len(self.box.low)

    @property
    def num_outputs(self) -> int:
        """Outputs of a policy network: a logit per column of a legal mask, or a mean per entry of `box`."""
        return self.num_actions if self.box is None else len(self.box.low)

    @property
    def critic_spec(self) -> ObservationSpec:
        """What `Engine.critic` returns: `critic`, or the observations of all seats side by side, shape (P * size,)."""
        return self.critic or _of_every_seat(self.observation, self.players)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Named segments of the flat observation."""
        return self.observation.segments

    @cached_property
    def simultaneous(self) -> bool:
        """True if all seats move at once."""
        return self.turns == "simultaneous"


def _of_every_seat(spec: ObservationSpec, players: int) -> ObservationSpec:
    segments = tuple(
        Segment(f"{segment.name} of seat + {ahead}", ahead * spec.size + segment.start, segment.length)
        for ahead in range(players)
        for segment in spec.segments
    )
    return ObservationSpec(
        f"{spec.name} of every seat", (players * spec.size,), spec.dtype, segments, spec.low, spec.high
    )


def flat_segments(parts: Mapping[str, int]) -> tuple[Segment, ...]:
    """Consecutive segments; `parts` maps each name to its length."""
    segments, start = [], 0
    for name, length in parts.items():
        segments.append(Segment(name, start, length))
        start += length
    return tuple(segments)
