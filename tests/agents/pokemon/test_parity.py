"""Choices of the scripted opponents beside those of poke-env's players, in battles that poke-env played on a Showdown server.

`tests/golden/pokemon/parity.md` has the figures of 800 more battles; `tests/pokemon/backends/test_server.py` compares live.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ludory.agents.pokemon.bots import MaxBasePowerBot, PokemonBot, SimpleHeuristicsBot
from ludory.agents.pokemon.heuristics import NOBODY
from ludory.envs.pokemon.columns import ENTITY_SIZE
from ludory.envs.pokemon.observation import write_entity
from ludory.envs.pokemon.requests import seat_request
from ludory.envs.pokemon.tracker import Tracker

GOLDEN = Path(__file__).parents[2] / "golden" / "pokemon"
GAME: Any = SimpleNamespace(facts=SimpleNamespace(name="pokemon"), id=None)
FORMATS = ("gen1randombattle", "gen4randombattle", "gen9battlefactory", "gen9randombattle")


def battles(name: str) -> dict[str, dict[str, Any]]:
    with gzip.open(GOLDEN / name, "rt", encoding="utf-8") as file:
        return {battle["id"]: battle for battle in map(json.loads, file)}


RECORDED, STREAMS = battles("sim_dev.jsonl.gz"), battles("streams.jsonl.gz")


def decisions(format: str, player: str) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
    """Entity row, legal mask, positions and recorded action of every decision of a player, previews left out."""
    for id, battle in STREAMS.items():
        for seat in (0, 1) if battle["format"] == format else ():
            if player not in RECORDED[id][f"p{seat + 1}agent"]:
                continue
            told, tracker, fed = battle["seats"][seat], Tracker(battle["gen"], seat), 0
            for decision in told["decisions"]:
                for line in told["stream"][fed : decision["at"]]:
                    if line.startswith("R{"):
                        asked = json.loads(line[1:])
                        tracker.request(asked["request"], asked["order"])
                    else:
                        tracker.feed(line)
                fed = decision["at"]
                if asked["request"].get("teamPreview"):
                    continue
                mask = np.array(seat_request(asked["request"], asked["order"], battle["gen"]).mask)
                row = np.zeros(ENTITY_SIZE, np.float32)
                write_entity(tracker, mask, row)
                yield row, mask, np.array(asked["order"]), decision["action"]


def agreement(bot: PokemonBot, player: str, format: str) -> Counter[bool]:
    found: Counter[bool] = Counter()
    for row, mask, order, action in decisions(format, player):
        chosen = int(bot.decide(row[None], mask[None], order[None])[0])
        if chosen != NOBODY:
            found[chosen == action] += 1
    return found


@pytest.mark.plain
@pytest.mark.parametrize(
    "format", [pytest.param(one, marks=[] if one == "gen4randombattle" else pytest.mark.slow) for one in FORMATS]
)
def test_simple_heuristics_chooses_as_the_original(format):
    found = agreement(SimpleHeuristicsBot(GAME), "SimpleHeuristics", format)
    assert found.total() > 400
    assert found[True] >= 0.995 * found.total(), found


@pytest.mark.plain
@pytest.mark.parametrize(
    "format", [pytest.param(one, marks=[] if one == "gen9randombattle" else pytest.mark.slow) for one in FORMATS]
)
def test_max_base_power_chooses_as_the_original(format):
    found = agreement(MaxBasePowerBot(GAME), "MaxBasePower", format)
    assert found.total() > 50
    assert found[False] == 0


@pytest.mark.slow
def test_the_order_of_the_team_decides_between_equal_switches():
    """Without positions, switches that stand equally well are taken in another order than the original's."""
    bot = SimpleHeuristicsBot(GAME)
    assert any(
        bot.decide(row[None], mask[None], order[None])[0] != bot.decide(row[None], mask[None], np.arange(6)[None])[0]
        for row, mask, order, _ in decisions("gen1randombattle", "SimpleHeuristics")
    )
