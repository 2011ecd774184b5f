"""What a campaign counts is what happened: broken commands are noticed, done pieces are kept, damage damages."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import broken_commands

from ludory.benchmarks.faults import campaign, commands, formats, samples
from ludory.benchmarks.faults.commands import Commands
from ludory.benchmarks.faults.damage import ANY, BOMB_BYTES, EXECUTED, LINES, VALUES, json_values, packed
from ludory.benchmarks.faults.findings import KINDS, FaultFinding, FaultTally, Place
from ludory.benchmarks.faults.jobs import INPUTS_MADE, JOBS
from ludory.cli import main

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("traceback", {}, ["traceback"]),
        ("crash", {}, ["crash"]),
        ("deaf", {"number": signal.SIGTERM, "after": 0.1}, ["hang"]),
        ("greedy", {"memory": 1 << 30}, ["traceback"]),
        ("writes", {}, []),
    ],
)
def test_a_broken_command_is_noticed(name, options, expected, commands_of_tests, tmp_path):
    tally = FaultTally()
    ended = commands_of_tests.run(["a"], tmp_path, function=f"support.broken_commands:{name}", **options)
    tally.add_ending(ended, name)
    assert [one.kind for one in tally.findings] == expected
    assert ended.reached == (name == "deaf")


@pytest.fixture(scope="module")
def commands_of_tests(tmp_path_factory):
    """A parent that imports nothing and finds the broken commands."""
    here, before = str(Path(broken_commands.__file__).parents[1]), os.environ.get("PYTHONPATH")
    environment = {"PYTHONPATH": f"{before}{os.pathsep}{here}" if before else here}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "PATIENCE", 0.5)
        with Commands(tmp_path_factory.mktemp("streams"), environment, ()) as parent:
            yield parent


def test_what_is_lost_double_or_different_is_told_apart():
    whole, tally = [("a", "1"), ("b", "2"), ("c", "3")], FaultTally()
    assert not tally.add_difference(whole, list(whole), "equal")
    assert tally.add_difference(whole, [("a", "1"), ("a", "1"), ("b", "9"), ("d", "4")], "x")
    assert [(one.kind, one.what) for one in tally.findings] == [
        ("lost", "x: 1 of 3, such as c"),
        ("double", "x: 1 of 3, such as a"),
        ("different", "x: 2 of 3, such as b, d"),
    ]
    assert FaultTally.from_json(json.loads(json.dumps(tally.as_json()))) == tally


def test_every_damage_changes_a_file_and_a_seed_gives_it_again():
    data = b"".join(json.dumps({"tick": k, "x": [k, {"y": "text"}]}).encode() + b"\n" for k in range(30))
    for name, change in {**ANY, **LINES, **json_values(by_line=True)}.items():
        changed = [change(data, random.Random(seed)) for seed in (1, 2, 1)]
        assert changed[0] == changed[2], name
        assert {data} != set(changed), name
    zipped = packed({"line lost": LINES["line lost"]})
    assert gzip.decompress(zipped["line lost"](gzip.compress(data), random.Random(1))).count(b"\n") == 29
    assert len(zipped["bomb"](gzip.compress(data), random.Random(1))) < BOMB_BYTES / 500
    assert b"NaN" in json_values(by_line=True)["NaN"](data, random.Random(1))


def test_code_in_a_file_would_end_the_process_that_runs_it():
    poison = ANY["code"](b"", random.Random(1))
    load = [sys.executable, "-c", "import pickle, sys; pickle.loads(sys.stdin.buffer.read())"]
    assert subprocess.run(load, input=poison, check=False).returncode == EXECUTED


def test_every_entry_of_the_tables_is_whole():
    for name, job in JOBS.items():
        assert set(job.needs) <= set(INPUTS_MADE), name
        assert bool(job.again) == bool(job.begun), name
    for name, form in formats.FORMATS.items():
        assert form.covered <= set(form.changes) | set(VALUES), name
        assert callable(form.sample) or form.sample in {*INPUTS_MADE}, name


def test_a_campaign_goes_on_where_it_was_stopped(tmp_path, monkeypatch, capsys):
    tried = []

    def case(place: Place) -> FaultTally:
        tried.append(place.seed)
        if len(tried) == 2:
            raise KeyboardInterrupt
        tally = FaultTally(findings=[FaultFinding("lost", "a game")] if len(tried) == 3 else [])
        tally.trials["kills"] += 2
        return tally

    monkeypatch.setattr(campaign, "PARTS", {"kills": lambda: {"one": case, "two": case}})
    monkeypatch.setattr(campaign, "Commands", lambda folder: SimpleNamespace(close=lambda: None))
    command = ["bench", "faults", "--only", "kills", "--seed", "5", "--out", str(tmp_path)]
    assert main(command) == 130
    assert main(command) == 1, "something was found"
    assert "1 of 2 pieces" in capsys.readouterr().out
    assert main(command) == 1
    assert len(tried) == 3
    assert tried[1] == tried[2] != tried[0]
    result = json.loads((tmp_path / "faults.json").read_text())
    assert result["parts"]["kills"]["trials"] == 4
    assert {kind: result["parts"]["kills"][kind] for kind in KINDS} == {kind: int(kind == "lost") for kind in KINDS}
    assert result["machine"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "value", "told"), [("--only", "kill", "must be of kills"), ("--case", "record x", "train ppo")]
)
def test_unknown_parts_and_cases_are_named(option, value, told, tmp_path, capsys):
    assert main(["bench", "faults", option, value, "--out", str(tmp_path / "new")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        samples.recorder,
        samples.feedback,
        samples.battles,
        samples.exploiters,
        samples.few_replays,
        samples.stored,
        samples.mirrored,
        samples.kept_text,
        samples.rooms,
        samples.league_state,
    ],
)
def test_samples_are_read_as_they_were_written(make, tmp_path):
    make(tmp_path)
    (form, *_) = [one for one in formats.FORMATS.values() if one.sample is make]
    assert formats.plain(form.read(tmp_path)) == formats.plain(form.read(tmp_path)) != []
