"""The recorded battles, for tests: battles, and what both seats chose according to the input logs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ludory.data.pokemon.rejections import Rejection
from ludory.data.pokemon.replays import RecordedBattle, read_battles
from ludory.data.pokemon.resimulation import Resimulation, SeatDecision

GOLDEN = Path(__file__).parents[2] / "golden" / "pokemon"
BATTLES = GOLDEN / "sim_dev.jsonl.gz"
SERVER_LOGS = GOLDEN / "pkmn_stats_serverlogs.jsonl.gz"


def lines_of(file: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a gzip file."""
    with gzip.open(file, "rt", encoding="utf-8") as handle:
        for line in handle:
            yield json.loads(line)


@cache
def battles() -> tuple[RecordedBattle, ...]:
    """The simulated battles, in order."""
    found = list(read_battles(BATTLES))
    assert not any(isinstance(one, Rejection) for one in found)
    return tuple(one for one in found if isinstance(one, RecordedBattle))


@cache
def resimulations() -> dict[str, Resimulation]:
    """Streams and choices of both seats by battle, as the simulator gave them; no simulator is needed."""
    found = {}
    for record, battle in zip(lines_of(GOLDEN / "streams.jsonl.gz"), battles(), strict=True):
        assert record["id"] == battle.id
        seats = record["seats"]
        found[battle.id] = Resimulation(
            (tuple(seats[0]["stream"]), tuple(seats[1]["stream"])),
            tuple(tuple(SeatDecision(one["at"], one["choice"]) for one in seat["decisions"]) for seat in seats),  # type: ignore[arg-type]
            battle.lines,
            battle.teams or ("", ""),
            "",
        )
    return found
