"""Write `names.json`, `dex.npz` and the notice from an installed simulator: `make pokemon-dex`.

Usage: python tools/pokemon_dex.py [FOLDER]    (FOLDER holds node_modules/pokemon-showdown; the installed one if left out)
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ludory.atomic import atomic_file
from ludory.envs.pokemon.backends.install import needed
from ludory.envs.pokemon.dex import BOOSTS, FOLDER, GENERATIONS, STATS, TARGETS, Array

SCRIPT = FOLDER.parent / "js" / "dex.js"
LOCK = FOLDER.parent / "js" / "sim" / "package-lock.json"
STATUSES = ["brn", "frz", "par", "psn", "slp", "tox"]
HAZARDS = {"spikes", "toxicspikes", "stealthrock", "stickyweb", "gmaxsteelsurge"}

PRESSED = {"normal", "any", "all", "allAdjacent", "allAdjacentFoes", "adjacentFoe", "randomNormal", "scripted"}

# What the simulator does in code, which its tables do not say.
LAYS_HAZARDS = {"ceaselessedge", "stoneaxe", "gmaxsteelsurge"}
CLEARS_HAZARDS = {"rapidspin", "defog", "mortalspin", "tidyup", "courtchange", "gmaxwindrage"}
RAISES_SELF = {"bellydrum", "acupressure", "stockpile", "tidyup", "filletaway", "clangoroussoul", "curse", "growth"}
HEALS = {"rest", "wish", "painsplit", "strengthsap", "lunardance", "healingwish", "swallow", "junglehealing"}
GIVES_STATUS = {"triattack": ("par", 0.2), "direclaw": ("psn", 0.5), "psychoshift": ("brn", 1.0)}
FAINTS = {"healingwish", "lunardance", "memento", "finalgambit"}


def simulator_dex(folder: Path) -> dict[str, Any]:
    """The numbers of the simulator in FOLDER/node_modules, as `js/dex.js` prints them."""
    done = subprocess.run(["node", str(SCRIPT), str(folder)], capture_output=True, check=True, timeout=120)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def vocabularies(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Sorted ids of every kind."""
    return {**raw["vocabulary"], "statuses": STATUSES}


