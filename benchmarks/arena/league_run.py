"""One run of `ludory bench arena-league`, in a process of its own: train or resume, evaluate the final main, exploit it."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ludory.agents.evaluation.intervals import wilson
from ludory.agents.make import make_agent
from ludory.algorithms.league.config import LeagueConfig
from ludory.algorithms.league.evaluator import Evaluator
from ludory.algorithms.league.exploitation import Exploiter
from ludory.algorithms.league.log.events import read_events
from ludory.algorithms.league.matchmaking.options import Matchmaking
from ludory.algorithms.league.messages import EvaluationOrder
from ludory.algorithms.league.opponent_runners import Opponent
from ludory.algorithms.league.player_files import OpenedLeague, open_league
from ludory.algorithms.league.run import League, resume_league, start_league
from ludory.algorithms.running.threads import one_thread
from ludory.atomic import atomic_folder
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.result_file import write_result
from ludory.paths import path_inside

GAME = "Arena2P-v0"
OPTIONS = {"observation": "evasive"}
HELD_OUT = ("arena/duelist", "arena/raider")
"""Styles that nobody trained with: neither the teacher nor a learner met them."""
TEACHERS_STYLES = ("arena/rusher", "arena/turtle", "arena/miner", "arena/zone", "arena/sniper", "arena/looter")
"""Styles that the teacher imitates."""
STYLES = (*TEACHERS_STYLES, *HELD_OUT)
LEARNER: dict[str, Any] = {
    "num_envs": 512,
    "n_steps": 64,
    "batch_size": 4096,
    "n_epochs": 2,
    "learning_rate": 5e-4,
    "final_learning_rate": 5e-5,
    "kl_coef": 0.0,
    "ent_coef": 0.01,
    "final_ent_coef": 0.002,
    "gamma": 0.998,
    "shaping": 0.5,
}
"""Options of `ppo` that differ from its defaults; the same for all contenders.

