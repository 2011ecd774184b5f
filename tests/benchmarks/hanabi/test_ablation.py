"""`ludory bench hanabi-ablation` on a small Hanabi."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ludory.algorithms.bc import BC
from ludory.benchmarks.hanabi.ablation import run
from ludory.errors import OptionError

pytestmark = pytest.mark.slow


def test_what_is_hidden_has_no_weight(tmp_path) -> None:
    command = [
        "--game",
        "HanabiTiny2P-v0",
        "--bot",
        "hanabi/iggi",
        "--policy",
        "mlp(hidden=(16,))",
        "--decisions",
        "2048",
    ]
    command += ["--without", "nothing", "own_slots hands", "--games", "20", "--out", str(tmp_path)]
    assert run(command) == 0
    report = json.loads((tmp_path / "hanabi-ablation-conventions.json").read_text())
    assert [row["without"] for row in report["rows"]] == ["nothing", "own_slots hands"]
    whole, less = (BC.load(tmp_path / f"without-{name}.ludory") for name in ("nothing", "own_slots-hands"))
    for segment in less.game.facts.observation.segments:
        here = slice(segment.start, segment.start + segment.length)
        seen = np.abs(less.policy.encoder.weight.detach().numpy()[:, here]).max()
        assert (seen == 0) == (segment.name in ("own_slots", "hands"))
        assert np.abs(whole.policy.encoder.weight.detach().numpy()[:, here]).max() > 0


def test_unknown_segments_are_named() -> None:
    with pytest.raises(OptionError, match="'fans' is no segment of conventions; they are hands, "):
        run(["--game", "HanabiTiny2P-v0", "--without", "hands fans"])
