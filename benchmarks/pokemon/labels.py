"""Labels that a spectator's log gives, beside the choices that were made, in battles played for it: none may be wrong.

Both seats play partly like `pokemon/simple-heuristics` and partly at random. Each battle is played again from its input log, which must
give the same log; its spectator's log is converted, and every label compared with the choice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ludory.agents.make import make_agent
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.data.pokemon.labels import spectator_trajectories
from ludory.data.pokemon.replays import RecordedBattle, battle_of
from ludory.data.pokemon.resimulation import Resimulation, request_trajectories, resimulate
from ludory.data.pokemon.spectator import watch
from ludory.data.pokemon.trajectories import MISSING
from ludory.envs.make import make_engine
from ludory.envs.pokemon.backends.sim import SimWorker
from ludory.envs.pokemon.engine import PokemonEngine
from ludory.errors import RejectedBattleError

FORMATS = ("gen1randombattle", "gen4randombattle", "gen9randombattle", "gen9battlefactory")
AT_ONCE = 32
"""Battles played at a time."""


@dataclass(frozen=True, slots=True)
class PokemonLabelsOptions:
    """Options of `ludory bench pokemon-labels`."""

    formats: tuple[str, ...] = FORMATS
    """To play."""
    battles: Count = 20
    """Battles of each format."""
    seed: Natural = 1
    """Of teams, chance and choices."""
    random: float = 0.3
    """Share of decisions drawn from all legal actions."""
    out: Path | None = None
    """JSON file of the result."""


@benchmark("pokemon-labels")
def run(options: PokemonLabelsOptions) -> Result:
    """Play, convert, compare, format by format."""
    rows = [check_labels(format, options.battles, options.seed, options.random) for format in options.formats]
    wrong = sum(row["wrong"] for row in rows)
    report = {**asdict(options), "out": options.out and str(options.out), "rows": rows, "wrong": wrong}
    return Result(options.out, report, _shown)


def check_labels(format: str, battles: int, seed: int = 1, random: float = 0.3) -> dict[str, Any]:
    """Counts of one format: decisions by exact, missing and wrong; battles by the name of their rejection; the first wrong labels.

    Args:
        format: with random teams.
        battles: to play.
        seed: of teams, chance and choices.
        random: share of decisions drawn from all legal actions.

    Raises:
        BackendError: the simulator fails.
    """
    counts, rejected, examples = Counter[str](), Counter[str](), list[str]()
    with SimWorker() as worker:
        for start in range(0, battles, AT_ONCE):
            for battle, sha256 in played(format, min(AT_ONCE, battles - start), seed + start, random):
                again = resimulate(worker, battle)
                counts["other log"] += again.log_sha256 != sha256
                try:
                    for verdict, text in _verdicts(battle._replace(lines=again.spectator), again):
                        counts[verdict] += 1
                        if verdict == "wrong":
                            examples.append(f"{battle.id}: {text}")
                except RejectedBattleError as error:
                    rejected[error.name] += 1
    return {
        "format": format,
        "battles": battles,
        **{name: counts[name] for name in ("exact", "missing", "wrong", "other log")},
        "rejected": dict(rejected),
        "examples": examples[:10],
    }


def played(format: str, battles: int, seed: int, random: float) -> Iterator[tuple[RecordedBattle, str]]:
    """Battles with their input logs, and the hashes of their logs."""
    draw = np.random.default_rng(seed)
    engine = make_engine("Pokemon-v0", battles, seed=seed, format=format, workers=0)
    assert isinstance(engine, PokemonEngine)
    try:
        bot = make_agent("pokemon/simple-heuristics(seed=1)", engine.game)
        memories = [bot.initial_memory(battles) for _ in (0, 1)]
        engine.reset()
        while not engine.over.all():
            legal = engine.state.legal
            actions = np.where(legal, draw.random(legal.shape, dtype=np.float32), -1).argmax(-1)
            for seat in (0, 1):
                rows = np.flatnonzero(engine.state.deciding[:, seat] & (draw.random(battles) >= random))
                if len(rows):
                    actions[rows, seat] = bot.choose(engine, seat, rows, memories[seat])
            engine.step(actions[..., None])
        for number, one in enumerate(engine.logs()):
            record = {"id": f"{format}-{seed}-{number}", "formatid": format}
            record |= {"log": one["log"], "inputLog": one["input_log"]}
            yield battle_of(record), one["end"]["log_sha256"]
    finally:
        engine.close()


def _verdicts(battle: RecordedBattle, truth: Resimulation) -> Iterator[tuple[str, str]]:
    """For each decision "exact", "missing" or "wrong", and what was read and chosen."""
    view, found, true = watch(battle.lines), spectator_trajectories(battle), request_trajectories(battle, truth)
    for seat in (0, 1):
        seen = [one for one in view.decisions if one.seat == seat]
        if len(seen) != len(true[seat].steps):
            yield "wrong", f"p{seat + 1} has {len(true[seat].steps)} decisions, the log shows {len(seen)}"
            continue
        parts = zip(seen, found[seat].steps, true[seat].steps, truth.decisions[seat], strict=True)
        for decision, label, step, (at, choice) in parts:
            if label.action == MISSING:
                yield "missing", ""
                continue
            verb, *words = choice.replace(",", " ").split()
            if verb == "move":
                right = (label.choice.split()[:2], label.gimmick) == (["move", words[0]], step.gimmick)
            else:
                request = json.loads(truth.streams[seat][at - 1][1:])["request"]
                nick = request["side"]["pokemon"][int(words[0]) - 1]["ident"].split(": ", 1)[1]
                right = decision.target is not None and decision.verb == "switch" and decision.target.nick == nick
            yield "exact" if right else "wrong", f"p{seat + 1}, turn {decision.turn}: {label.choice!r}, was {choice!r}"


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    """A line for each format, and the first wrong labels."""
    for row in report["rows"]:
        labels = ", ".join(f"{row[name]:,} {name}" for name in ("exact", "missing", "wrong"))
        rejected = ", ".join(f"{count} {name}" for name, count in row["rejected"].items()) or "none"
        yield f"{row['format']:20} {row['battles']:,} battles: {labels}; rejected: {rejected}; other logs: {row['other log']}"
        yield from (f"  wrong: {text}" for text in row["examples"])
