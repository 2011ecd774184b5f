"""A league whose turns are played by workers: the log of one process, or all learners at once; nothing is lost or counted twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from faults.cluster import parts

import ludory
from ludory.algorithms.league.config import LeagueConfig
from ludory.algorithms.league.crew import LeaguePlace
from ludory.algorithms.league.log.events import read_events, standing
from ludory.algorithms.league.run import resume_league, start_league
from ludory.algorithms.running.threads import one_thread
from ludory.benchmarks.arena.league import work_elsewhere
from ludory.benchmarks.arena.league_run import GAME as DUEL
from ludory.benchmarks.arena.league_run import OPTIONS, RESULT
from ludory.benchmarks.arena.league_run import main as played_run
from ludory.benchmarks.faults import outcomes
from ludory.benchmarks.faults.clusters import expected_matches, found_matches
from ludory.benchmarks.faults.two_nodes import Killer, TwoNodes
from ludory.cli import main
from ludory.cluster.ray_workers import RayWorkers
from ludory.cluster.workers import InProcess, Workers
from ludory.errors import CheckpointError, OptionError

GAME = "KuhnPoker-v0"


def config(folder: Path, **changes: Any) -> LeagueConfig:
    """About ten turns of duels, with copies, resets and an anchor."""
    teacher = folder / "teacher.ludory"
    if not teacher.exists():
        ludory.make_algorithm("vtrace", env=GAME, policy="mlp(hidden=(8,))", num_envs=2, seed=3).save_policy(teacher)
    plain: dict[str, Any] = {
        "env": GAME,
        "teacher": str(teacher),
        "roles": (1, 1, 1),
        "budget_steps": 2_400,
        "unit": 480,
        "slice_steps": 240,
        "games_per_match": 8,
        "evaluation_games": 8,
        "anchors": ("random",),
        "learner_options": {"num_envs": 16, "n_steps": 8, "batch_columns": 16},
        "seed": 5,
    }
    return LeagueConfig(**{**plain, **changes})


def logged(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """The log but for times, and hashes of lines that have some."""
    return [
        (
            event.type,
            {k: v for k, v in event.body.items() if k != "seconds" and (event.type, k) != ("committed", "sha256")},
        )
        for event in read_events(folder)
    ]


def assert_every_match_counted_once(folder: Path) -> None:
    """Each was assigned once, and was counted once or is still played in a checkpoint."""
    events = standing(read_events(folder))
    assigned = Counter(event.body["match"] for event in events if event.type == "assigned")
    assert set(assigned.values()) == {1}
    assert Counter(found_matches(folder)) == Counter(expected_matches(folder))
    assert not [event for event in events if event.type == "refused"]


@pytest.mark.slow
def test_turns_at_workers_give_the_log_of_one_process(
    workers: Workers, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Also the hashes of all weights and checkpoints, and while workers are killed; it goes on in the other place after a stop."""
    logs = []
    if isinstance(workers, RayWorkers):
        killer = Killer(request.getfixturevalue("two_nodes"), seed=8, pause=1.0, most=3)
        request.addfinalizer(killer.__enter__().__exit__)
    for place in (LeaguePlace(), LeaguePlace(workers)):
        with start_league(config(tmp_path), tmp_path / "league", place) as league:
            league.run(lambda league: league.stop() if league.state.turn == 3 else None)
        with resume_league(tmp_path / "league", LeaguePlace() if place.workers else LeaguePlace(workers)) as league:
            assert league.run()
        logs.append(logged(tmp_path / "league"))
        (tmp_path / "league").rename(tmp_path / f"league{len(logs)}")
    assert logs[0] == logs[1]
    assert {"result", "reset", "snapshot"} <= {type for type, _ in logs[0]}


@pytest.mark.slow
def test_all_at_once_counts_every_match_once_and_says_so(tmp_path: Path) -> None:
    with start_league(config(tmp_path), tmp_path / "league", LeaguePlace(InProcess(), in_order=False)) as league:
        assert league.run()
        assert league.state.env_steps < 2_400 + 3 * 256, "no turn is begun that the budget does not need"
    assert_every_match_counted_once(tmp_path / "league")
    events = read_events(tmp_path / "league")
    assert events[0].body["turns"] == "as they came"
    assert len({event.body["player"] for event in events if event.type == "progress"}) == 3


