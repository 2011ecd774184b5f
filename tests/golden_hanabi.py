"""Reads the recorded Hanabi games in tests/golden/hanabi (format in the README there)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "golden" / "hanabi"
FILES = sorted(path.stem for path in FOLDER.glob("*.npz"))


def load(name: str) -> dict[str, Any]:
    """Arrays of one file, with `meta` parsed and `options` for `make_game`."""
    with np.load(FOLDER / f"{name}.npz") as archive:
        data = {key: archive[key] for key in archive.files}
    meta = json.loads(str(data["meta"]))
    params = dict(meta["params"])
    options = {key: params[key] for key in ("players", "colors", "ranks", "hand_size", "max_information_tokens", "max_life_tokens")}
    if "observation_type" in params:
        options["observation"] = {0: "minimal", 1: "card_knowledge", 2: "seer"}.get(params["observation_type"], params["observation_type"])
    options["terminal_deal"] = meta.get("terminal") == "rl_env"
    return data | {"meta": meta, "options": options}
