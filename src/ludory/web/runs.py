"""Training runs below a folder: what there is, how it was configured, and its curves, also while it is being written."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ludory.algorithms.running import learning_curves
from ludory.charts.curves import Point, Series, small_plot
from ludory.charts.drawing import STYLES
from ludory.errors import CheckpointError, DataError, OptionError, UnknownIdError
from ludory.plugins.spec import CHECKPOINT_SUFFIX, FOLDER_HEADER

from .folders import FolderEntries, signature, walk
from .page import owned_files

REWARD = "rollout/ep_rew_mean"
ELAPSED = "time/elapsed"
MOST = len(STYLES)
"""Curves that can be told apart in one chart."""
WRITING = 90.0
"""Seconds since the last change of a table, up to which a run counts as being written."""
MOST_RUNS = 60
"""Runs whose means over seeds are drawn."""
POINTS = 400
"""Most points of a curve in a chart."""
SMOOTHEST = 200
MOST_GAMES = 10_000
"""Of an evaluation."""


class LoggedRun(NamedTuple):
    """A model that was or is trained, with the tables of its metrics."""

    key: str
    """Path of the model below the folder, without its ending."""
    tables: tuple[Path, ...]
    """In the order of its parts; a run that was resumed has several."""
    events: tuple[Path, ...]
    """Folders of TensorBoard's files, read where there is no table."""
    checkpoint: Path | None
    changed: float
    """Time of the last change of a file, in seconds since 1970."""

    @property
    def agent(self) -> str | None:
        """The path of the checkpoint below the folder, by which a table finds it as an agent."""
        if self.checkpoint is None:
            return None
        folder = self.key.rpartition("/")[0]
        return f"{folder}/{self.checkpoint.name}" if folder else self.checkpoint.name

    @property
    def version(self) -> tuple[tuple[str, int, int], ...]:
        """Changes when there are new numbers or a new checkpoint."""
        events = (file for folder in self.events if folder.is_dir() for file in sorted(folder.iterdir()))
        return signature(*self.tables, *events, *([self.checkpoint] if self.checkpoint else []))


@dataclass(frozen=True, slots=True)
class CurveView:
    """How curves are drawn.

    Raises:
        OptionError: `smooth` is not in 1..200, or there is no such axis.
    """

    metric: str = REWARD
    smooth: int = 1
    """Iterations that a point is the mean of."""
    across: str = learning_curves.X
    log_x: bool = False
    log_y: bool = False
    seeds: bool = False
    """Runs whose names differ in their seed alone are one curve."""

    def __post_init__(self) -> None:
        if not 1 <= self.smooth <= SMOOTHEST:
            raise OptionError(f"smooth={self.smooth}: must be 1 to {SMOOTHEST}")
        if self.across not in (learning_curves.X, ELAPSED):
            raise OptionError(f"across={self.across!r}: must be {learning_curves.X} or {ELAPSED}")

    def of(self, metric: str) -> CurveView:
        """The same view of another metric."""
        return replace(self, metric=metric)


def find_runs(top: Path | None) -> dict[str, LoggedRun]:
    """The runs below a folder by their keys, the newest first."""
    found: dict[str, dict[str, list[Path]]] = {}
    changed: dict[str, float] = {}
    owned = owned_files()
    for folder in walk(top, owned):
        if owned & folder.files.keys():
            continue
        newest = max((known.st_mtime for known in folder.files.values()), default=0.0)
        for key, kind, path in _parts_of_runs(folder):
            found.setdefault(key, {}).setdefault(kind, []).append(path)
            last = folder.files[path.name].st_mtime if path.name in folder.files else newest
            changed[key] = max(changed.get(key, 0.0), last)
    return {key: _run(key, found[key], changed[key]) for key in sorted(found, key=lambda key: (-changed[key], key))}


def _run(key: str, parts: Mapping[str, Sequence[Path]], changed: float) -> LoggedRun:
    tables, events = (
        # by length first, so that part 10 comes after part 9
        tuple(sorted(parts.get(kind, ()), key=lambda path: (len(str(path)), str(path))))
        for kind in ("table", "events")
    )
    return LoggedRun(key, tables, events, next(iter(parts.get("checkpoint", ())), None), changed)


