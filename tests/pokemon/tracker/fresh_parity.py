"""Fresh battles of random players: both seats' trackers beside the simulator's state at every decision.

    python tests/pokemon/tracker/fresh_parity.py FORMAT BATTLES SEED [LINES]

BATTLES is a number of battles, or FIRST:LAST; LINES of the protocol are shown before the first difference of each kind.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from support.pokemon_parity import Difference, cause, differences, truth_of

from ludory.envs.pokemon.backends.sim import SimWorker
from ludory.envs.pokemon.backends.worker import Worker, chance_seed
from ludory.envs.pokemon.formats import battle_format
from ludory.envs.pokemon.requests import seat_request
from ludory.envs.pokemon.tracker import Tracker


class Decision(NamedTuple):
    """One decision of a seat."""

    battle: int
    seat: int
    turn: int
    found: list[tuple[Difference, str | None]]
    """Differences with the cause for which the seat cannot know better."""
    lines: list[str]
    """Everything that the seat was told so far."""


def fresh_decisions(worker: Worker, format: str, battles: Iterable[int], seed: int) -> Iterator[Decision]:
    """Play battles in which both seats choose uniformly among legal actions, and compare at every decision."""
    gen = battle_format(format).gen
    for battle in battles:
        random = Random(f"{format}|{seed}|{battle}")
        seeds = {part: chance_seed(seed, battle, 0, part)[0] for part in ("battle", "p1", "p2")}
        sides = {seat: {"seed": seeds[seat]} for seat in ("p1", "p2")}
        (reply,) = worker.reset([{"i": 0, "format": format, "seed": seeds["battle"], **sides}])["games"]
        trackers = [Tracker(gen, seat, strict=True) for seat in (0, 1)]
        told: list[list[str]] = [[], []]
        seen_as: list[set[str]] = [set(), set()]
        while True:
            for seat, tracker in enumerate(trackers):
                tracker.feed_all(reply["lines"][seat])
                told[seat] += reply["lines"][seat]
            if reply["end"] is not None:
                break
            truth = truth_of(worker.state([0])[0]["state"], reply["order"])
            choices: list[str | None] = [None, None]
            for seat, tracker in enumerate(trackers):
                asked = seat_request(reply["req"][seat], reply["order"][seat], gen)
                if asked.kind == "wait":
                    continue
                tracker.request(reply["req"][seat], reply["order"][seat])
                state, hidden = tracker.snapshot(), truth["s"][1 - seat]
                if state.foe.active is not None and any(one["a"] and one["ap"] for one in hidden["mons"]):
                    seen_as[seat].add(state.foe.pokemon[state.foe.active].nickname or "")
                found = [(one, cause(one, state, hidden, seen_as[seat])) for one in differences(state, truth, seat)]
                if any("Desync Clause Mod" in line for line in told[seat]):
                    found = [
                        (one, "desync" if one.what.endswith("pp") or one.what.startswith("pp") else why)
                        for one, why in found
                    ]
                yield Decision(battle, seat, truth["turn"], found, told[seat])
                choices[seat] = random.choice([choice for choice in asked.choices if choice is not None])
            (reply,) = worker.step([(0, choices[0], choices[1])])["games"]


def main(format: str, battles: str, seed: str, lines: str = "0") -> None:
    """Count differences by kind and show the first of each."""
    decisions = 0
    start, _, end = battles.rpartition(":")
    counts: Counter[tuple[str, str]] = Counter()
    causes: Counter[str] = Counter()
    first: dict[tuple[str, str], list[tuple[Decision, Difference]]] = {}
    with SimWorker() as worker:
        for decision in fresh_decisions(worker, format, range(int(start or 0), int(end)), int(seed)):
            decisions += 1
            causes.update(why for _, why in decision.found if why)
            for difference in [one for one, why in decision.found if why is None]:
                key = difference.side, difference.what
                counts[key] += 1
                shown = first.setdefault(key, [])
                if len(shown) < 3 and decision.battle not in [one.battle for one, _ in shown]:
                    shown.append((decision._replace(lines=list(decision.lines)), difference))
    print(
        f"{format}: {battles} battles, {decisions} decisions, {sum(counts.values())} differences, and by cause {dict(causes)}"
    )
    for key, count in counts.most_common():
        print(f"{count:6} {' '.join(key)}")
        for decision, difference in first[key]:
            print(f"       battle {decision.battle} seat {decision.seat} turn {decision.turn}: {difference}")
            for line in decision.lines[len(decision.lines) - int(lines) :]:
                print(f"           {line}")


if __name__ == "__main__":
    main(*sys.argv[1:])
