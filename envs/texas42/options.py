"""House rules of Texas 42."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ludory.envs import check_choice, check_flag, check_range
from ludory.errors import OptionError

from .tiles import NELLO_HIGH, NELLO_LOW, NELLO_SUIT

NELLO = {"high": NELLO_HIGH, "suit": NELLO_SUIT, "low": NELLO_LOW}
"""The declaration of each form of nello."""
MOST_MARKS = 7
"""The highest bid, in marks."""
MOST_ATTEMPTS = 64
"""A match is truncated after so many deals."""


@dataclass(frozen=True, slots=True)
class Texas42Rules:
    """House rules; the defaults are straight 42. Invalid values raise an OptionError.

    Sources: mk5/docs/rules.md and texas-42/wiki/rules-profile.md; for sevens J. Kelley, Great Book of Domino Games (1999).
    """

    all_pass: Literal["reshake", "forced"] = "reshake"
    """When three seats have passed: "reshake": the shaker may pass as well, and nobody scores; "forced": it must bid."""
    nello: tuple[str, ...] = ()
    """Forms of nello that a plain mark bid may declare: doubles "high", a "suit" of their own, or "low"."""
    plunge: int = 0
    """Minimum marks of a plunge, a bid with at least four doubles after which the partner declares and leads; 0: no plunge."""
    splash: bool = False
    """Allow a splash, a bid of two or three marks with at least three doubles, otherwise like a plunge."""
    sevens: bool = False
    """A plain mark bid may declare sevens."""
    early_stop: bool = False
    """End a hand after the trick that decides the contract."""
    target: int = 7
    """Marks that win a match."""

    def __post_init__(self) -> None:
        check_choice("all_pass", self.all_pass, ("reshake", "forced"))
        forms = (self.nello,) if isinstance(self.nello, str) else tuple(self.nello)
        for form in forms:
            check_choice("nello", form, tuple(NELLO))
        object.__setattr__(self, "nello", forms)
        check_range("plunge", self.plunge, 0, MOST_MARKS)
        check_range("target", self.target, 1, 7)
        for name in ("splash", "sevens", "early_stop"):
            check_flag(name, getattr(self, name))

    @property
    def highest_bid(self) -> int:
        """The most marks that an auction of one round can reach."""
        return min(MOST_MARKS, max(5, self.plunge + 3))


ObservationName = Literal["bits", "bits+history", "transcript"]
OBSERVATIONS = get_args(ObservationName)


@dataclass(frozen=True, slots=True)
class FixedContract:
    """The contract with which `Texas42Play-v0` starts. Invalid values raise an OptionError."""

    decl: int | None = None
    """Declaration; None: drawn for every hand from those of straight 42."""
    bid: int = 30
    """30..41 points, or 42 m for m marks."""
    bidder: int = 0
    """Seat that won the auction."""
    leader: int | None = None
    """Seat that leads first; None: the bidder."""
    reward: Literal["points", "make"] = "points"
    """points: those of every trick, divided by 42; make: +1 or -1 at the end."""

    def __post_init__(self) -> None:
        check_choice("reward", self.reward, ("points", "make"))
        check_range("bidder", self.bidder, 0, 3)
        if self.decl is not None:
            check_range("decl", self.decl, 0, 13)
        if self.leader is not None:
            check_range("leader", self.leader, 0, 3)
        check_contract(self.decl, self.bid, self.bidder, self.leader, self.reward)

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of the state field `contract`."""
        decl, leader = (-1 if value is None else value for value in (self.decl, self.leader))
        return decl, self.bid, self.bidder, leader, 0, 0


def check_contract(decl: int | None, bid: int, bidder: int, leader: int | None, reward: str) -> None:
    """Refuse contracts that cannot result from an auction.

    Raises:
        OptionError: names the value and what is allowed.
    """
    marks, rest = divmod(bid, 42)
    if not (30 <= bid <= 41 or (rest == 0 and 1 <= marks <= MOST_MARKS)):
        raise OptionError(f"bid={bid!r}: must be 30..41 points, or 42, 84, ... {42 * MOST_MARKS} for 1..7 marks")
    if decl is None or decl < NELLO_HIGH:
        return
    if bid < 42:
        raise OptionError(f"decl={decl} (nello or sevens) with bid={bid}: needs a mark bid, 42 or more")
    if leader not in (None, bidder):
        raise OptionError(f"decl={decl} (nello or sevens) with leader={leader}: the bidder, seat {bidder}, leads")
    if reward == "points":
        raise OptionError(f"decl={decl} (nello or sevens) is not played for points: give reward='make'")
