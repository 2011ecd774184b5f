"""Who plays whom: the exact distribution over opponents of each role, and draws from it (doi:10.1038/s41586-019-1724-z, Methods).

Every random decision of a league depends on its seed, a purpose and a number only, so that a resumed league repeats it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.errors import OptionError

from .pfsp import (
    Floats,
    Weighting,
    capped_weight,
    hard_weight,
    pfsp,
    remove_monotonic_suffix,
    uniform_weight,
    variance_weight,
)

Rules = Literal["paper", "pseudocode"]
BranchName = Literal["pfsp", "self_play", "past", "exploiters", "forgotten", "main", "curriculum", "no_history"]

ROLES = ("main", "main_exploiter", "league_exploiter")
"""Roles that learn; a frozen player has its parent's."""
RULES = ("paper", "pseudocode")
Purpose = Literal["opponent", "seats", "reset"]
_PURPOSES: dict[Purpose, int] = {"opponent": 1, "seats": 2, "reset": 3}
BRANCHES: dict[str, str] = {
    "pfsp": "frozen players, the harder the likelier",
    "self_play": "an active main, oneself among them",
    "past": "the past of a main that is still too strong",
    "exploiters": "verification: frozen main exploiters that win too often",
    "forgotten": "verification: the past of a main that has become hard again",
    "main": "a main exploiter against its main",
    "curriculum": "a main exploiter against the past of its main",
    "no_history": "an active player, because nothing is frozen yet",
}
"""Why an opponent was drawn, in words."""


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


class Branch(NamedTuple):
    """One rule of matchmaking and its share of the opponents."""

    name: BranchName
    probability: Floats
    """[n]; all branches of a player add up to 1."""


class OpponentDraw(NamedTuple):
    """The opponent of one match."""

    opponent: int
    branch: BranchName


def keyed_hash(seed: int, purpose: Purpose, number: int) -> int:
    """A signed 64-bit integer, the same for the same arguments on every machine; arguments as of `keyed_uniform`."""
    # A late import: it brings a compiler, which readers of tables do not need.
    from ludory.envs import hash_rows

    return int(hash_rows(int(hash_rows(seed, _PURPOSES[purpose])), number))


def keyed_uniform(seed: int, purpose: Purpose, number: int) -> float:
    """A number in [0, 1) with 53 random bits, the same for the same arguments on every machine.

    Args:
        seed: of the league.
        purpose: separates the draws of one number.
        number: of the match or of the snapshot.
    """
    return float((keyed_hash(seed, purpose, number) % 2**64 >> 11) * 2.0**-53)


def opponent_branches(
    me: int,
    win_rate: ArrayLike,
    role: Sequence[str],
    frozen: ArrayLike,
    parent: ArrayLike,
    rules: Rules = "paper",
    options: Matchmaking | None = None,
) -> list[Branch]:
    """The distribution over opponents, by rule of matchmaking.

    Args:
        me: an active player.
        win_rate: [n] own rates, or [n, n] of row against column; 0.5 with too few games.
        role: [n], "main", "main_exploiter", "league_exploiter" or "anchor"; of a frozen player its parent's.
        frozen: [n] bool; frozen players are ordered by age, oldest first.
        parent: [n], number of the player that a frozen one is a copy of; -1 for the others.
        rules: of the paper or of its pseudo-code, which differ for the main exploiter only.
        options: shares and thresholds.

    Raises:
        OptionError: `me` does not learn, there is no active main, lengths differ, or the rules are unknown.
    """
    if rules not in RULES:
        raise OptionError(f"rules={rules!r}: must be one of {', '.join(RULES)}")
    options = options or Matchmaking()
    league = _League(me, win_rate, role, frozen, parent, options)
    parts = {
        "main": lambda: _main(league, options),
        "main_exploiter": lambda: _main_exploiter(league, options, rules),
        "league_exploiter": lambda: _league_exploiter(league),
    }
    return _merged(parts[role[me]](), len(role))