Nobody stays close to the teacher: who does explores too little to learn to step out of the way of shots."""
EVALUATION_GAMES = 10
"""Games of each pair of frozen players at the end of a league; its own table is not reported here."""
RESULT = "result.json"
"""File of a finished run, in its folder."""
STARTS_SEED = 1_000_003
"""Seed of the reported duels."""


@dataclasses.dataclass(frozen=True, slots=True)
class LeagueContender:
    """A way to train the main of a run."""

    against: str
    """The opponents of its learners, in words."""
    changes: dict[str, Any]
    """Options of the league that differ from its defaults."""


# an exploiter needs some five million steps before it plays well, which is the length of a unit here
_LEAGUE = {"roles": (1, 1, 1), "main_turns": 4, "unit": -16}
_SELF_PLAY = {"roles": (1, 0, 0), "matchmaking": Matchmaking(0.0, 1.0, 0.0)}
CONTENDERS = {
    "league": LeagueContender("its past, its exploiters, itself; exploiters start from the teacher", _LEAGUE),
    "self-play": LeagueContender("itself", _SELF_PLAY),
    "league, exploiters from the main": LeagueContender(
        "as the league, but exploiters start anew from the newest copy of the main",
        {**_LEAGUE, "exploiters_from": "main"},
    ),
    "league, short units": LeagueContender(
        "as the league, but with units of a 64th of the steps, so that exploiters start anew four times as often",
        {**_LEAGUE, "unit": 0},
    ),
    "league, styles": LeagueContender(
        "as the league, and the teacher's styles among the frozen players",
        {**_LEAGUE, "matchmaking": Matchmaking(anchors_in_pfsp=True)},
    ),
    "self-play, styles": LeagueContender(
        "itself in half of the matches, the teacher and its styles in the other half",
        {
            "roles": (1, 0, 0),
            "matchmaking": Matchmaking(0.5, 0.5, 0.0, anchors_in_pfsp=True, prioritised=False),
            "unit": 2**40,
        },
    ),
}


def league_config(contender: str, seed: int, steps: int, teacher: str) -> LeagueConfig:
    """The league of a contender."""
    options: dict[str, Any] = {
        "options": OPTIONS,
        "learner": "ppo",
        "learner_options": LEARNER,
        "anchors": TEACHERS_STYLES,
        "evaluation_games": EVALUATION_GAMES,
        "evaluation_every": 2**30,
    } | CONTENDERS[contender].changes
    if options.get("unit", 0) < 0:
        options["unit"] = steps // -options["unit"]
    if "unit" in options:
        options["slice_steps"] = max(50_000, steps // 64) // 8
    return LeagueConfig(env=GAME, teacher=teacher, budget_steps=steps, seed=seed, **options)


def main(task: dict[str, Any], seconds: float = math.inf) -> None:
    """Run one task and write its result, or stop training after so many seconds; called again, it goes on."""
    deadline = time.monotonic() + seconds

    def after_slice(league: League) -> None:
        if time.monotonic() > deadline:
            league.stop()

    folder = Path(task["folder"])
    config = league_config(task["contender"], task["seed"], task["steps"], task["teacher"])
    begun = (folder / "events.jsonl").exists()
    with resume_league(folder) if begun else start_league(config, folder) as league:
        if not league.run(after_slice):
            return
    opened = open_league(folder)
    final = opened.final_main
    with one_thread():
        styles = _scores(opened, final, STYLES, task["duels"])
        others = [player.id for player in opened.state.players if player.frozen and player.id != final]
        past = _scores(opened, final, others, task["past_duels"])
        exploiters = []
        for seed in range(1000 * task["seed"], 1000 * task["seed"] + task["exploiters"]):
            exploiter = Exploiter(opened.config, opened.game, {final: 1.0}, opened.pool, "target", seed)
            exploiters.append(dataclasses.asdict(exploiter.run("main", task["exploiter_steps"], task["duels"])))
    result = {
        **{name: value for name, value in task.items() if name != "teacher"},  # its hash says more than where it lay
        "folder": folder.name,
        "teacher_sha256": read_events(folder)[0].body["teacher_sha256"],
        "final": final,
        "main_steps": opened.state.player(final).env_steps,
        "env_steps": opened.state.env_steps,
        "seconds": opened.state.seconds,
        "frozen": {
            role: sum(player.frozen and player.role == role for player in opened.state.players)
            for role in ("main", "main_exploiter", "league_exploiter")
        },
        "styles": styles,
        "past": past,
        "exploiters": exploiters,
        **origin(),
    }
    write_result(folder / RESULT, result)


@dataclasses.dataclass(frozen=True, slots=True)
class RunPart:
    """A part of a run, as a worker gets it: all that it needs of files."""

    task: dict[str, Any]
    teacher: bytes
    files: dict[str, bytes]
    """Of the folder, by name."""
    seconds: float
    """After which its training stops."""


def part_of(task: dict[str, Any], seconds: float) -> RunPart:
    """The next part of a run, which goes on from its folder."""
    return RunPart(task, Path(task["teacher"]).read_bytes(), _files(Path(task["folder"])), seconds)


def play_part(part: RunPart) -> dict[str, bytes]:
    """Play a part in a temporary folder; returns the files of the run."""
    with TemporaryDirectory() as place:
        folder, teacher = Path(place) / Path(part.task["folder"]).name, Path(place) / "teacher.ludory"
        teacher.write_bytes(part.teacher)
        for name, content in part.files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        main(part.task | {"folder": str(folder), "teacher": str(teacher)}, part.seconds)
        return _files(folder)


def keep_part(task: dict[str, Any], files: dict[str, bytes]) -> None:
    """Put what `play_part` returned in the place of the run's folder, at once."""
    with atomic_folder(task["folder"]) as fresh:
        for name, content in files.items():
            file = path_inside(fresh, name, "a worker")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _files(folder: Path) -> dict[str, bytes]:
    found = (file for file in folder.rglob("*") if file.is_file() and file.name != "lock")
    return {str(file.relative_to(folder)): file.read_bytes() for file in found}


def _scores(league: OpenedLeague, player: str, others: Sequence[str], duels: int) -> dict[str, dict[str, float]]:
    """Scores of `player` against each of `others` over paired duels."""
    orders = [EvaluationOrder(player, other, 0, duels) for other in others]
    styles = {style: make_agent(style, league.game) for style in STYLES}

    def find(id: str) -> Opponent:
        return styles[id] if id in styles else league.pool.opponent(id)

    results = Evaluator(league.game, find, seed=STARTS_SEED).play(orders)
    return {result.j: score_with_interval(result.points, duels) for result in results}


def score_with_interval(points: float, duels: int) -> dict[str, float]:
    """Share of points with its 95 % Wilson interval, as result files have it."""
    interval = wilson(points, duels)
    return {"score": points / duels, "low": float(interval.low), "high": float(interval.high), "duels": duels}