def written(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Content of `names.json`: the names whose ids these are, and the species that cosmetic formes stand for."""
    return {**raw["names"], "statuses": STATUSES, "cosmetic": dict(sorted(raw["cosmetic"].items()))}


def tables(raw: Mapping[str, Any], gen: int) -> dict[str, Array]:
    """Arrays of one generation by the names of the fields of `Dex`."""
    # 0 is "unknown", 1 "none": the numbers of names begin with 2
    vocabulary = {kind: {name: i for i, name in enumerate(ids, 2)} for kind, ids in vocabularies(raw).items()}
    facts = raw["generations"][str(gen)]
    return {
        **_species(facts["species"], vocabulary, gen),
        **_moves(facts["moves"], vocabulary, gen),
        "chart": _chart(facts, vocabulary["types"]),
        "rules": np.array(raw["rules"]),
        "lock_sha256": np.array(hashlib.sha256(LOCK.read_bytes()).hexdigest()),
    }


def _species(entries: Mapping[str, Any], vocabulary: Mapping[str, Mapping[str, int]], gen: int) -> dict[str, Array]:
    types, abilities, species = vocabulary["types"], vocabulary["abilities"], vocabulary["species"]
    count = len(entries) + 2
    arrays: dict[str, Array] = {
        "stats": np.zeros((count, 6), np.int16),
        "types": np.zeros((count, 2), np.int8),
        "weight": np.zeros(count, np.float32),
        "ability": np.zeros(count, np.int16),
        "base": np.zeros(count, np.int16),
        "gen": np.zeros(count, np.int8),
    }
    for name, entry in entries.items():
        i = species[name]
        arrays["stats"][i] = [entry["stats"][stat] for stat in STATS]
        # a second type of 1 is "no second type"
        arrays["types"][i] = ([types.get(t, 0) for t in entry["types"]] + [1])[:2]
        arrays["weight"][i] = entry["weight"]
        possible = {ability for ability in entry["abilities"] if ability} or {"noability"}
        # with one possible ability there is nothing to reveal
        arrays["ability"][i] = 1 if gen < 3 else abilities[possible.pop()] if len(possible) == 1 else 0
        arrays["base"][i] = species[entry["base"]]
        arrays["gen"][i] = entry["gen"]
    return {f"species_{name}": array for name, array in arrays.items()}


def _moves(entries: Mapping[str, Any], vocabulary: Mapping[str, Mapping[str, int]], gen: int) -> dict[str, Array]:
    columns: dict[str, list[Any]] = {}
    for name, move in entries.items():
        for column, value in _move(name, move, vocabulary, gen).items():
            columns.setdefault(column, []).append(value)
    types: dict[str, Any] = {"move_accuracy": np.float32, "move_hits": np.float32, "move_status_chance": np.float32}
    types |= {"move_chance_self_boosts": np.float32, "move_chance_target_boosts": np.float32}
    types |= {"move_power": np.int16, "move_pp": np.int16}
    tables = {}
    for column, values in columns.items():
        rows = np.array(values)
        dtype = bool if rows.dtype == bool else types.get(column, np.int8)
        # the rows of "unknown" and "none" come first
        tables[column] = np.concatenate([np.zeros((2, *rows.shape[1:]), dtype), rows.astype(dtype)])
    return tables


def _move(name: str, move: Mapping[str, Any], vocabulary: Mapping[str, Mapping[str, int]], gen: int) -> dict[str, Any]:
    flags, target = move.get("flags") or {}, move["target"]
    own = (move.get("self") or {}).get("boosts"), (move.get("selfBoost") or {}).get("boosts")
    aimed_at_self = target in ("self", "adjacentAllyOrSelf", "allies")
    boosts = _boosts(move.get("boosts"))
    # a move aimed at its user raises the user's stages with the boosts of its target
    self_boosts = sum((_boosts(part) for part in own), boosts if aimed_at_self else _boosts(None))
    target_boosts = _boosts(None) if aimed_at_self else boosts
    status, chance = move.get("status"), 1.0 if move.get("status") else 0.0
    chance_self, chance_target = np.zeros(7), np.zeros(7)
    for secondary in move.get("secondaries") or []:
        probability = secondary.get("chance", 100) / 100
        chance_self += probability * _boosts((secondary.get("self") or {}).get("boosts"))
        chance_target += probability * _boosts(secondary.get("boosts"))
        if secondary.get("status"):
            status, chance = secondary["status"], probability
    status, chance = GIVES_STATUS.get(name, (status, chance))
    low, high, mean = _hits(move.get("multihit"), gen)
    # with all PP Ups: 8/5
    pp = move["pp"] if move.get("noPPBoosts") else move["pp"] * 8 // 5
    costs = ("recoil", "hasCrashDamage", "mindBlownRecoil", "struggleRecoil", "selfdestruct")
    values = {
        "type": vocabulary["types"].get(move["type"].lower(), 0),
        "category": ("Physical", "Special", "Status").index(move["category"]),
        "power": move["basePower"],
        "accuracy": 1.0 if move["accuracy"] is True else move["accuracy"] / 100,
        "priority": move["priority"],
        # in generations 1 and 2 a PP Up gives seven points at most: 40 + 3 * 7
        "pp": min(pp, 61) if gen < 3 else pp,
        "target": TARGETS.index(target),
        "hits": mean,
        "min_hits": low,
        "max_hits": high,
        "status": vocabulary["statuses"].get(status or "", 0) if not aimed_at_self else 0,
        "status_chance": chance if not aimed_at_self else 0.0,
        "self_boosts": self_boosts,
        "target_boosts": target_boosts,
        "chance_self_boosts": chance_self,
        "chance_target_boosts": chance_target,
        "gen": move["gen"],
        "recoil": any(move.get(cost) for cost in costs) or name in FAINTS,
        "self_destruct": bool(move.get("selfdestruct")) or name in FAINTS,
        "heals": bool(move.get("drain") or move.get("heal") or flags.get("heal")) or name in HEALS,
        "raises_self": bool((self_boosts > 0).any() or (chance_self > 0).any()) or name in RAISES_SELF,
        "lowers_target": bool((target_boosts < 0).any() or (chance_target < 0).any()),
        "hazard_set": move.get("sideCondition") in HAZARDS or name in LAYS_HAZARDS,
        "hazard_clear": name in CLEARS_HAZARDS,
        "pivot": bool(move.get("selfSwitch")),
        "protect": bool(move.get("stallingMove")) and name != "endure",
        "phaze": bool(move.get("forceSwitch")),
        "ohko": bool(move.get("ohko")),
        "fixed_damage": bool(move.get("damage")),
        "gimmick": bool(move.get("isZ") or move.get("isMax")),
        "pressed": "mustpressure" in flags or target in PRESSED,
    }
    values |= {flag: flag in flags for flag in ("charge", "recharge", "contact", "sound", "powder")}
    return {f"move_{column}": value for column, value in values.items()}


def _boosts(boosts: Mapping[str, int] | None) -> Array:
    return np.array([(boosts or {}).get(stat, 0) for stat in BOOSTS])


def _hits(multihit: int | list[int] | None, gen: int) -> tuple[int, int, float]:
    """Fewest, most and expected hits. Two to five hits: 3/8 3/8 1/8 1/8, from generation 5 on .35 .35 .15 .15."""
    if multihit is None:
        return 1, 1, 1.0
    if isinstance(multihit, int):
        return multihit, multihit, float(multihit)
    low, high = multihit
    return low, high, (3.0 if gen < 5 else 3.1) if (low, high) == (2, 5) else (low + high) / 2


def _chart(facts: Mapping[str, Any], types: Mapping[str, int]) -> Array:
    chart = np.ones((len(types) + 2, len(types) + 2), np.float32)
    for defender, taken in facts["taken"].items():
        for name, attacker in facts["names"].items():
            # The simulator writes 0 for neutral, 1 weak, 2 resists, 3 immune.
            chart[types[attacker], types[defender]] = (1.0, 2.0, 0.5, 0.0)[taken.get(name, 0)]
    return chart


def write(folder: Path) -> None:
    """Replace the files of this package by those of the simulator in FOLDER/node_modules."""
    raw = simulator_dex(folder)
    with atomic_file(FOLDER / "names.json", "w") as file:
        file.write(json.dumps(written(raw), indent=0, ensure_ascii=False) + "\n")
    packed, each = io.BytesIO(), [tables(raw, gen) for gen in GENERATIONS]
    # side by side, the nine tables take little more than one
    np.savez_compressed(packed, **{name: np.stack([one[name] for one in each]) for name in each[0]})  # type: ignore[arg-type]
    with atomic_file(FOLDER / "dex.npz") as file:
        file.write(packed.getvalue())
    licence = (folder / "node_modules" / "pokemon-showdown" / "LICENSE").read_text(encoding="utf-8")
    with atomic_file(FOLDER / "NOTICE.md", "w") as file:
        file.write(f"`names.json` and `dex.npz` hold numbers of {raw['rules']}, under this licence:\n\n{licence}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    write(Path(sys.argv[1]) if len(sys.argv) == 2 else needed().folder)
