"""Kills on a cluster: workers and nodes at random moments while jobs run on them, and the head with the command that started it."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from ludory.agents.evaluation.record import record
from ludory.algorithms.league.config import LeagueConfig
from ludory.algorithms.league.crew import LeaguePlace
from ludory.algorithms.league.log.events import read_events, standing
from ludory.algorithms.league.log.state import fold
from ludory.algorithms.league.player_files import player_file
from ludory.algorithms.league.run import start_league
from ludory.algorithms.make import make_algorithm
from ludory.benchmarks.faults.two_nodes import Killer, TwoNodes
from ludory.checkpoints.checkpoint import read_checkpoint
from ludory.cluster.connection import ray_module
from ludory.cluster.workers import Workers
from ludory.errors import LudoryError

from . import outcomes
from .findings import Case, FaultTally, Items, Place, last_line

TINY, DUEL = "HanabiTiny2P-v0", "KuhnPoker-v0"
NODE_SHARE = 0.3
"""Share of kills that take a node with all that it runs."""
PAUSE = 3.0
"""Mean seconds between two kills."""
MOST_LIVES = 8
"""Runs of a job in which its kills must have happened."""
LONGEST = 900.0
"""Seconds after which a command has hung."""


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """A job whose parts run on workers."""

    run: Callable[[Path, Workers | None], None]
    """Runs it in a folder to its end, at workers or in this process."""
    result: Callable[[Path], Items]
    kills: int
    """In a round."""


def _record(folder: Path, workers: Workers | None) -> None:
    record("sparta(hanabi/iggi, rollouts=2000)", TINY, 240, folder / "games", seed=5, shard_games=20, workers=workers)


def _train(folder: Path, workers: Workers | None) -> None:
    model: Any = make_algorithm("ppo", TINY, policy="mlp(hidden=(16,))", num_envs=30, n_steps=6, batch_size=64, seed=3)
    if workers is not None:
        model.sample_at(workers, 2)
    model.learn(30 * 6 * 30)
    if workers is not None:
        model.release_samplers()
    model.save(folder / "model.ludory")


def _league(folder: Path, place: LeaguePlace) -> None:
    config = LeagueConfig(
        env=DUEL,
        teacher=str(_teacher(folder)),
        roles=(1, 1, 1),
        budget_steps=4800,
        unit=480,
        slice_steps=240,
        games_per_match=8,
        evaluation_games=8,
        anchors=("random",),
        learner_options={"num_envs": 16, "n_steps": 8, "batch_columns": 16},
        seed=5,
    )
    with start_league(config, folder / "league", place) as league:
        league.run()


def _teacher(folder: Path) -> Path:
    """An untrained policy, as a teacher."""
    file = folder / "teacher.ludory"
    model: Any = make_algorithm("vtrace", DUEL, policy="mlp(hidden=(8,))", num_envs=2, seed=3)
    model.save_policy(file)
    return file


def found_matches(folder: Path) -> Items:
    """Every match, with how often it was assigned and what became of it: counted once, or still played in a checkpoint of its learner."""
    events = standing(read_events(folder))
    state = fold(events, events[0].body["config"]["decay"])
    results = [event.body["match"] for event in events if event.type == "result"]
    items = [(f"match {number}", "counted") for number in results]
    for player in state.learners:
        tensors = read_checkpoint(player_file(folder, player)).tensors
        (text,) = (bytes(part.tolist()) for name, part in tensors.items() if name.endswith("/matches"))
        held = {match["assignment"]["match"] for match in json.loads(text)["open"]}
        items += [(f"match {number}", "held") for number in sorted(held)]
    return items


def expected_matches(folder: Path) -> Items:
    """What `found_matches` must return: every match that was assigned and not dropped by a reset, once."""
    events = standing(read_events(folder))
    state = fold(events, events[0].body["config"]["decay"])
    counted = {event.body["match"] for event in events if event.type == "result"}
    return [(f"match {number}", "counted") for number in sorted(counted)] + [
        (f"match {number}", "held") for number in sorted(state.open_matches)
    ]


JOBS: dict[str, ClusterJob] = {
    "record on Ray": ClusterJob(_record, lambda folder: outcomes.recorded_games(folder / "games"), 10),
    "train ppo on Ray": ClusterJob(_train, lambda folder: outcomes.weights(folder / "model.ludory"), 8),
    "league on Ray, in order": ClusterJob(
        lambda folder, workers: _league(folder, LeaguePlace(workers)),
        lambda folder: outcomes.league(folder / "league"),
        6,
    ),
    "league on Ray, all at once": ClusterJob(
        lambda folder, workers: _league(folder, LeaguePlace(workers, in_order=workers is None)),
        lambda folder: found_matches(folder / "league"),
        6,
    ),
}
AT_ONCE = "league on Ray, all at once"


@dataclass(frozen=True, slots=True)
class HeadJob:
    """A command that starts a cluster, and how far it has got."""

    command: str
    """Without --ray."""
    again: str
    """What resumes it."""
    begun: str
    """File that exists as soon as there is something to resume."""
    progress: Callable[[Path], int]
    """Grows while it runs."""
    step: int
    """Most progress between two kills."""
    result: Callable[[Path], Items]
    kills: int


_GAMES = f"record sparta(hanabi/iggi,rollouts=2000) --game {TINY} --games 240 --shard-games 10 --seed 5 --out games"
_DUELS = (
    f"train league --env {DUEL} --teacher teacher.ludory --roles 1,1,1 --timesteps 4800 --resume --eval-games 0 --unit 480 --slice-steps 240 --games-per-match 8 "
    "--evaluation-games 8 --anchors random --seed 5 --out league"
)
HEADS = {
    "head of a recording": HeadJob(
        _GAMES,
        _GAMES,
        "games",
        lambda folder: len(list((folder / "games").rglob("*.parquet"))),
        4,
        lambda folder: outcomes.recorded_games(folder / "games"),
        3,
    ),
    "head of a league": HeadJob(
        f"{_DUELS} -- --num-envs 16 --n-steps 8 --batch-columns 16",
        f"{_DUELS} -- --num-envs 16 --n-steps 8 --batch-columns 16",
        "league/head.json",
        lambda folder: (
            (folder / "league/events.jsonl").read_bytes().count(b'"committed"')
            if (folder / "league/head.json").exists()
            else 0
        ),
        5,
        lambda folder: outcomes.league(folder / "league"),
        2,
    ),
}


def cases() -> dict[str, Case]:
    """One for each job, and one for the head."""
    return {name: _case(name, job) for name, job in JOBS.items()} | {
        name: _head_case(job) for name, job in HEADS.items()
    }


def _case(name: str, job: ClusterJob) -> Case:
    def run(place: Place) -> FaultTally:
        ray_module()
        tally, wanted = FaultTally(), max(1, round(job.kills * place.amount))
        whole = _emptied(place.scratch / "whole")
        expected: Items = []
        if name != AT_ONCE:
            job.run(whole, None)
            expected = job.result(whole)
        nodes = TwoNodes()
        try:
            for life in range(MOST_LIVES):
                folder, left = _emptied(place.scratch / "killed"), wanted - tally.trials.total()
                if left <= 0:
                    break
                with Killer(nodes, place.seed + life, PAUSE, left, NODE_SHARE) as killer:
                    job.run(folder, nodes.workers)
                tally.trials += killer.by_kind
                told = f"{name}, killed {dict(killer.by_kind)}, run {life + 1}"
                tally.add_difference(expected or expected_matches(folder / "league"), job.result(folder), told)
        finally:
            nodes.close()
        return tally

    return run


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _head_case(job: HeadJob) -> Case:
    """The command dies with the cluster that it started, or only the cluster's head does; then the command that resumes it is given."""

    def run(place: Place) -> FaultTally:
        ray_module()
        tally, draw, wanted = FaultTally(), random.Random(place.seed), max(1, round(job.kills * place.amount))
        whole, folder = (_emptied(place.scratch / part) for part in ("whole", "killed"))
        if "teacher" in job.command:
            for one in (whole, folder):
                _teacher(one)
        _command(job, whole, [], tally, None, 0)
        for _ in range(wanted):
            victim = draw.choice(("command", "head"))
            if not _command(job, folder, ["--ray"], tally, victim, job.progress(folder) + draw.randint(1, job.step)):
                tally.add("lost", f"{job.command}: not killed; it needs to be longer")
        _command(job, folder, ["--ray"], tally, None, 0)
        try:
            found = job.result(folder)
        except (LudoryError, OSError) as error:
            tally.add("lost", f"{job.command}: its result cannot be read: {error!r}")
        else:
            tally.add_difference(job.result(whole), found, f"{job.command}, killed {dict(tally.trials)}")
        return tally

    return run


