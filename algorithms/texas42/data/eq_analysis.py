"""Statistics of E[Q] in recorded hands: how far tiles lie apart, how certain the means are, how often the best tile depends on the sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.expected_value.decision_value import WorldSampling, standard_error, value_of
from ludory.agents.texas42.play.choice import question_of
from ludory.agents.texas42.solver.solver import Solver
from ludory.data.formats.texas42.eq_records import DECISIONS, EqGame, read_eq
from ludory.data.formats.texas42.eq_torch import read_pt
from ludory.data.formats.texas42.eq_view import MODES, decisions
from ludory.envs import hash_rows
from ludory.errors import DataError

SURE = 2.0
"""Standard errors by which the best tile must lead the second to be sure."""
TRICKS = 7
READERS: dict[str, Callable[[Path], EqGame]] = {".safetensors": read_eq, ".pt": read_pt}
"""By the ending of a file's name."""


class Resample(NamedTuple):
    """The decisions of a hand under other samples of worlds; (28,), NaN where there is no choice or all worlds were solved."""

    changed: NDArray[np.float64]
    """1 where another tile than the record's is best."""
    lost: NDArray[np.float64]
    """Points by which that one is worse, by the record's means."""


class DecisionFigures(NamedTuple):
    """Figures of each decision of some hands, (n,) each; NaN where a figure has no meaning."""

    trick: NDArray[np.int64]
    """0..6"""
    choice: NDArray[np.bool_]
    """Whether two tiles at least may be played."""
    spread: NDArray[np.float64]
    """Mean of the best tile minus mean of the worst."""
    lead: NDArray[np.float64]
    """Mean of the best tile minus mean of the second."""
    sem: NDArray[np.float64]
    """Largest standard error of a legal tile; 0 where all worlds were solved."""
    unsure: NDArray[np.float64]
    """1 where the lead is below two standard errors of the difference, tiles taken as independent."""
    samples: NDArray[np.float64]
    ess: NDArray[np.float64]
    """In parts of the samples."""
    whole: NDArray[np.float64]
    """1 where all worlds were solved."""
    converged: NDArray[np.float64]
    error: NDArray[np.float64]
    """Mean of the tile played minus the points that the hand then brought."""
    within: NDArray[np.float64]
    """1 where that is at most one standard deviation of the tile's value over worlds; NaN where that is 0."""
    mode: NDArray[np.int64]
    q_gap: NDArray[np.float64]


def rows_of(game: EqGame) -> DecisionFigures:
    """The figures of a hand.

    Raises:
        DataError: its plays are not legal.
    """
    columns = game.columns
    legal, mean = columns["legal_mask"], columns["e_q_mean"].astype(float)
    variance = columns["e_q_var"].astype(float)
    whole = columns["n_samples"] == columns["worlds_total"]
    error = np.array([standard_error(row, float(ess)) for row, ess in zip(variance, columns["ess"], strict=True)])
    error[whole] = 0
    # the best tile first; tiles that are not legal last
    ranked = np.argsort(np.where(legal, -mean, np.inf), axis=1, kind="stable")
    choice = legal.sum(axis=1) > 1
    best, second = (np.take_along_axis(mean, ranked[:, k : k + 1], 1)[:, 0] for k in (0, 1))
    worst = np.where(legal, mean, np.inf).min(axis=1)
    # the standard error of the difference of the best two
    apart = np.sqrt((np.take_along_axis(error, ranked[:, :2], 1) ** 2).sum(axis=1))
    lead = np.where(choice, best - np.where(choice, second, best), np.nan)
    taken = columns["action_taken"][:, None]
    said, deviation = (np.take_along_axis(part, taken, 1)[:, 0] for part in (mean, np.sqrt(variance)))
    off = said - _points_to_come(game)
    return DecisionFigures(
        trick=np.arange(DECISIONS) // 4,
        choice=choice,
        spread=np.where(choice, best - worst, np.nan),
        lead=lead,
        sem=np.where(legal, error, 0).max(axis=1),
        unsure=np.where(choice & ~whole, lead < SURE * apart, np.where(choice, 0.0, np.nan)),
        samples=columns["n_samples"].astype(float),
        ess=columns["ess"] / columns["n_samples"],
        whole=whole.astype(float),
        converged=columns["converged"].astype(float),
        error=off,
        within=np.where(deviation > 0, np.abs(off) <= deviation, np.nan),
        mode=columns["exploration_mode"].astype(np.int64),
        q_gap=columns["q_gap"].astype(float),
    )


def _points_to_come(game: EqGame) -> NDArray[np.float64]:
    """(28,) points of the mover's side minus the other's, from each decision to the end as it was played."""
    for _, state in decisions(game):
        last = state
    won = last.points[0].astype(int) - game.columns["banked"].astype(int)
    side = np.where(game.columns["seat"] % 2 == 0, 1, -1)
    return np.asarray(side * (won[:, 0] - won[:, 1]), np.float64)


