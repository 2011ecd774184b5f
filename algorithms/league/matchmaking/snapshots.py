"""When a learner is copied into the league, and whether it is reset afterwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.agents import wilson
from ludory.errors import OptionError

from .opponent_choice import keyed_uniform
from .options import ROLES, SnapshotRules

Reason = Literal["strong", "steps"]

# AlphaStar's: mains are never reset, main exploiters always, league exploiters with probability 1/4
RESET_PROBABILITY = {"main": 0.0, "main_exploiter": 1.0, "league_exploiter": 0.25}


class SnapshotDecision(NamedTuple):
    """Why a player is copied, and whether it is reset after the copy."""

    reason: Reason
    reset: bool
    """Drawn once, for the log and for the learner."""


def opponents_to_beat(role: str, roles: Sequence[str], frozen: ArrayLike, parent: ArrayLike) -> NDArray[np.int64]:
    """Numbers of the players that a strong player beats: active mains for main exploiters, all frozen players for the others."""
    is_frozen = np.asarray(frozen, bool)
    if role == "main_exploiter":
        return np.flatnonzero(~is_frozen & (np.asarray(roles) == "main"))
    # anchors have no parent; beating them makes nobody strong
    return np.flatnonzero(is_frozen & (np.asarray(parent) >= 0))


def smallest_rate(win_rates: ArrayLike, games: ArrayLike | None = None, rules: SnapshotRules | None = None) -> float:
    """The number that is compared with the threshold.

    Args:
        win_rates: [k], against each opponent.
        games: [k], decayed games against each; None: enough of them.
        rules: the required number of games, and what is compared.

    Returns:
        The smallest rate, or the smallest lower end; NaN (unknown) without opponents or with too few games against one.
    """
    rules, rates = rules or SnapshotRules(), np.asarray(win_rates, np.float64)
    if games is not None:
        counts = np.asarray(games, np.float64)
        if (counts < rules.min_games).any():
            return math.nan
        if rules.strength == "wilson":
            rates = wilson(rates * counts, counts).low
    elif rules.strength == "wilson":
        raise OptionError("strength='wilson' needs the numbers of games; give games=")
    return float(rates.min()) if rates.size else math.nan


def snapshot_reason(
    role: str, steps: float, unit: float, smallest: float, rules: SnapshotRules | None = None
) -> Reason | None:
    """Why this player is copied now; None: not yet.

    Args:
        role: of the player.
        steps: agent steps since its last copy.
        unit: steps in place of the paper's 2e9.
        smallest: result of `smallest_rate`; NaN is not strong.
        rules: the threshold, and whether paper or pseudo-code.

    Raises:
        OptionError: the role does not learn.
    """
    if role not in ROLES:
        raise OptionError(f"role {role!r} does not learn; roles that do: {', '.join(ROLES)}")
    rules = rules or SnapshotRules()
    strong = smallest > rules.threshold  # False for NaN
    if rules.rules == "pseudocode":
        if steps < unit:
            # the pseudo-code waits for one unit even if the player is strong, and copies everybody after two
            return None
        return "strong" if strong else "steps" if steps > 2 * unit else None
    # in the paper mains are copied by steps alone
    if role == "main":
        return "steps" if steps >= unit else None
    patience = 2 * unit if role == "main_exploiter" else unit
    return "strong" if strong else "steps" if steps >= patience else None


def decide(
    role: str,
    steps: float,
    unit: float,
    smallest: float,
    *,
    seed: int,
    number: int,
    rules: SnapshotRules | None = None,
) -> SnapshotDecision | None:
    """Reason and reset of a player that is copied now; None: not yet.

    The reset is drawn from the `seed` of the league and the `number` of the snapshot, counted over the whole league; the other
    arguments are those of `snapshot_reason`.
    """
    reason = snapshot_reason(role, steps, unit, smallest, rules)
    return SnapshotDecision(reason, keyed_uniform(seed, "reset", number) < RESET_PROBABILITY[role]) if reason else None