def draw_opponent(branches: Sequence[Branch], seed: int, match: int) -> OpponentDraw:
    """Draw the opponent of match number `match`: one draw over branches and opponents together."""
    table = np.concatenate([branch.probability for branch in branches])
    total = np.cumsum(table)
    place = int(np.searchsorted(total, keyed_uniform(seed, "opponent", match) * total[-1], side="right"))
    return OpponentDraw(place % len(branches[0].probability), branches[place // len(branches[0].probability)].name)


class _Part(NamedTuple):
    """A share of the matches, spread over a few players."""

    name: BranchName
    players: NDArray[np.int64]
    probability: Floats

    def times(self, share: float) -> _Part:
        return self._replace(probability=share * self.probability)


class _League:
    """A league from the view of player `me`: `rates` against all, and groups of players by number, oldest first."""

    def __init__(
        self,
        me: int,
        win_rate: ArrayLike,
        role: Sequence[str],
        frozen: ArrayLike,
        parent: ArrayLike,
        options: Matchmaking,
    ) -> None:
        rates, roles = np.asarray(win_rate, np.float64), np.asarray(role)
        is_frozen, self._parent = np.asarray(frozen, bool), np.asarray(parent, np.int64)
        if not len(rates) == len(roles) == len(is_frozen) == len(self._parent):
            lengths = f"{len(rates)}, {len(roles)}, {len(is_frozen)}, {len(self._parent)}"
            raise OptionError(f"win_rate, role, frozen, parent have {lengths} rows: must be one per player")
        if not 0 <= me < len(roles) or is_frozen[me] or roles[me] not in ROLES:
            learning = [number for number in range(len(roles)) if not is_frozen[number] and roles[number] in ROLES]
            raise OptionError(f"player {me} does not learn; players that do: {learning}")
        self.me, self.rates = me, rates[me] if rates.ndim == 2 else rates
        self._prioritised = options.prioritised
        copies = is_frozen & (self._parent >= 0)
        anchors = (roles == "anchor") & options.anchors_in_pfsp
        exploits = roles[self._parent] == "main_exploiter"  # row -1 of the others is masked by `copies`
        self.frozen = np.flatnonzero(copies)
        self.candidates = np.flatnonzero(copies | anchors)
        self.exploiters = np.flatnonzero(copies & exploits)
        self.mains: list[int] = np.flatnonzero(~is_frozen & (roles == "main")).tolist()
        if not self.mains:
            raise OptionError("this league has no active main; give it at least one")

    def past(self, player: int) -> NDArray[np.int64]:
        """Frozen copies of a player."""
        return np.asarray(self.frozen[self._parent[self.frozen] == player])

    def chosen(self, name: BranchName, players: NDArray[np.int64], weight: Weighting) -> _Part:
        """`players` by prioritised fictitious self-play."""
        return _Part(name, players, pfsp(self.rates[players], weight if self._prioritised else uniform_weight))


def _main(league: _League, options: Matchmaking) -> Iterator[_Part]:
    if league.candidates.size:
        yield league.chosen("pfsp", league.candidates, hard_weight).times(options.pfsp_share)
    else:
        yield _only("no_history", league.me).times(options.pfsp_share)
    for main in league.mains:
        yield _self_play(league, main, options).times(options.self_play_share / len(league.mains))
        yield _verification(league, main, options).times(options.verification_share / len(league.mains))


def _self_play(league: _League, main: int, options: Matchmaking) -> _Part:
    past = league.past(main)
    if main == league.me or league.rates[main] > options.self_play_above or not past.size:
        return _only("self_play", main)
    return league.chosen("past", past, variance_weight)


def _verification(league: _League, main: int, options: Matchmaking) -> _Part:
    rates = league.rates
    if league.exploiters.size and rates[league.exploiters].min() < options.exploiters_below:
        return league.chosen("exploiters", league.exploiters, hard_weight)
    past = league.past(main)
    forgotten = past[: remove_monotonic_suffix(rates[past])]
    if forgotten.size and rates[forgotten].min() < options.forgotten_below:
        return league.chosen("forgotten", forgotten, hard_weight)
    return _self_play(league, main, options)


def _main_exploiter(league: _League, options: Matchmaking, rules: Rules) -> Iterator[_Part]:
    for main in league.mains:
        past, rate, share = league.past(main), league.rates[main], 1 / len(league.mains)
        if rules == "paper":
            backwards = 1.0 if rate < options.curriculum_below else options.curriculum_share
        else:
            backwards = 0.0 if rate > options.curriculum_up_to else 1.0
        if not past.size:
            backwards = 0.0
        yield _only("main", main).times(share * (1 - backwards))
        yield league.chosen("curriculum", past, variance_weight).times(share * backwards)


def _league_exploiter(league: _League) -> Iterator[_Part]:
    if league.candidates.size:
        yield league.chosen("pfsp", league.candidates, capped_weight)
    else:
        for main in league.mains:
            yield _only("no_history", main).times(1 / len(league.mains))


def _only(name: BranchName, player: int) -> _Part:
    return _Part(name, np.array([player]), np.ones(1))


def _merged(parts: Iterable[_Part], players: int) -> list[Branch]:
    """One row per branch that has any weight."""
    rows: dict[BranchName, Floats] = {}
    for part in parts:
        row = rows.setdefault(part.name, np.zeros(players))
        np.add.at(row, part.players, part.probability)
    return [Branch(name, row) for name, row in rows.items() if row.any()]
