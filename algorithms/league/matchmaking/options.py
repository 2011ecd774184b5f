"""Options of matchmaking and of copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ludory.errors import OptionError

Rules = Literal["paper", "pseudocode"]
ROLES = ("main", "main_exploiter", "league_exploiter")
"""Roles that learn; a frozen player has its parent's."""
RULES = ("paper", "pseudocode")


@dataclass(frozen=True, slots=True)
class Matchmaking:
    """Shares and thresholds; the defaults are the paper's."""

    pfsp_share: float = 0.50
    """Matches of a main against frozen players."""
    self_play_share: float = 0.35
    """Matches of a main against mains."""
    verification_share: float = 0.15
    """Matches of a main against exploiters and forgotten players."""
    self_play_above: float = 0.3
    """A main against which the rate is above this is played itself, otherwise its past."""
    exploiters_below: float = 0.3
    """Frozen main exploiters are played while the smallest rate against one is lower."""
    forgotten_below: float = 0.7
    """Forgotten mains are played while the smallest rate against one is lower."""
    curriculum_below: float = 0.2
    """Paper: a main exploiter with a lower rate against a main always plays that main's past."""
    curriculum_share: float = 0.5
    """Paper: otherwise it plays the past with this probability."""
    curriculum_up_to: float = 0.1
    """Pseudo-code: up to this rate a main exploiter plays the past, above it the main."""
    anchors_in_pfsp: bool = False
    """Anchors count as frozen players in "pfsp"."""
    prioritised: bool = True
    """False: all candidates of a branch are equally likely, to measure the value of priorities."""

    def __post_init__(self) -> None:
        shares = (self.pfsp_share, self.self_play_share, self.verification_share)
        if min(shares) < 0 or abs(sum(shares) - 1) > 1e-9:
            raise OptionError(
                f"shares {shares}: of pfsp, self-play and verification; must be at least 0 with the sum 1"
            )
        if not 0 <= self.curriculum_share <= 1:
            raise OptionError(f"curriculum_share={self.curriculum_share}: must be 0 to 1")


@dataclass(frozen=True, slots=True)
class SnapshotRules:
    """When a player counts as strong, and after how many steps it is copied anyway."""

    rules: Rules = "paper"
    """Those of the paper's text, or of its pseudo-code."""
    threshold: float = 0.7
    """A player is strong if its smallest rate is above this."""
    min_games: float = 50.0
    """Decayed games that a strong player must have against each opponent."""
    strength: Literal["rate", "wilson"] = "rate"
    """What is compared: the rate itself, or the lower end of its 95 % Wilson interval (the smallest of many noisy rates is biased)."""

    def __post_init__(self) -> None:
        if self.rules not in RULES:
            raise OptionError(f"rules={self.rules!r}: must be one of {', '.join(RULES)}")
        if self.strength not in ("rate", "wilson"):
            raise OptionError(f"strength={self.strength!r}: must be rate or wilson")


def default_unit(budget_steps: int) -> int:
    """Agent steps in place of the paper's 2e9, for a budget of so many."""
    return max(50_000, budget_steps // 64)