def _parts_of_runs(folder: FolderEntries) -> Iterable[tuple[str, str, Path]]:
    """(key of the run, kind, path) of what a folder holds of runs."""
    prefix = f"{folder.key}/" if folder.key else ""
    name, _, version = folder.key.rpartition("/")
    if version.startswith("version_") and name.rpartition("/")[2] in ("csv", "tensorboard"):  # loggers of Lightning
        key = name.rpartition("/")[0] or name
        if "metrics.csv" in folder.files:
            yield key, "table", folder.path / "metrics.csv"
        elif name.endswith("tensorboard") and _has_events(folder):
            yield key, "events", folder.path
        return
    if name.endswith("-tensorboard") and _has_events(folder):
        yield name.removesuffix("-tensorboard"), "events", folder.path
        return
    if FOLDER_HEADER in folder.files:
        yield folder.key, "checkpoint", folder.path
        return
    for file in folder.files:
        stem, dot, ending = file.rpartition(".")
        if dot + ending == CHECKPOINT_SUFFIX:
            yield prefix + stem, "checkpoint", folder.path / file
        elif ending == "csv" and stem and _is_table(str(folder.path / file)):
            # a part belongs to a run whose first table is there
            whole = learning_curves.PART.sub("", stem)
            yield prefix + (whole if f"{whole}.csv" in folder.files else stem), "table", folder.path / file


def _has_events(folder: FolderEntries) -> bool:
    return any(name.startswith("events.out.tfevents.") for name in folder.files)


@lru_cache(4096)
def _is_table(file: str) -> bool:
    """Whether the first line of a file names a column of time; remembered, since a table keeps its kind."""
    try:
        with open(file, "rb") as handle:
            return learning_curves.X.encode() in handle.readline(1 << 16).split(b",")
    except OSError:
        return False


def find_run(top: Path | None, key: str) -> LoggedRun:
    """The run of a key.

    Raises:
        UnknownIdError: there is none.
    """
    run = find_runs(top).get(key)
    if run is None:
        raise UnknownIdError(f"no run {key!r} below the folder of runs; the list of runs has all that there are")
    return run


def numbers_of(run: LoggedRun) -> list[learning_curves.MetricTable]:
    """The tables of a run, or its TensorBoard files where it has no tables; files that are gone or empty are left out."""
    if run.tables:
        known = signature(*run.tables)
        return [table for file in known if (table := _table(*file)).columns]
    return [
        table for folder in run.events if (table := _events(str(folder), signature(*sorted(folder.iterdir())))).columns
    ]


@lru_cache(1024)
def _table(file: str, size: int, changed: int) -> learning_curves.MetricTable:
    try:
        return learning_curves.read_table(file)
    except DataError:  # removed in between
        return learning_curves.MetricTable({})


