"""The table of baselines on the recorded decisions of SimpleHeuristics, from requests and the simulator's truth."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from ludory.data.pokemon.resimulation import action_of_choice
from ludory.data.pokemon.statistics import Statistics
from ludory.data.pokemon.trajectories import BattleStep, BattleTrajectory
from ludory.envs.pokemon.dex import dex
from ludory.envs.pokemon.requests import seat_request
from ludory.envs.pokemon.vocab import numbers, vocabulary

from .recorded import GOLDEN, battles, lines_of, resimulations

# decisions, mean legal, uniform, majority (share, action), share of moves, forced, max power on its moves (share, moves)
TABLE: dict[str, tuple[int, float, float, tuple[float, int], float, float, tuple[float, int]]] = {
    "gen1randombattle": (1174, 6.01, 0.237, (0.218, 2), 0.795, 0.191, (0.8585, 933)),
    "gen4randombattle": (534, 5.75, 0.225, (0.268, 0), 0.787, 0.191, (0.960, 420)),
    "gen9battlefactory": (921, 6.14, 0.213, (0.303, 0), 0.797, 0.181, (0.899, 734)),
    "gen9randombattle": (1185, 6.07, 0.215, (0.245, 0), 0.809, 0.180, (0.929, 959)),
}


@cache
def truths() -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in lines_of(GOLDEN / "truth.jsonl.gz")}


def max_power(gen: int, request: dict[str, Any], truth: dict[str, Any], seat: int) -> int:
    """The first move of the menu with the largest power x accuracy x same type x effectiveness; -1 for Recharge and Fight."""
    table, types = dex(gen), vocabulary("types")
    own, foe = (next(one for one in truth["s"][side]["mons"] if one["a"]) for side in (seat, 1 - seat))
    best, chosen = -1.0, -1
    for k, entry in enumerate(request["active"][0]["moves"]):
        move = numbers("moves")[entry["id"]]
        if entry.get("disabled") or entry["id"] in ("recharge", "fight"):
            continue
        kind = int(table.move_type[move])
        worth = float(table.move_power[move]) * float(table.move_accuracy[move])
        worth *= 1.5 if kind in [types.get(one.lower()) for one in own["ty"]] else 1.0
        for one in foe["ty"]:
            worth *= float(table.chart[kind, types.get(one.lower(), 1)])  # "???" is neutral
        if worth > best:
            best, chosen = worth, k
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize("format", TABLE)
def test_baselines_on_simple_heuristics(format: str) -> None:
    decisions, legal, uniform, majority, moves, forced, power = TABLE[format]
    found, right, of_moves = Statistics(), 0, 0
    kinds = Counter[str]()
    for battle in (one for one in battles() if one.format == format):
        assert battle.agents is not None
        gen, played = int(format[3]), resimulations()[battle.id]
        for seat in (0, 1):
            if battle.agents[seat] != "SimpleHeuristics":
                continue
            steps = []
            for number, decision in enumerate(played.decisions[seat]):
                content = json.loads(played.streams[seat][decision.at - 1][1:])
                request, order = content["request"], content["order"]
                asked = seat_request(request, order, gen, "never")
                if asked.kind == "preview":
                    continue
                action, _ = action_of_choice(decision.choice, request, order, gen, "never")
                mask = tuple(np.flatnonzero(asked.mask).tolist())
                assert action in mask
                kinds[asked.kind] += 1
                kind = "forced_switch" if request.get("forceSwitch") else "free"
                steps.append(BattleStep(action, mask=mask, kind=kind))
                if action < 4:
                    truth = truths()[battle.id]
                    of_moves += 1
                    right += max_power(gen, request, truth["truths"][truth["at"][seat][number]], seat) == action
            found.add(BattleTrajectory(battle.id, f"p{seat + 1}", 0.0, tuple(steps)))
    said = found.as_json()["baselines"]
    assert found.labels == decisions
    assert of_moves == power[1]
    assert right / of_moves == pytest.approx(power[0], abs=0.0006)
    assert said["mean_legal"] == pytest.approx(legal, abs=0.006)
    assert said["uniform_legal"] == pytest.approx(uniform, abs=0.0006)
    assert (said["majority_share"], said["majority_action"]) == (pytest.approx(majority[0], abs=0.0006), majority[1])
    assert said["share_of_moves"] == pytest.approx(moves, abs=0.0006)
    assert said["forced"] == pytest.approx(forced, abs=0.0006)
