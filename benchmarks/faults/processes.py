"""Forks after a large batch, and damaged files of compiled code: what a process inherits from an earlier one."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import numpy as np

from ludory.errors import LudoryError

from .damage import ANY
from .findings import Case, FaultTally, Place
from .jobs import MAKING
from .outcomes import recorded_games

GAME, BATCH = "HanabiTiny2P-v0", 20_000
LONGEST = 60.0
"""Time limit in seconds for a process that forks, including imports and compilation."""
FORK, RECORD = "ludory.benchmarks.faults.processes:fork", f"record random --game {GAME} --games 8 --seed 3 --out games"
CACHE_TRIALS = 3


# --- Forks ----------------------------------------------------------------------------------------------------------------


def forks() -> dict[str, Case]:
    """The parent steps a large batch on several threads, then forks a child, which steps its own batch."""
    return {way: _fork_case(way) for way in WAYS}


def _fork_case(way: str) -> Case:
    def run(place: Place) -> FaultTally:
        tally = FaultTally()
        ended = place.commands.run([way], place.scratch, function=FORK, longest=LONGEST)
        tally.trials["forks"] += 1
        tally.add_ending(ended, f"fork by {way} after a batch of {BATCH:,} games")
        if ended.code and not ended.hung:
            tally.add("different", f"fork by {way}: the child's games are not those of the parent")
        return tally

    return run


def _played(batch: int = BATCH) -> int:
    """Sum of the observations of a batch of games after three moves."""
    from ludory.envs.make import make_engine

    engine = make_engine(GAME, batch, seed=1, threads=2)
    engine.reset()
    for _ in range(3):
        engine.step(np.asarray(engine.legal()).argmax(axis=1))
    return int(np.asarray(engine.observe()).sum())


def _by_process() -> bool:
    context = get_context("fork")
    with context.Pool(1) as pool:
        return bool(pool.apply(_played) == _played())


class _Sums:
    """A data set whose items are computed by playing."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, number: int) -> int:
        return _played()


def _by_loader() -> bool:
    from torch.utils.data import DataLoader

    loader: Any = DataLoader(_Sums(), batch_size=2, num_workers=2, multiprocessing_context="fork")  # type: ignore[arg-type]
    return {int(number) for batch in loader for number in batch} == {_played()}


def _by_gymnasium() -> bool:
    import gymnasium

    import ludory  # noqa: F401  registers its games

    envs: Any = gymnasium.vector.AsyncVectorEnv(
        [lambda: gymnasium.make("ludory:HanabiTiny2P-v0")] * 2, context="fork", shared_memory=False
    )
    _, info = envs.reset(seed=3)
    envs.step(np.asarray(info["action_mask"]).argmax(axis=1))
    envs.close()
    return True


WAYS: dict[str, Callable[[], bool]] = {
    "multiprocessing": _by_process,
    "DataLoader": _by_loader,
    "AsyncVectorEnv": _by_gymnasium,
}


def fork(arguments: list[str]) -> int:
    """Step a large batch, fork in the given way, and step in the child; runs in a process of its own."""
    _played()
    return 0 if WAYS[arguments[0]]() else 1


# --- Compiled code --------------------------------------------------------------------------------------------------------


def compiled_code() -> dict[str, Case]:
    """One file in the cache of compiled code is damaged; the next run compiles again and gives the right result."""
    return {"record": _with_damaged_cache}


def _with_damaged_cache(place: Place) -> FaultTally:
    tally, draw = FaultTally(), random.Random(place.seed)
    words, cache, good = RECORD.split(), place.scratch / "cache", place.inputs / "cache"
    folders = [place.scratch / name for name in ("whole", "healed", "again")]
    for folder in folders:
        folder.mkdir()
    with MAKING:  # compiled once, for this command alone
        if place.commands.run(words, folders[0], environment={"LUDORY_CACHE_DIR": str(good)}).code != 0:
            raise LudoryError(f"ludory {RECORD} failed with a whole cache")
    shutil.copytree(good, cache)
    environment = {"LUDORY_CACHE_DIR": str(cache)}
    expected = recorded_games(folders[0] / "games")
    files = sorted(cache.rglob("*.nb?"))
    for _ in range(max(1, round(CACHE_TRIALS * place.amount))):
        file, (damage, change) = draw.choice(files), draw.choice(sorted(ANY.items()))
        file.write_bytes(change((file.read_bytes() if file.exists() else b"") or b"x", draw))
        for folder in folders[1:]:
            shutil.rmtree(folder / "games", ignore_errors=True)
            ended = place.commands.run(words, folder, environment=environment)
            told = f"ludory {RECORD} after {damage} in {file.suffix} of compiled code, {folder.name}"
            tally.trials["damaged caches"] += 1
            tally.add_ending(ended, told)
            if ended.code == 0:
                tally.add_difference(expected, recorded_games(folder / "games"), told)
            elif not ended.crashed:
                tally.add("lost", f"{told}: exit code {ended.code}")
    return tally