def test_kills_of_workers_and_nodes_lose_no_match(two_nodes: TwoNodes, tmp_path: Path) -> None:
    place = LeaguePlace(two_nodes.workers, in_order=False)
    with (
        Killer(two_nodes, seed=3, pause=1.0, most=4, node_share=0.25) as killer,
        start_league(config(tmp_path, budget_steps=4_800), tmp_path / "league", place) as league,
    ):
        assert league.run()
    assert killer.kills
    assert_every_match_counted_once(tmp_path / "league")


def test_what_cannot_be_placed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    minutes = config(tmp_path, budget_steps=0, minutes=1.0, processor_time=True)
    with pytest.raises(OptionError, match="processor_time: other processes do the work"):
        start_league(minutes, tmp_path / "league", LeaguePlace(InProcess()))
    assert main(["league", "resume", str(tmp_path), "--deterministic"]) == 2
    assert "add --jobs" in capsys.readouterr().err


@pytest.mark.slow
def test_runs_of_the_benchmark_go_on_part_by_part(
    workers: Workers, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each part begins with the files of the one before it, also where a worker is killed within it."""
    (tmp_path / "teacher.ludory").write_bytes(b"its weights")
    plain = {"contender": "self-play", "teacher": str(tmp_path / "teacher.ludory")}
    tasks = [plain | {"seed": seed, "folder": str(tmp_path / f"seed{seed}")} for seed in range(4)]
    if isinstance(workers, RayWorkers):
        killer = Killer(request.getfixturevalue("two_nodes"), seed=8, pause=1.0, most=3)
        request.addfinalizer(killer.__enter__().__exit__)
    work_elsewhere(tasks, workers, 0.0, parts.part_of_three)
    for task in tasks:
        assert (Path(task["folder"]) / "players" / "log").read_text() == "its weights 0 1 2"
    said = capsys.readouterr().out
    assert sorted(said.count(f"self-play, seed {seed}:") for seed in range(4)) == [1, 1, 1, 1]


@pytest.mark.optimised  # as in the processes of the cluster
def test_a_run_of_the_benchmark_is_that_of_one_process(
    ray_workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ludory bench arena-league --ray`, in parts of a single turn: log, weights, duels and exploiter."""
    # as workers have it: a minibatch in two parts is summed in another order
    monkeypatch.setenv("LUDORY_NUM_THREADS", "1")
    teacher = tmp_path / "teacher.ludory"
    game = ludory.make_game(DUEL, **OPTIONS)
    ludory.make_algorithm("ppo", env=game, hidden=(8,), num_envs=2, seed=3).save_policy(teacher)
    measured = {"steps": 150_000, "duels": 2, "past_duels": 2, "exploiters": 1, "exploiter_steps": 500}
    task = {"contender": "self-play", "seed": 1, "teacher": str(teacher), **measured}
    here, there = (tmp_path / place / "run" for place in ("here", "there"))
    with one_thread():
        played_run(task | {"folder": str(here)})
    work_elsewhere([task | {"folder": str(there)}], ray_workers, seconds=0.0)
    assert outcomes.league(here) == outcomes.league(there)
    assert outcomes.json_file(here / RESULT) == outcomes.json_file(there / RESULT)


def test_a_run_that_fails_at_a_worker_says_why(workers: Workers, tmp_path: Path) -> None:
    (tmp_path / "teacher.ludory").write_bytes(b"no checkpoint")
    task = {"contender": "self-play", "seed": 1, "steps": 1000, "teacher": str(tmp_path / "teacher.ludory")}
    with pytest.raises(CheckpointError, match=r"teacher\.ludory: not a checkpoint"):
        work_elsewhere([task | {"folder": str(tmp_path / "run")}], workers)
    assert not (tmp_path / "run").exists()
