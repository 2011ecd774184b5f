"""LeagueEvent logs of leagues that nobody played, written by hand for tests of reports."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from ludory.algorithms.league.log.events import LeagueEvent


class LeagueLog:
    """Events in order, one second apart; frozen players meet everyone that is fixed when they are made."""

    def __init__(self, **config: Any) -> None:
        self.events: list[LeagueEvent] = []
        self.fixed: list[str] = []
        self.add(
            "created", config={"env": "Arena2P-v0", "seed": 5, "budget_steps": 1000, **config}, teacher_sha256="ab" * 32
        )

    def add(self, type: str, **body: Any) -> LeagueLog:
        """Append an event."""
        self.events.append(LeagueEvent(len(self.events), type, 1000.0 + len(self.events), body))
        return self

    def player(self, id: str, role: str) -> LeagueLog:
        """A learner or an anchor."""
        if role == "anchor":
            self.fixed.append(id)
        return self.add("player_added", id=id, role=role)

    def copy(self, player: str, id: str, **points: int) -> LeagueLog:
        """A frozen copy, and its 100 games against each of `points`: names of opponents, with "__" for "@"."""
        self.add("snapshot", player=player, id=id, file=f"players/{id}.ludory", sha256="cd" * 32, reason="steps")
        self.fixed.append(id)
        for opponent, wins in points.items():
            self.games(id, opponent.replace("__", "@"), wins, 0, 100 - wins)
        return self

    def games(self, i: str, j: str, wins: int, draws: int, losses: int, **more: Any) -> LeagueLog:
        """An evaluation."""
        return self.add("evaluated", i=i, j=j, block=0, wins=wins, draws=draws, losses=losses, length=1, **more)

    def match(self, number: int, home: str, away: str, outcome: str, branch: str = "pfsp") -> LeagueLog:
        """A match of a learner, assigned and finished."""
        self.add("assigned", match=number, home=home, away=away, games=len(outcome), game_seed=1, branch=branch)
        return self.add("result", match=number, outcome=outcome, length=9, source="training", counted=True)

    def progress(self, player: str, env_steps: int, **metrics: float) -> LeagueLog:
        """The end of a slice."""
        return self.add("progress", player=player, env_steps=env_steps, updates=1, metrics=metrics)

    def write(self, folder: Path) -> Path:
        """As `events.jsonl` in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "events.jsonl").open("w", encoding="utf-8") as handle:
            for event in self.events:
                head = {"seq": event.seq, "type": event.type, "wall_time": event.wall_time}
                handle.write(json.dumps({**head, **event.body}) + "\n")
        return folder


def small_league() -> LeagueLog:
    """A main, an exploiter and an anchor; three copies of the main that beat each other in a circle, one of the exploiter."""
    log = LeagueLog().player("main0", "main").player("main_exploiter0", "main_exploiter").player("style", "anchor")
    log.copy("main0", "main0@0", style=90)
    log.match(0, "main0", "main0@0", "wwld").match(1, "main0", "main0", "wl", "self_play")
    log.progress("main0", 100, **{"train/loss": 0.5, "train/teacher_kl": 0.1})
    log.copy("main0", "main0@1", style=95, main0__0=80)
    log.match(2, "main_exploiter0", "main0", "llwl", "main").progress("main_exploiter0", 50, **{"train/loss": 0.7})
    log.copy("main_exploiter0", "main_exploiter0@0", style=60, main0__0=40, main0__1=30)
    log.add("reset", player="main_exploiter0", to="teacher")
    log.match(3, "main0", "style", "wwww").match(4, "main0", "main0@1", "wl").progress(
        "main0", 200, **{"train/loss": 0.4}
    )
    return log.copy("main0", "main0@2", style=100, main0__0=25, main0__1=70, main_exploiter0__0=66).add("closed")


def long_league(copies: int, events: int, common: int = 6, seed: int = 0, **config: Any) -> LeagueLog:
    """A league of four learners with so many frozen copies and about so many events; each copy meets the `common` oldest and a few others.

    Copies fall into three groups that beat each other in a circle, newer ones are stronger.
    """
    draw = random.Random(seed)
    log = LeagueLog(
        teacher="teacher.ludory",
        roles=[1, 1, 2],
        matchmaking={},
        snapshots={},
        anchors=["style"],
        **config,
    )
    learners = ("main0", "main_exploiter0", "league_exploiter0", "league_exploiter1")
    for id in learners:
        log.player(id, id[:-1])
    log.player("style", "anchor")
    spare, match, made, steps = (events - 6) // copies - 4, 0, dict.fromkeys(learners, 0), dict.fromkeys(learners, 0)
    for number in range(copies):
        id = learners[number % 4]
        evaluations = max(common, spare // 3)
        for _ in range(max(0, spare - evaluations) // 2):
            log.match(match, id, draw.choice(log.fixed), "".join(draw.choices("wdl", (5, 1, 4), k=64)))
            match += 1
        steps[id] += 100_000
        log.progress(id, steps[id], **{"train/loss": 0.5 / (number + 1), "train/teacher_kl": 0.1})
        older = log.fixed[:common] + draw.sample(log.fixed[common:], max(0, min(evaluations, len(log.fixed)) - common))
        log.copy(id, f"{id}@{made[id]}")
        made[id] += 1
        for other in older:
            rate = 0.5 + 0.2 * ((number - log.fixed.index(other)) % 3 - 1) + 0.1 * (number / copies)
            wins = sum(draw.random() < rate for _ in range(100))
            pairs = [(100 - wins) // 2, 0, wins % 2, 0, wins // 2]
            log.games(log.fixed[-1], other, wins, 0, 100 - wins, pairs=pairs)
        if number % 10 == 9 and "exploiter" in id:
            log.add("reset", player=id, to="teacher")
        log.add("committed", seconds=1.0)
    return log