def _command(job: HeadJob, folder: Path, placed: list[str], tally: FaultTally, victim: str | None, reach: int) -> bool:
    """Run or resume a command, and kill the victim when it has got as far as `reach`; returns whether it was killed."""
    words = (job.again if (folder / job.begun).exists() else job.command).split()
    at = words.index("--") if "--" in words else len(words)
    words[at:at] = [*placed, *(["0", "--deterministic"] if placed and words[1] == "league" else [])]
    told, killed, deadline = f"ludory {' '.join(words)}", False, time.monotonic() + LONGEST
    environment = {**os.environ, "LUDORY_NUM_THREADS": "1", "RAY_gcs_rpc_server_reconnect_timeout_s": "5"}
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "ludory", *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=environment,
            start_new_session=True,
        )
        while process.poll() is None:
            if time.monotonic() > deadline:
                tally.add("hang", f"{told}, {victim} killed: not ended after {LONGEST:.0f} s")
                os.killpg(process.pid, signal.SIGKILL)
            if victim is not None and not killed and job.progress(folder) >= reach:
                killed = _kill(process.pid, victim)
                tally.trials[victim] += killed
            time.sleep(0.05)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # what the command left behind
    if victim is None and process.returncode != 0:
        tally.add(
            "lost",
            f"{told}: exit code {process.returncode}: {last_line((folder / 'said').read_text('utf-8', 'replace'))}",
        )
    return killed


def _kill(command: int, victim: str) -> bool:
    """SIGKILL the command, or the head of its cluster; returns whether there was one."""
    process = psutil.Process(command)
    heads = [child for child in process.children(recursive=True) if child.name() == "gcs_server"]
    for one in [process] if victim == "command" else heads:
        one.kill()
    return victim == "command" or bool(heads)
