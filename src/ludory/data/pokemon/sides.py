"""What a spectator knows of a battle: the members of both sides, and the points at which a side had to choose."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["free", "forced_switch", "pivot", "preview", "single"]
LabelSource = Literal["request", "seen", "inferred", "missing"]

TEAM, MENU = 6, 4
"""Members of a team, moves of a member."""


@dataclass(eq=False)
class Member:
    """A Pokémon of a side, as far as the log shows it."""

    slot: int
    species: str
    details: str
    nick: str | None = None
    """None until it enters, where a preview showed the team."""
    moves: set[str] = field(default_factory=set)
    """Ids of the moves it is known to have."""
    uses: dict[str, int] = field(default_factory=dict)
    fainted: bool = False
    hp: float | None = None
    status: str = ""
    menu_of: Member | None = None
    """Whose moves it has while transformed."""
    copied: dict[str, str] = field(default_factory=dict)
    """Moves got by Mimic or Sketch, and the move in whose place they are."""
    dynamaxed: bool = False

    @property
    def menu(self) -> Member:
        """The Pokémon whose moves this one has."""
        return self.menu_of or self


@dataclass(eq=False)
class Decision:
    """A point at which a side had to choose."""

    at: int
    """Lines of the log before it."""
    seat: int
    turn: int
    kind: Kind
    actor: Member | None
    """The active Pokémon."""
    open_slots: tuple[int, ...]
    """Slots that the side could switch to, or revive, as far as a spectator knows; unseen members count."""
    spent: frozenset[str]
    """Gimmicks that the side has used before."""
    verb: Literal["", "move", "switch"] = ""
    move: str = ""
    """Id of the move, as shown."""
    target: Member | None = None
    gimmick: str = ""
    source: LabelSource = "missing"
    hidden: bool = False
    """`move` is a Z-move or Max Move, which does not tell the move chosen."""
    menu: Member | None = None
    """The Pokémon whose moves the active one had."""
    copied: dict[str, str] = field(default_factory=dict)
    """Moves that it had copied, and in whose place."""
    one_entry: bool = False
    """The menu has one entry, which is action 0."""


class SpectatorView(NamedTuple):
    """All that a spectator's log tells."""

    gen: int
    decisions: tuple[Decision, ...]
    """Of both sides, in order."""
    teams: tuple[tuple[Member, ...], tuple[Member, ...]]
    winner: int | None
    """Seat, None for a tie."""
    turns: int
    names: tuple[str, str]
    preview: bool


@dataclass(eq=False)
class SideRecord:
    """What the log has shown of a side."""

    seat: int
    size: int = TEAM
    team: list[Member] = field(default_factory=list)
    active: Member | None = None
    turn_decision: Decision | None = None
    entered: Decision | None = None
    """The decision by which the active Pokémon came in."""
    acted: bool = False
    fainted: bool = False
    ejected: bool = False
    pivoted: bool = False
    encored: bool = False
    instructed: bool = False
    fight: bool = False
    """Generation 1: a menu of "Fight" alone, so that a move is not a choice."""
    trap: bool = False
    """Generation 1: its last act was a move that traps."""
    trapped: bool = False
    gimmick: str = ""
    reviving: bool = False
    pursued: bool = False
    """Generations 2 to 4: Pursuit hit it while it left; the switch goes on even if it fainted."""
    spent: set[str] = field(default_factory=set)


def looks_like(member: Member, details: str) -> bool:
    """Whether details can be this member's: level and gender are equal, and the species up to its forme."""
    mine, theirs = member.details.split(", "), details.split(", ")
    traits = [{one for one in found[1:] if one in ("M", "F") or one[:1] == "L"} for found in (mine, theirs)]
    return traits[0] == traits[1] and mine[0].split("-")[0] == theirs[0].split("-")[0]


def set_condition(member: Member, condition: str) -> None:
    """Read "45/100 psn" or "0 fnt".

    Raises:
        ValueError: the hit points are no number, or not from 0 to the most.
    """
    hp, _, status = condition.partition(" ")
    left, _, whole = hp.partition("/")
    now, most = float(left), float(whole or 100)
    if not (0 <= now <= most < math.inf and most > 0):
        raise ValueError(f"{hp!r} are no hit points")
    member.hp = now / most
    member.status = "" if status == "fnt" else status
