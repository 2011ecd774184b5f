"""The coordinator of a league under the load of simulated workers: results a second, memory, bytes of the log, time to resume.

Every worker holds a match. One after another, at random, they report its outcomes and ask for the next one, as samplers on other machines
do. What is left out is the network, and the games.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import psutil

from ludory.algorithms.league.config import LeagueConfig
from ludory.algorithms.league.coordinator import Coordinator
from ludory.algorithms.league.log.events import FILE, EventLog, LeagueEvent, standing
from ludory.algorithms.league.log.state import LeagueState, load_state, newest_state, write_state
from ludory.algorithms.league.messages import Assignment, MatchResult
from ludory.algorithms.text_ppo.memory import peak_memory
from ludory.benchmarks.harness.benchmark import Report, Result, benchmark
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.limits import NonNegativeInt, PositiveInt

BAR = 3000
"""Results that the coordinator must take in a second of one core."""
TAIL = 1000
"""Events after the last state of a long log."""
PARTS = 10
"""Times that the memory is read."""


@dataclass(frozen=True)
class CoordinatorOptions:
    """Load of a coordinator."""

    workers: PositiveInt = 10_000
    """Simulated workers, each with a match."""
    results: PositiveInt = 100_000
    """Results in all."""
    frozen: PositiveInt = 60
    """Frozen players beside 4 learners."""
    games: PositiveInt = 8
    """Games of a match."""
    commit_every: PositiveInt = 1000
    """Results between two commits."""
    long_log: NonNegativeInt = 0
    """Events of another log, of a league that has run for long, from which to resume; 10,000,000 take 2 GB of disk and of memory."""
    out: Path | None = None
    """File of the result."""


@benchmark("coordinator")
def run(options: CoordinatorOptions) -> Result:
    """Load a coordinator, then resume from its log."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        report = loaded(options, folder / "loaded") | resumed(folder / "loaded")
        if options.long_log:
            write_long_log(folder / "long", options.long_log)
            report["long_log"] = resumed(folder / "long")
    return Result(options.out, report, _shown, failed=report["results_per_cpu_second"] < BAR)


