"""Options of Sokoban, and the numbers that follow from them. `PRESETS` are those of the registered ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ludory.envs import check_choice, check_flag, check_range, check_split
from ludory.errors import OptionError

ActionSet = Literal["push4", "move9"]
MaskName = Literal["all", "moves"]
ObservationName = Literal["planes", "codes", "tiny_rgb"]
GeneratorName = Literal["ragen", "gym"]
SwapRule = Literal["changes", "pulls"]

LARGEST_SIDE = 32
MOST_BOXES = 16
DIRECTIONS = ("Up", "Down", "Left", "Right")
ACTION_NAMES = {
    "push4": DIRECTIONS,
    "move9": ("Nothing", *(f"Push {name}" for name in DIRECTIONS), *(f"Move {name}" for name in DIRECTIONS)),
}
"""Names of the actions by action set, by number."""

PRESETS: dict[str, dict[str, Any]] = {
    "simple": {"size": 6, "boxes": 1, "max_steps": 100, "search_depth": 300},
    "two_boxes": {"size": 6, "boxes": 2, "max_steps": 100, "search_depth": 30},
    "medium": {"size": 8, "boxes": 2, "max_steps": 100, "search_depth": 10},
    "large": {"size": 10, "boxes": 2, "max_steps": 100, "search_depth": 10},
    "gym": {
        "size": 10,
        "boxes": 4,
        "max_steps": 120,
        "actions": "move9",
        "generator": "gym",
        "search_depth": 300,
    },
    "boxoban": {"size": 10, "boxes": 4, "max_steps": 120, "generator": "gym", "search_depth": 300},
}
"""Options of each preset."""


@dataclass(frozen=True, slots=True)
class SokobanOptions:
    """A variant of Sokoban. Invalid values raise an OptionError."""

    size: int | tuple[int, int] = 6
    """Rows and columns of a room, 3 to 32: one number for both, or a pair."""
    boxes: int = 1
    """Boxes, and targets, of a room, 1 to 16."""
    max_steps: int = 100
    """Actions after which an unsolved room is truncated."""
    actions: ActionSet = "push4"
    """push4: up, down, left, right. move9: nothing, push or move in four directions, move in four directions without pushing."""
    mask: MaskName = "all"
    """Legal actions: all, or only those that change the state (`moves`; all if none does)."""
    observation: ObservationName = "planes"
    """planes: walls, targets, boxes, player as 0/1 planes. codes: 0..6 per cell. tiny_rgb: one coloured pixel per cell."""
    gym_count: bool = False
    """Count covered targets from 0 at the start, as gym-sokoban does: a box that starts on a target is then paid at the first step."""
    generator: GeneratorName = "ragen"
    """How rooms are made: `ragen` plays back pulls only, and then lets the player walk; `gym` plays back moves and pulls."""
    search_depth: int = 300
    """Depth limit of the backward search that places boxes and player."""
    swap_rule: SwapRule | None = None
    """What multiplies the displacement of the boxes in a room's score: `changes` of the pulled box, or all `pulls`. None: by generator."""
    split: str | None = None
    """Rooms of this split only: train, valid or test. None: all."""
    bank: int = 0
    """Rooms that an engine draws from when neither `rooms` nor `levels` are given; 0: as many as take a few seconds."""
    symbols: str | Mapping[str, str] | None = None
    """Symbols of the text: seven characters for wall, floor, target, box on target, box, player, player on target, or some of them by name."""
    spaced: bool = False
    """Write a space between the symbols of a row."""
    action_order: tuple[str, ...] = ()
    """Order in which texts list the actions' names; (): by number."""

    def __post_init__(self) -> None:
        size = self.size
        if isinstance(size, list):  # as JSON has it
            size = tuple(size)
        if not isinstance(size, tuple):
            check_range("size", size, 3, LARGEST_SIDE)
            size = (size, size)
        if len(size) != 2:
            raise OptionError(f"size={self.size!r}: must be one number, or a pair (rows, columns)")
        for side in size:
            check_range("size", side, 3, LARGEST_SIDE)
        object.__setattr__(self, "size", size)
        check_range("boxes", self.boxes, 1, MOST_BOXES)
        check_range("max_steps", self.max_steps, 1, 1 << 24)
        check_choice("actions", self.actions, get_args(ActionSet))
        check_choice("mask", self.mask, get_args(MaskName))
        check_choice("observation", self.observation, get_args(ObservationName))
        check_flag("gym_count", self.gym_count)
        check_choice("generator", self.generator, get_args(GeneratorName))
        check_range("search_depth", self.search_depth, 2, 10_000)
        if self.swap_rule is None:
            object.__setattr__(self, "swap_rule", "changes" if self.generator == "ragen" else "pulls")
        check_choice("swap_rule", self.swap_rule, get_args(SwapRule))
        check_split(self.split)
        check_range("bank", self.bank, 0, 1 << 24)
        check_flag("spaced", self.spaced)
        object.__setattr__(self, "action_order", self._checked_order())

    def _checked_order(self) -> tuple[str, ...]:
        """Names of the actions in the order in which texts list them."""
        names = ACTION_NAMES[self.actions]
        known = {name.casefold(): name for name in names}
        order = tuple(known.get(str(name).casefold(), "") for name in self.action_order) or names
        if sorted(order) != sorted(names):
            raise OptionError(f"action_order={self.action_order!r}: must name every action once: {', '.join(names)}")
        return order

    @property
    def rows(self) -> int:
        """R."""
        return self.shape[0]

    @property
    def columns(self) -> int:
        """C."""
        return self.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """(R, C)."""
        assert isinstance(self.size, tuple)
        return self.size

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the actions, by number."""
        return ACTION_NAMES[self.actions]
