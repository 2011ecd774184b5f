"""A short campaign: what is killed goes on to the same end, damaged files are refused, and a bad place is told in a line."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path

import pytest

from ludory.benchmarks.faults import damaged_files, kills, places
from ludory.benchmarks.faults.findings import Place
from ludory.benchmarks.faults.jobs import JOBS

pytestmark = pytest.mark.slow

SMALL = {
    "record": (("--games 2000 --shard-games 250", "--games 120 --shard-games 20"),),
    "train ppo": (
        ("Arena2P-v0", "HanabiTiny2P-v0"),
        ("--seats 0", "--seats all"),
        ("--timesteps 9000", "--timesteps 1536"),
    ),
}
"""Words of jobs that are smaller here."""


@pytest.fixture
def small_jobs(monkeypatch):
    for name, words in SMALL.items():
        command = JOBS[name].command
        for word, smaller in words:
            assert word in command
            command = command.replace(word, smaller)
        monkeypatch.setitem(JOBS, name, dataclasses.replace(JOBS[name], command=command))


@pytest.mark.usefixtures("small_jobs")
@pytest.mark.parametrize("name", SMALL)
def test_a_killed_job_ends_as_if_nothing_had_happened(name: str, place: Place) -> None:
    found = kills.cases()[name](place._replace(amount=0.3))
    assert found.findings == []
    assert found.trials.total() >= 1


@pytest.mark.parametrize(
    "name",
    ["checkpoint", "recorder of others", "battles", "exploiters.json", "table", "note of a store", "sokoban bank"],
)
def test_a_damaged_file_is_refused_or_makes_no_difference(name: str, place: Place) -> None:
    found = damaged_files.cases()[name](place)
    assert found.findings == []
    assert found.trials["refused"] > 3


@pytest.mark.usefixtures("small_jobs")
@pytest.mark.parametrize("part", [places.full_disk, places.removed])
def test_a_bad_place_loses_nothing_and_is_told_in_a_line(part, place: Place) -> None:
    assert part()["record"](place._replace(amount=0.5)).findings == []


def test_a_job_stands_still_while_its_files_are_looked_at_and_deleted(place: Place, monkeypatch) -> None:
    job, looks = JOBS["record"], []

    def files(folder: Path) -> list[tuple[Path, int]]:
        return sorted((one, one.stat().st_size) for one in folder.rglob("*"))

    def slow(folder: Path):
        if threading.current_thread() is not threading.main_thread():
            before = files(folder)
            time.sleep(3)  # the job would have ended by now
            looks.append((before, files(folder)))
        return job.result(folder)

    monkeypatch.setitem(JOBS, "record", dataclasses.replace(job, result=slow))
    early = place._replace(amount=0.2, seed=1)  # long before it ends, also on a busy machine
    assert places.removed()["record"](early).findings == []
    assert looks
    for before, after in looks:
        assert before == after