@lru_cache(32)
def _events(folder: str, known: tuple[tuple[str, int, int], ...]) -> learning_curves.MetricTable:
    """The scalars of TensorBoard's files, by step."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(folder, size_guidance={"scalars": 2000})
    read.Reload()
    scalars = {name: read.Scalars(name) for name in read.Tags()["scalars"]}
    steps = sorted({event.step for events in scalars.values() for event in events})
    rows = {step: k for k, step in enumerate(steps)}
    values = {learning_curves.X: np.array(steps, np.float64)} | {name: np.full(len(steps), np.nan) for name in scalars}
    for name, events in scalars.items():
        for event in events:
            values[name][rows[event.step]] = event.value if np.isfinite(event.value) else np.nan
    return learning_curves.MetricTable(values)


def metrics_of(run: LoggedRun) -> list[str]:
    """Names of the metrics of a run that have numbers, without those that count time."""
    counting = {learning_curves.X, ELAPSED, "step", "epoch"}
    names = {name for table in numbers_of(run) for name in table.columns if table.last(name) is not None}
    return sorted(names - counting, key=lambda name: (name != REWARD, name.startswith("time/"), name))


def points_of(run: LoggedRun, metric: str, across: str = learning_curves.X) -> list[tuple[float, float]]:
    """The values of a metric over timesteps, or over seconds, which go on counting in a part that was resumed."""
    points: dict[float, float] = {}
    passed = 0.0
    for table in numbers_of(run):
        place = across if across in table.columns else table.across
        start = passed if place == ELAPSED else 0.0
        # a resumed part repeats the steps after its checkpoint; its numbers count
        points |= {x + start: y for x, y in table.points(metric, place)}
        if place == ELAPSED:
            passed += table.last(ELAPSED) or 0.0
    return sorted(points.items())


def curves_of(runs: Sequence[LoggedRun], view: CurveView) -> tuple[list[Series], list[int], list[Series]]:
    """Curves, the number of runs behind each, and the points before smoothing where they differ; runs without the metric are left out."""
    read = [
        learning_curves.TrainingCurve(run.key, points)
        for run in runs
        if (points := points_of(run, view.metric, view.across))
    ]
    groups = learning_curves.by_name(read) if view.seeds else {one.name: [one] for one in read}
    curves, counts, raw = [], [], []
    for name, group in list(groups.items())[:MOST]:
        try:
            curves.append(learning_curves.curve(name, group, view.smooth))
        except DataError:  # no timesteps in common yet
            continue
        counts.append(len(group))
        if len(group) == 1 and view.smooth > 1:
            raw.append(Series(name, [Point(x, y, y, y) for x, y in _thinned(group[0].points)]))
    return curves, counts, raw


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    return points[:: -(-len(points) // POINTS) or 1]


def chart(
    runs: Sequence[LoggedRun], view: CurveView, styles: Mapping[str, tuple[str, Sequence[float]]] | None = None
) -> str:
    """The curves of a metric as SVG."""
    curves, _, raw = curves_of(runs, view)
    across = "seconds" if view.across == ELAPSED else "timesteps"
    return small_plot(view.metric, curves, across, styles, raw, (view.log_x, view.log_y))


def curves_page(runs: Sequence[LoggedRun], view: CurveView) -> dict[str, Any]:
    """The points that a chart shows, as `ludory plot --json` prints them."""
    curves, counts, _ = curves_of(runs, view)
    return learning_curves.curves_json(view.metric, view.smooth, curves, counts)


def summary(run: LoggedRun) -> dict[str, Any]:
    """One row of the list of runs."""
    header = header_of(run)
    tables = numbers_of(run)
    rewards = points_of(run, REWARD)
    done = max((found for table in tables if (found := table.last(table.across)) is not None), default=None)
    return {
        "key": run.key,
        "algorithm": header.get("algorithm"),
        "game": (header.get("env") or {}).get("id"),
        "timesteps": int(done) if done is not None else header.get("num_timesteps"),
        "reward": rewards[-1][1] if rewards else None,
        "parts": len(tables),
        "agent": run.agent,
        "changed": run.changed,
        "writing": bool(run.tables or run.events) and time.time() - run.changed < WRITING,
    }


def header_of(run: LoggedRun) -> dict[str, Any]:
    """The header of a run's checkpoint; empty where there is none that can be read."""
    if run.checkpoint is None:
        return {}
    marker = run.checkpoint / FOLDER_HEADER if run.checkpoint.is_dir() else run.checkpoint
    known = signature(marker)
    return _header(str(run.checkpoint), known[0]) if known else {}


@lru_cache(512)
def _header(file: str, known: tuple[str, int, int]) -> dict[str, Any]:
    from ludory.checkpoints.checkpoint import read_header  # imports torch, which most pages do not need

    try:
        return read_header(file)
    except CheckpointError:
        return {}


def configuration(run: LoggedRun) -> dict[str, Any]:
    """All settings of a run by name, such as `config.learning_rate`, from its checkpoint."""
    header = header_of(run)
    shown = {name: header[name] for name in ("algorithm", "env", "policy", "config", "teacher") if name in header}
    return dict(_flat("", shown))


def _flat(prefix: str, value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else str(name), inner)
    else:
        yield prefix, value


def differences(runs: Sequence[LoggedRun]) -> dict[str, list[Any]]:
    """Settings in which runs differ: their value in each run, None where a run has no such setting."""
    found = [configuration(run) for run in runs]
    names = dict.fromkeys(name for one in found for name in one)
    values = {name: [one.get(name) for one in found] for name in names}
    return {name: row for name, row in values.items() if any(value != row[0] for value in row[1:])}


