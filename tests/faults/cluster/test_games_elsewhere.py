"""Evaluations and recordings at workers give the numbers and files of one process, also when workers and nodes are killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludory
from ludory.agents.evaluation.cross_play import cross_play
from ludory.agents.evaluation.record import record
from ludory.benchmarks.faults.two_nodes import Killer, TwoNodes
from ludory.cli import main
from ludory.cluster.placement import PlacedOn
from ludory.cluster.workers import Workers

GAME = "HanabiTiny2P-v0"
AGENTS = ("random", "hanabi/iggi")
GOLDEN = Path(__file__).parents[2] / "golden" / "pokemon"


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("network") / "model.ludory"
    ludory.make_algorithm("ppo", env=GAME, num_envs=8, n_steps=4, seed=1).save(file)
    return str(file)


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("rotate", [pytest.param(False, marks=pytest.mark.slow), True])
def test_an_evaluation_has_the_numbers_of_one_process(workers: Workers, network: str, rotate: bool) -> None:
    for agents in ([network, "random"], ["hanabi/iggi", network]):
        here = ludory.evaluate(agents, GAME, 90, seed=3, batch=20, rotate=rotate)
        there = ludory.evaluate(agents, GAME, 90, seed=3, batch=20, rotate=rotate, workers=workers)
        np.testing.assert_array_equal(here.returns, there.returns)
        assert here.estimates() == there.estimates()


def test_cross_play_has_the_numbers_of_one_process(workers: Workers, network: str) -> None:
    agents = [*AGENTS, network, "random"]  # twice the same spec: two agents with draws of their own
    here = cross_play(agents, GAME, 60, seed=2)
    there = cross_play(agents, GAME, 60, seed=2, batch=25, workers=workers)
    np.testing.assert_array_equal(here.returns, there.returns)


@pytest.mark.slow
@pytest.mark.parametrize("agents", [AGENTS, ("sparta(hanabi/iggi, rollouts=20)",)])
def test_a_recording_is_the_same_byte_for_byte(workers: Workers, agents: Any, tmp_path: Path) -> None:
    games, shard = (60, 7) if len(agents) > 1 else (6, 2)
    record(list(agents), GAME, games, tmp_path / "here", seed=1, shard_games=shard)
    record(list(agents), GAME, games, tmp_path / "there", seed=1, shard_games=shard, workers=workers)
    assert files(tmp_path / "here") == files(tmp_path / "there")


def test_a_recording_goes_on_where_it_stopped(workers: Workers, tmp_path: Path) -> None:
    record(list(AGENTS), GAME, 40, tmp_path / "here", shard_games=5)
    stopped = record(
        list(AGENTS), GAME, 40, tmp_path / "there", shard_games=5, workers=workers, progress=lambda games: True
    )
    assert 0 < stopped.games < 40
    record(list(AGENTS), GAME, 40, tmp_path / "there", shard_games=5, workers=workers)
    assert files(tmp_path / "here") == files(tmp_path / "there")


def test_kills_of_workers_and_nodes_lose_nothing(two_nodes: TwoNodes, tmp_path: Path) -> None:
    """No file but whole ones is ever visible, and in the end there are those of one process."""
    agent = "sparta(hanabi/iggi, rollouts=4000)"
    record(agent, GAME, 320, tmp_path / "here", seed=5, shard_games=40)
    with Killer(two_nodes, seed=2, pause=0.6, most=4, node_share=0.3) as killer:
        record(agent, GAME, 320, tmp_path / "there", seed=5, shard_games=40, workers=two_nodes.workers)
    assert killer.kills
    assert files(tmp_path / "here") == files(tmp_path / "there")


@pytest.mark.slow
def test_the_commands_take_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands_are_those_of_one_process(["--jobs", "2"], tmp_path, capsys)


def test_the_commands_take_ray(two_nodes: TwoNodes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands_are_those_of_one_process(["--ray"], tmp_path, capsys)


def commands_are_those_of_one_process(elsewhere: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["eval", *AGENTS, "--game", GAME, "--games", "80", "--block", "20", "--json"]
    found = []
    for more in ([], elsewhere):
        assert main([*command, *more]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    for more in ([], elsewhere):
        folder = tmp_path / ("there" if more else "here")
        assert main(["record", *AGENTS, "--game", GAME, "--games", "20", "--out", str(folder), *more]) == 0
    assert files(tmp_path / "here") == files(tmp_path / "there")


@pytest.fixture
def placed_at_workers(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """--ray means these workers."""

    @contextmanager
    def opened(placed: PlacedOn) -> Iterator[Workers | None]:
        yield workers if placed.ray else None

    monkeypatch.setattr(PlacedOn, "open", opened)


@pytest.mark.usefixtures("placed_at_workers")
def test_files_of_texas42_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    """Also when some were there before."""
    command = ["texas42", "eq", "--seeds", "0-3", "--n-samples", "4", "--enumerate-below", "5"]
    assert main([*command, "--out", str(tmp_path / "here")]) == 0
    assert main([*command, "--out", str(tmp_path / "there"), "--limit", "1", "--ray"]) == 0
    assert len(files(tmp_path / "there")) == 1
    assert main([*command, "--out", str(tmp_path / "there"), "--ray"]) == 0
    assert files(tmp_path / "here") == files(tmp_path / "there")


@pytest.mark.usefixtures("placed_at_workers")
@pytest.mark.parametrize("labels", ["log", "auto"])
def test_battles_are_converted_as_in_one_process(tmp_path: Path, labels: str) -> None:
    """With auto they are also played again, by the simulators of the workers, where it is installed."""
    logs = [str(GOLDEN / "sim_dev.jsonl.gz"), "--format", "gen1randombattle"]
    for place, more in (("here", []), ("there", ["--ray"])):
        (tmp_path / place).mkdir()
        out = str(tmp_path / place / "battles.jsonl")
        assert main(["pokemon", "convert", *logs, "-o", out, "--labels", labels, *more]) == 0
    assert files(tmp_path / "here") == files(tmp_path / "there")
    assert len(files(tmp_path / "here")) == 2
    assert all(files(tmp_path / "here").values()), "battles of this format, and others that are refused"


@pytest.mark.slow
@pytest.mark.usefixtures("placed_at_workers")
def test_a_flywheel_searches_at_workers_as_in_one_process(tmp_path: Path) -> None:
    command = (
        f"flywheel run --env {GAME} --blueprint hanabi/piers --search sparta({{blueprint}},rollouts=20) --learner bc --policy "
        "mlp(hidden=(8,)) --learner-option num_epochs=1 --learner-option split_ratio=(1,0,0) --games 6 --eval-games 10 --turns 1"
    ).split()
    for place, more in (("here", []), ("there", ["--ray"])):
        assert main([*command, "--out", str(tmp_path / place), *more]) == 0
    here, there = (files(tmp_path / place) for place in ("here", "there"))
    assert [name for name in here if name.endswith(".parquet")]
    assert {name: part for name, part in here.items() if name.endswith(".parquet")} == {
        name: part for name, part in there.items() if name.endswith(".parquet")
    }
