"""Recorded battles to trajectories: reads files, decides where labels come from, and says of every battle what became of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Literal, NamedTuple

from ludory.cluster import Workers
from ludory.envs.pokemon.backends.sim import SimWorker
from ludory.envs.pokemon.formats import Gimmick
from ludory.envs.pokemon.vocab import to_id
from ludory.errors import OptionError, RejectedBattleError

from .labels import spectator_trajectories
from .rejections import Rejection, reject
from .replays import RecordedBattle, read_battles
from .resimulation import check_same, request_trajectories, resimulate
from .trajectories import BattleTrajectory

Labels = Literal["auto", "log", "input-log"]


@dataclass(frozen=True, slots=True)
class Conversion:
    """How battles become trajectories.

    Raises:
        OptionError: an option has an invalid value.
    """

    labels: Labels = "auto"
    """log: what a spectator sees; input-log: the choices themselves, by playing the battle again; auto: the input log where there is one,
    a simulator is installed and plays the battle as recorded, else the log."""
    gimmick: Gimmick = "native"
    """never: ten actions; a move with a gimmick becomes the plain move."""
    min_rating: int | None = None
    """Leave out battles rated lower, or not rated."""
    format: str | None = None
    """Leave out other formats."""
    keep_illusion: bool = False
    """Read battles with Zoroark from their logs; choices that its illusion hides may be wrong."""
    licence: str | None = None
    """Written into the trajectories."""

    def __post_init__(self) -> None:
        """Check the options."""
        if self.labels not in ("auto", "log", "input-log"):
            raise OptionError(f"labels={self.labels!r}: must be auto, log or input-log")
        if self.gimmick not in ("native", "never"):
            raise OptionError(f"gimmick={self.gimmick!r}: must be native or never")


class ConvertedBattle(NamedTuple):
    """A battle and both sides' trajectories."""

    battle: RecordedBattle
    trajectories: tuple[BattleTrajectory, BattleTrajectory]
    mismatch: str
    """Why the log was read although there is an input log; usually empty."""


@dataclass
class Tally:
    """What became of the battles."""

    battles: int = 0
    converted: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    slot_orders: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    mismatches: int = 0

    def count(self, found: ConvertedBattle | Rejection) -> None:
        """Add a battle."""
        self.battles += 1
        if isinstance(found, Rejection):
            self.rejected[found.name] += 1
            return
        self.converted += 1
        self.mismatches += bool(found.mismatch)
        self.slot_orders[found.trajectories[0].meta["slot_order"]] += 1
        for trajectory in found.trajectories:
            self.labels.update(step.label_source for step in trajectory.steps)
            self.kinds.update(step.kind for step in trajectory.steps)


def converted(
    paths: Iterable[str | Path], how: Conversion, worker: SimWorker | None = None, workers: Workers | None = None
) -> Iterator[ConvertedBattle | Rejection]:
    """Yield every battle of the files in order, as trajectories or as a rejection with its reason.

    Args:
        paths: files of all kinds that `read_battles` takes.
        how: options.
        worker: that plays battles again; None: labels come from the logs.
        workers: who make the trajectories, with simulators of their own if `worker` is given; None: this process.

    Raises:
        OptionError: `labels="input-log"` without a worker.
        OSError: a file cannot be read.
    """
    if how.labels == "input-log" and worker is None:
        raise OptionError("labels='input-log' needs the simulator: type `ludory pokemon install`, or take labels='log'")
    wanted = _wanted(paths, how)
    if workers is None:
        return map(partial(_converted, how=how, worker=worker), wanted)
    return workers.map(partial(_converted_elsewhere, how=how, simulated=worker is not None), wanted)


def _wanted(paths: Iterable[str | Path], how: Conversion) -> Iterator[RecordedBattle | Rejection]:
    seen: dict[str, str] = {}
    for path in paths:
        for battle in read_battles(path):
            if isinstance(battle, Rejection):
                yield battle
                continue
            try:
                _check_new(battle, seen)
                _check_wanted(battle, how)
                yield battle
            except RejectedBattleError as error:
                yield _rejection(battle, error)


def _check_new(battle: RecordedBattle, seen: dict[str, str]) -> None:
    """Refuse an id, and a log, that came before."""
    content = hashlib.sha256("\n".join(battle.lines).encode()).hexdigest()
    # a battle may come under two ids, and two battles under one
    for key in (f"id {battle.id}", content):
        if key in seen:
            what = "this id" if key.startswith("id ") else "this very log"
            raise reject("duplicate_id", f"{what} came in {seen[key]}")
    seen[f"id {battle.id}"] = seen[content] = battle.place


def _check_wanted(battle: RecordedBattle, how: Conversion) -> None:
    if how.format is not None and battle.format != to_id(how.format):
        raise reject("format_mismatch", f"{battle.format}, asked for {how.format}")
    if how.min_rating is not None and (battle.rating is None or battle.rating < how.min_rating):
        raise reject("low_rating", f"rated {battle.rating}, asked for {how.min_rating}")


def _converted(
    battle: RecordedBattle | Rejection, how: Conversion, worker: SimWorker | None
) -> ConvertedBattle | Rejection:
    if isinstance(battle, Rejection):
        return battle
    try:
        return _labelled(battle, how, worker)
    except RejectedBattleError as error:
        return _rejection(battle, error)


def _converted_elsewhere(
    battle: RecordedBattle | Rejection, how: Conversion, simulated: bool
) -> ConvertedBattle | Rejection:
    return _converted(battle, how, _own_worker() if simulated else None)


@cache
def _own_worker() -> SimWorker:
    """The simulator of this process, which ends with it."""
    return SimWorker()


def _rejection(battle: RecordedBattle, error: RejectedBattleError) -> Rejection:
    return Rejection(error.name, error.detail, battle.id, battle.place)


def _labelled(battle: RecordedBattle, how: Conversion, worker: SimWorker | None) -> ConvertedBattle:
    mismatch = ""
    # an input log holds the true choices; a log only what a spectator could see
    if how.labels != "log" and worker is not None and battle.input_log:
        try:
            played = resimulate(worker, battle)
            check_same(battle, played)
        except RejectedBattleError as error:
            # the log is still good, if the rules have changed since
            if how.labels == "input-log":
                raise
            mismatch = error.detail
        else:
            return ConvertedBattle(battle, _licensed(request_trajectories(battle, played, how.gimmick), how), "")
    elif how.labels == "input-log":
        raise reject("resim_mismatch", "no input log")
    found = spectator_trajectories(battle, how.gimmick, how.keep_illusion)
    return ConvertedBattle(battle, _licensed(found, how), mismatch)


def _licensed(
    both: tuple[BattleTrajectory, BattleTrajectory], how: Conversion
) -> tuple[BattleTrajectory, BattleTrajectory]:
    for one in both:
        one.meta["licence"] = how.licence  # type: ignore[index]
    return both


def each_trajectory(
    found: Iterable[ConvertedBattle | Rejection], note: Callable[[ConvertedBattle | Rejection], None]
) -> Iterator[BattleTrajectory]:
    """The trajectories; `note` hears of every battle."""
    for one in found:
        note(one)
        if isinstance(one, ConvertedBattle):
            yield from one.trajectories