def compare_page(top: Path | None, chosen: Sequence[str], view: CurveView) -> dict[str, Any]:
    """The data of the list of runs: all runs, the chosen ones over each other, and what tells these apart.

    Without a choice the newest runs that have the metric are chosen. Unknown names are left out, and at most six are shown.
    """
    runs = find_runs(top)
    known = [runs[key] for key in dict.fromkeys(chosen) if key in runs]
    most = MOST_RUNS if view.seeds else MOST
    shown = (known or list(islice((run for run in runs.values() if points_of(run, view.metric)), most)))[:most]
    metrics = dict.fromkeys(name for run in shown for name in metrics_of(run))
    return {
        "runs": [summary(run) for run in runs.values()],
        "shown": [run.key for run in shown],
        "left_out": [run.key for run in known if run not in shown],
        "metrics": list(metrics),
        **curves_page(shown, view),
        "differences": differences(shown),
    }


def run_page(top: Path | None, key: str, view: CurveView) -> dict[str, Any]:
    """The data of one run: its summary, its configuration, and the points of all metrics.

    Raises:
        UnknownIdError: there is no such run.
    """
    run = find_run(top, key)
    names = metrics_of(run)
    return {
        **summary(run),
        "configuration": configuration(run),
        "metrics": names,
        "curves": {name: points_of(run, name, view.across) for name in names},
        "smoothed": {name: learning_curves.smoothed(points_of(run, name, view.across), view.smooth) for name in names},
    }


def evaluate_slice(
    checkpoint: str, against: str, game: str, options: Mapping[str, Any], first: int, count: int, seed: int
) -> list[float]:
    """Mean return of the checkpoint in each of some deals; against another agent it plays every deal once in each seat."""
    from ludory.agents.evaluation.evaluate import evaluate
    from ludory.envs.make import make_game

    made = make_game(game, **options)
    others = made.facts.players - 1
    if not against or not others:
        found = evaluate(checkpoint, made, count, seed, first_game=first)
    else:
        found = evaluate([checkpoint, *[against] * others], made, count, seed, first_game=first, rotate=True)
    return [float(value) for value in found.returns[:, 0]]


class CheckpointEvaluation(NamedTuple):
    """An evaluation of a checkpoint as far as it is."""

    run: str
    agent: str
    """The checkpoint."""
    against: str
    """The agent in the other seats; "" for itself."""
    game: str
    options: Mapping[str, Any]
    games: int
    """Deals to play."""
    seed: int
    returns: tuple[float, ...] = ()
    """Mean return of the checkpoint in each deal played."""

    @property
    def estimate(self) -> tuple[float, float] | None:
        """Mean and standard error; None before two deals."""
        count = len(self.returns)
        if count < 2:
            return None
        mean = sum(self.returns) / count
        return mean, (sum((value - mean) ** 2 for value in self.returns) / (count - 1) / count) ** 0.5

    def next_slice(self) -> Sequence[Any] | None:
        """The next deals to play: few at first, so that something is seen soon, then more."""
        done = len(self.returns)
        count = min(self.games - done, max(10, done))
        if count <= 0:
            return None
        return evaluate_slice, self.agent, self.against, self.game, dict(self.options), done, count, self.seed

    def joined(self, returns: Sequence[float]) -> CheckpointEvaluation:
        """With the results of the next deals."""
        return self._replace(returns=(*self.returns, *returns))


def begin_evaluation(top: Path | None, key: str, against: str, games: int, seed: int = 0) -> CheckpointEvaluation:
    """An evaluation of a run's checkpoint on the game that it was trained on.

    Raises:
        UnknownIdError: there is no such run.
        OptionError: it has no checkpoint, or the number of games is not in 2..10000.
    """
    run = find_run(top, key)
    game = header_of(run).get("env") or {}
    if run.checkpoint is None or not game.get("id"):
        raise OptionError(f"{key}: there is no checkpoint of a game to evaluate; `ludory train --out` writes one")
    if not 2 <= games <= MOST_GAMES:
        raise OptionError(f"games={games}: must be 2 to {MOST_GAMES}")
    return CheckpointEvaluation(key, str(run.checkpoint), against, game["id"], game.get("options") or {}, games, seed)
