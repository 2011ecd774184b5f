"""One league of `ludory bench arena-league`, in a process of its own: train or go on, measure the final main, exploit it."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from ludory.agents.intervals import wilson
from ludory.algorithms.league.config import LeagueConfig
from ludory.algorithms.league.evaluator import Evaluator
from ludory.algorithms.league.events import read_events
from ludory.algorithms.league.exploit import Exploiter
from ludory.algorithms.league.matchmaking import Matchmaking
from ludory.algorithms.league.messages import EvaluationOrder
from ludory.algorithms.league.opened import OpenedLeague, open_league
from ludory.algorithms.league.run import resume_league, start_league
from ludory.algorithms.threads import one_thread

from .result_file import write_result

GAME = "Arena2P-v0"
OPTIONS = {"observation": "tactical"}
STYLES = tuple(f"arena/{style}" for style in ("rusher", "sniper", "turtle", "looter", "miner", "zone"))
LEARNER: dict[str, Any] = {
    "hidden": (128, 128),
    "privileged_value": True,
    "batch_columns": 32,
    "learning_rate": 3e-4,
    "c_kl": 0.01,
    "c_value": 2.0,
    "c_entropy": 1e-3,
    "vtrace_lam": 0.95,
    "gamma": 0.998,
    "shaping": 0.3,
}
"""Options of the learner that differ from its defaults; the same for all contenders."""
ROLES = {"no exploiters": (1, 0, 0), "self-play": (1, 0, 0)}
FULL_ROLES, MAIN_TURNS, UNIT = (1, 1, 1), 4, 2_000_000
SHARES = (0.8, 0.1, 0.1)
"""Of a main's matches: PFSP, self-play, verification. The paper's 0.5, 0.35, 0.15 suit budgets ten thousand times larger."""
ALONE = Matchmaking(pfsp_share=0.0, self_play_share=1.0, verification_share=0.0)
CONTENDERS = ("league", "self-play", "no anchors", "no KL", "no UPGO", "no PFSP", "no exploiters")
"""In "league" the scripted styles are among the candidates of PFSP, in "no anchors" they are only measured against."""


def league_config(contender: str, seed: int, minutes: float, teacher: str, processor_time: bool) -> LeagueConfig:
    """The league of a contender."""
    learner = dict(LEARNER)
    if contender == "no KL":
        learner["c_kl"] = 0.0
    if contender == "no UPGO":
        learner["c_upgo"] = 0.0
    return LeagueConfig(
        env=GAME,
        options=OPTIONS,
        teacher=teacher,
        minutes=minutes,
        processor_time=processor_time,
        roles=ROLES.get(contender, FULL_ROLES),
        main_turns=MAIN_TURNS,
        unit=UNIT,
        matchmaking=ALONE if contender == "self-play" else _matchmaking(contender),
        learner_options=learner,
        anchors=STYLES,
        seed=seed,
    )


def _matchmaking(contender: str) -> Matchmaking:
    anchors, prioritised = contender != "no anchors", contender != "no PFSP"
    return Matchmaking(*SHARES, anchors_in_pfsp=anchors, prioritised=prioritised)


def main(task: dict[str, Any]) -> None:
    """Run one task and write its result."""
    folder = Path(task["folder"])
    config = league_config(task["contender"], task["seed"], task["minutes"], task["teacher"], task["processor_time"])
    begun = (folder / "events.jsonl").exists()
    with resume_league(folder, minutes=task["minutes"]) if begun else start_league(config, folder) as league:
        league.run()
    opened = open_league(folder)
    final = [player.id for player in opened.state.players if player.frozen and player.role == "main"][-1]
    with one_thread():
        styles = _scores(opened, final, STYLES, task["duels"])
        frozen = [player.id for player in opened.state.players if player.frozen and player.id != final]
        past = _scores(opened, final, frozen, task["past_duels"])
        exploiters = [
            dataclasses.asdict(
                Exploiter(opened.config, opened.game, {final: 1.0}, opened.pool.entrant, "teacher", seed).run(
                    "main", max(1, round(0.02 * opened.state.env_steps)), task["duels"]
                )
            )
            for seed in range(1, task["exploiters"] + 1)
        ]
    result = {
        **{name: value for name, value in task.items() if name != "teacher"},  # its hash says more than where it lay
        "folder": folder.name,
        "teacher_sha256": read_events(folder)[0].body["teacher_sha256"],
        "final": final,
        "main_steps": opened.state.player(final).env_steps,
        "env_steps": opened.state.env_steps,
        "seconds": opened.state.seconds,
        "styles": styles,
        "past": past,
        "min_styles": min(one["score"] for one in styles.values()),
        "min_past": min((one["score"] for one in past.values()), default=None),
        "exploiters": exploiters,
    }
    write_result(folder / "result.json", result)


def _scores(league: OpenedLeague, player: str, others: Any, duels: int) -> dict[str, dict[str, float]]:
    """Points of `player` against each of `others` over paired duels, with 95 % Wilson intervals."""
    orders = [EvaluationOrder(player, other, 0, duels) for other in others]
    found = {}
    for played in Evaluator(league.game, league.pool.entrant, seed=1_000_003).play(orders):
        points = played.result.wins + played.result.draws / 2
        interval = wilson(points, duels)
        found[played.result.j] = {
            "score": points / duels,
            "low": float(interval.low),
            "high": float(interval.high),
            "duels": duels,
        }
    return found


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