def sample_again(game: EqGame, worlds: int, solver: Solver, key: int = 0) -> Resample:
    """Other worlds for each decision, `worlds` of them, all weighing the same.

    Raises:
        DataError: its plays are not legal.
    """
    changed, lost = np.full(DECISIONS, np.nan), np.full(DECISIONS, np.nan)
    columns, sampling = game.columns, WorldSampling(worlds, 0)
    for view, state in decisions(game):
        k, tiles = view.number, game.hand(view.number)
        means = columns["e_q_mean"][k].astype(float)
        if columns["legal_mask"][k].sum() < 2 or columns["worlds_total"][k] <= worlds:
            continue
        legal = np.zeros(28, bool)
        legal[[tile for tile, may in zip(tiles, columns["legal_mask"][k], strict=True) if may]] = True
        # draws differ between hands, numbers of worlds and decisions
        draw = int(hash_rows(int(hash_rows(key, int(game.header["seed"]))), 28 * worlds + k))
        found = value_of(solver, state, 0, question_of(state, 0, legal, draw), sampling)
        chosen = tiles.index(found.tiles[int(found.mean.argmax())])
        changed[k] = chosen != int(means.argmax())
        lost[k] = means.max() - means[chosen]
    return Resample(changed, lost)


def analyse(games: Iterable[EqGame], samples: Sequence[int] = (), key: int = 0) -> dict[str, Any]:
    """Figures of hands: `hands`, `decisions`, `overall`, `by_trick` ("1".."7") and `exploration`.

    Args:
        games: recorded hands.
        samples: numbers of worlds to draw anew for each decision, to count how often another tile is best.
        key: of these draws.

    Raises:
        DataError: there is no hand, or plays of one are not legal.
    """
    parts, again, solver = [], {worlds: list[Resample]() for worlds in samples}, Solver()
    for game in games:
        parts.append(rows_of(game))
        for worlds, found in again.items():
            found.append(sample_again(game, worlds, solver, key))
    if not parts:
        raise DataError("no recorded hands to analyse: record some with `ludory texas42 eq --seeds 0-99`")
    rows = DecisionFigures(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    drawn = {
        worlds: Resample(*(np.concatenate(c) for c in zip(*found, strict=True))) for worlds, found in again.items()
    }
    every = np.ones(len(rows.trick), bool)
    return {
        "hands": len(parts),
        "decisions": len(rows.trick),
        "overall": _figures(rows, every, drawn),
        "by_trick": {str(trick + 1): _figures(rows, rows.trick == trick, drawn) for trick in range(TRICKS)},
        "exploration": {
            name: {"share": float((rows.mode == mode).mean()), "q_gap": _mean(rows.q_gap[rows.mode == mode])}
            for mode, name in enumerate(MODES)
        },
    }


def _figures(rows: DecisionFigures, among: NDArray[np.bool_], drawn: Mapping[int, Resample]) -> dict[str, Any]:
    """Of some decisions; what speaks of tiles to choose from, of those with a choice."""
    open_ = among & rows.choice
    spread, sem, off = rows.spread[open_], rows.sem[open_], rows.error[among]
    finite = sem[np.isfinite(sem)]
    found: dict[str, Any] = {
        "choices": int(open_.sum()),
        "spread": _mean(spread),
        **{f"spread_p{share}": _quantile(spread, share) for share in (10, 50, 90)},
        "lead": _mean(rows.lead[open_]),
        "sem": _mean(finite),
        "sem_p90": _quantile(finite, 90),
        "unsure": _mean(rows.unsure[open_]),
        "n_samples": _mean(rows.samples[open_]),
        "ess_share": _mean(rows.ess[open_]),
        "whole": _mean(rows.whole[open_]),
        "converged": _mean(rows.converged[open_]),
        "error": _mean(off),
        "error_mae": _mean(np.abs(off)),
        "within_1_deviation": _mean(rows.within[among]),
    }
    for worlds, sample in drawn.items():
        found[f"changed_{worlds}"] = _mean(sample.changed[open_])
        found[f"lost_{worlds}"] = _mean(sample.lost[open_])
    return found


def _mean(values: NDArray[np.float64]) -> float | None:
    """Mean of the values that are not NaN; None if there is none."""
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else None


def _quantile(values: NDArray[np.float64], share: int) -> float | None:
    present = values[~np.isnan(values)]
    return float(np.percentile(present, share)) if len(present) else None


def read_records(paths: Iterable[Path]) -> Iterator[EqGame]:
    """Records named, and those in folders, one after another: `.safetensors`, or `.pt` as `eq-convert` reads them.

    Raises:
        DataError: a path does not exist, there is no record in a folder, or one is damaged.
    """
    for path in paths:
        if not path.exists():
            raise DataError(f"{path}: no such file or folder")
        files = [path]
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.suffix in READERS and not file.name.startswith("."))
        if not files:
            raise DataError(
                f"{path}: no records ({' or '.join(READERS)}); `ludory texas42 eq --out {path}` writes some"
            )
        for file in files:
            yield READERS.get(file.suffix, read_eq)(file)
