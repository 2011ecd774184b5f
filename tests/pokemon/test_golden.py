"""Battles of the pinned simulator go as they were recorded."""

import json
from collections.abc import Sequence

import pytest

from ludory.atomic import atomic_file
from ludory.data.pokemon.resimulation import check_same, resimulate
from ludory.envs.pokemon.backends.install import lock_hash
from ludory.envs.pokemon.backends.sim import SimWorker
from ludory.envs.pokemon.backends.worker import played_out
from ludory.errors import RejectedBattleError
from ludory.plugins.builtin import GAMES

from .data.recorded import GOLDEN, battles

HASHES = GOLDEN / "hashes.json"
"""Hash of the omniscient log of one battle per id, and of the lock that pins the simulator."""
TEAMS_OF = {"gen1ou": "gen1randombattle", "gen9ou": "gen9battlefactory"}
"""Formats that need teams play those of recorded battles of another format."""
FORMATS = {game.id: game.fixed["format"] for game in GAMES if "format" in game.fixed}


def log_hash(worker: SimWorker, id: str) -> str:
    recorded = [battle.teams for battle in battles() if battle.format == TEAMS_OF.get(FORMATS[id])]
    end = played_out(worker, FORMATS[id], f"golden {id}", teams=recorded[0] if recorded else None)
    return str(end["log_sha256"])


def test_the_hashes_are_those_of_the_lock() -> None:
    """Needs no simulator: a new lock without new hashes fails everywhere."""
    golden = json.loads(HASHES.read_text(encoding="utf-8"))
    assert golden["lock"] == lock_hash()
    assert set(golden["log_sha256"]) == set(FORMATS)
    assert len(set(golden["log_sha256"].values())) == len(FORMATS)


@pytest.mark.parametrize("id", FORMATS)
def test_a_battle_of_each_id_goes_as_recorded(worker: SimWorker, id: str) -> None:
    assert log_hash(worker, id) == json.loads(HASHES.read_text(encoding="utf-8"))["log_sha256"][id]


def nameless(lines: Sequence[str]) -> list[str]:
    """Lines without those of players, times and paragraphs, and with sides instead of the players' names."""
    named = [line.split("|") for line in lines if line.startswith("|player|p")]
    sides = {parts[3]: parts[2] for parts in named if len(parts) > 3 and parts[3]}
    kept = []
    for line in lines:
        if line.startswith(("|player|p", "|t:|")) or line == "|":
            continue
        parts = line.split("|")
        if parts[1] == "win":
            parts[2] = sides[parts[2]]
        elif parts[1].startswith("-side"):
            parts[2] = parts[2].split(":")[0]
        kept.append("|".join(parts))
    return kept


def test_all_recorded_battles_play_again(worker: SimWorker) -> None:
    """100 of 100: every line but names, times and paragraphs, and the teams."""
    different = []
    for battle in battles():
        try:
            played = resimulate(worker, battle)
            check_same(battle, played)
        except RejectedBattleError as error:
            different.append(f"{battle.id}: {error}")
            continue
        logs = nameless(battle.lines), nameless(played.spectator)
        if logs[0] != logs[1]:
            pairs = zip(*logs, strict=False)
            different.append(f"{battle.id}: {next((pair for pair in pairs if pair[0] != pair[1]), 'length')}")
    assert not different, f"{len(different)} of {len(battles())} differ:\n" + "\n".join(different[:10])
    assert len(battles()) == 100


if __name__ == "__main__":  # writes the hashes of the installed simulator
    with SimWorker() as started, atomic_file(HASHES, "w") as handle:
        hashes = {id: log_hash(started, id) for id in FORMATS}
        handle.write(json.dumps({"lock": lock_hash(), "log_sha256": hashes}, indent=2) + "\n")