def loaded(options: CoordinatorOptions, folder: Path) -> dict[str, Any]:
    """Take results from simulated workers; what was measured."""
    config = LeagueConfig(
        env="KuhnPoker-v0", init_from="none", budget_steps=1_000_000, games_per_match=options.games, roles=(1, 1, 2)
    )
    folder.mkdir()
    state, process = LeagueState(config.decay), psutil.Process()
    rng, memory = random.Random(1), list[int]()
    with EventLog(folder) as log:
        log.release()
        coordinator = Coordinator(config, log, state)
        coordinator.add_players(())
        learners = [player.id for player in state.learners]
        for number in range(options.frozen):
            order = coordinator.snapshot_order(learners[number % len(learners)], "steps")
            coordinator.snapshot_written(order, f"players/{order.id}.ludory", "0" * 64)
        held = [coordinator.next_assignment(learners[k % len(learners)]) for k in range(options.workers)]
        before, (wall, processor) = (folder / FILE).stat().st_size, (perf_counter(), process_time())
        for number in range(options.results):
            worker = rng.randrange(options.workers)
            coordinator.take_result(_outcome(held[worker], rng))
            held[worker] = coordinator.next_assignment(held[worker].home)
            if number % options.commit_every == options.commit_every - 1:
                coordinator.commit(1.0)
                write_state(folder, state, log.next_seq - 1)
            if number % max(1, options.results // PARTS) == 0:
                memory.append(process.memory_info().rss)
        wall, processor = perf_counter() - wall, process_time() - processor
        log.flush()
        grown = (folder / FILE).stat().st_size - before
    return {
        **{name: getattr(options, name) for name in ("workers", "results", "frozen", "games", "commit_every")},
        "results_per_second": options.results / wall,
        "results_per_cpu_second": options.results / processor,
        "log_bytes_per_result": grown / options.results,
        "memory_mb": [size / 1e6 for size in memory],
    }


def write_long_log(folder: Path, events: int) -> None:
    """A log of matches of one pair, whose state was written 1000 events before its end."""
    folder.mkdir()
    state = LeagueState(0.99)
    with EventLog(folder) as log:
        for role in ("main", "league_exploiter"):
            state.apply(log.append("player_added", id=f"{role}0", role=role))
    pair = {"home": "main0", "away": "league_exploiter0"}
    digest, seq = hashlib.sha256((folder / FILE).read_bytes()), 2
    with (folder / FILE).open("ab") as handle:
        while seq < events - TAIL:
            lines = b"".join(
                b'{"seq": %d, "type": "assigned", "wall_time": 1.5, "match": %d, "home": "main0", "away": "league_exploiter0", '
                b'"games": 8, "game_seed": %d, "branch": "pfsp"}\n'
                b'{"seq": %d, "type": "result", "wall_time": 1.5, "match": %d, "outcome": "wdlwdlwd", "length": 72, '
                b'"source": "training", "counted": true}\n' % (at, at // 2, (1 << 62) + at, at + 1, at // 2)
                for at in range(seq, min(seq + 20_000, events - TAIL), 2)
            )
            handle.write(lines)
            digest.update(lines)
            seq += lines.count(b"\n")
        state.next_match = seq // 2
        line = {"seq": seq, "type": "committed", "wall_time": 1.5, "seconds": 1.0, "sha256": digest.hexdigest()}
        handle.write(json.dumps(line).encode() + b"\n")
    state.apply(LeagueEvent(seq, "committed", 1.5, {"seconds": 1.0}))
    write_state(folder, state, seq)
    with EventLog(folder, seq) as log:
        while log.next_seq < events - 1:
            log.append("assigned", match=log.next_seq, **pair, games=8, game_seed=1, branch="pfsp")
        log.commit(1.0)


def resumed(folder: Path) -> dict[str, Any]:
    """Read the log and make the state again; what was measured."""
    started, processor = perf_counter(), process_time()
    with EventLog(folder, newest_state(folder)) as log:
        events = standing(log.events)
        state = load_state(folder, events, 0.99)
        return {
            "events": log.next_seq,
            "log_mb": (folder / FILE).stat().st_size / 1e6,
            "resume_seconds": perf_counter() - started,
            "resume_cpu_seconds": process_time() - processor,
            "resume_peak_mb": (peak_memory() or math.nan) / 1e6,
            "open_matches": len(state.open_matches),
        }


def _outcome(match: Assignment, rng: random.Random) -> MatchResult:
    return MatchResult(match.match, "".join(rng.choices("wdl", k=match.games)), 9 * match.games)


def _shown(report: Report) -> Iterable[Shown]:
    memory = report["memory_mb"]
    rows = [
        ("workers, each with a match", f"{report['workers']:,}"),
        ("results taken and matches drawn, a second", f"{report['results_per_second']:,.0f}"),
        ("the same, a CPU second", f"{report['results_per_cpu_second']:,.0f}"),
        ("bytes of the log a result", f"{report['log_bytes_per_result']:,.0f}"),
        ("memory, MB, at the start and at the end", f"{memory[0]:,.1f}, {memory[-1]:,.1f}"),
    ]
    for log in (report, report.get("long_log")):
        if log:
            rows += [
                ("events of the log", f"{log['events']:,}"),
                ("size of the log, MB", f"{log['log_mb']:,.1f}"),
                ("resume from it, s", f"{log['resume_seconds']:.2f}"),
                ("the same, CPU seconds", f"{log['resume_cpu_seconds']:.2f}"),
                ("largest memory meanwhile, MB", f"{log['resume_peak_mb']:,.0f}"),
            ]
    yield table("coordinator of a league", ("what", "measured"), rows)
    yield f"bar: {BAR:,} results a CPU second: {'kept' if report['results_per_cpu_second'] >= BAR else 'missed'}"
