"""Who plays whom: the exact distribution over opponents of each role, and draws from it (doi:10.1038/s41586-019-1724-z, Methods).

Every random decision of a league depends on its seed, a purpose and a number only, so that a resumed league repeats it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.errors import OptionError

from .options import ROLES, RULES, Matchmaking, Rules

Floats = NDArray[np.float64]
Weighting = Callable[[Floats], Floats]

NO_WEIGHT = 1e-10
"""If the weights have a smaller sum, all candidates are equally likely."""


def variance_weight(rates: Floats) -> Floats:
    """x(1 - x): opponents of similar strength."""
    return rates * (1 - rates)


def capped_weight(rates: Floats) -> Floats:
    """min(1/2, 1 - x): all unbeaten opponents alike, the others less."""
    return np.minimum(0.5, 1 - rates)


def hard_weight(rates: Floats, p: float = 2.0) -> Floats:
    """(1 - x)^p, p > 0: the opponents that win."""
    return np.asarray((1 - rates) ** p, np.float64)


def uniform_weight(rates: Floats) -> Floats:
    """1: fictitious self-play without priorities."""
    return np.ones_like(rates)


def pfsp(win_rates: ArrayLike, weight: Weighting = hard_weight) -> Floats:
    """Probability of each candidate.

    Args:
        win_rates: [n], own rate of points against each candidate, clipped to [0, 1].
        weight: maps rates to weights.

    Returns:
        [n] with the sum 1; empty without candidates; uniform if the weights add up to less than 1e-10.

    Raises:
        OptionError: a rate is NaN, or the array is not one-dimensional.
    """
    rates = np.asarray(win_rates, np.float64)
    if rates.ndim != 1 or np.isnan(rates).any():
        raise OptionError(f"win_rates={win_rates!r}: must be numbers on one axis; use 0.5 where no game was played")
    weights = weight(np.clip(rates, 0.0, 1.0))
    total = weights.sum()
    if total < NO_WEIGHT:
        return np.full(len(rates), 1.0 / max(1, len(rates)))
    return np.asarray(weights / total, np.float64)


def remove_monotonic_suffix(win_rates: ArrayLike) -> int:
    """How many of the oldest players remain without the newest ones against which the rates only fall.

    The remaining players may be forgotten ones, against which the rate is lower than against a newer one.

    Args:
        win_rates: [n], own rates against past selves, oldest first.

    Returns:
        i + 1 for the largest i >= 1 with rates[i - 1] < rates[i]; 0 if there is none.
    """
    rates = np.asarray(win_rates, np.float64)
    rises = np.flatnonzero(rates[:-1] < rates[1:])
    return int(rises[-1]) + 2 if rises.size else 0


BranchName = Literal["pfsp", "self_play", "past", "exploiters", "forgotten", "main", "curriculum", "no_history"]

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
