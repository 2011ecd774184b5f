"""Commands in processes of their own, which know the hub by variables of the environment, as users set them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ludory.agents.pretrained.cards import weights_file

from .server import TOKEN, HubServer

pytestmark = pytest.mark.slow
EVALUATION = ("--game", "HanabiTiny2P-v0", "--games", "50", "--seed", "5", "--json")


def test_an_agent_scores_the_same_to_the_bit_on_another_machine(hub: HubServer, tmp_path: Path) -> None:
    def ludory(machine: str, *words: str, **variables: str) -> str:
        here = tmp_path / machine
        here.mkdir(exist_ok=True)
        known = {"HF_ENDPOINT": hub.url, "HF_HOME": str(here / "home"), "HF_TOKEN": ""}
        done = subprocess.run(
            [sys.executable, "-m", "ludory.cli", *words],
            capture_output=True,
            text=True,
            cwd=here,
            env={**os.environ, **known, **variables},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    agent = weights_file("hanabi_tiny/ppo")
    ludory("first", "hub", "push", str(agent), "alice/tiny", "--license", "mit", HF_TOKEN=TOKEN)
    first = json.loads(ludory("first", "eval", str(agent), *EVALUATION))
    second = json.loads(ludory("second", "eval", "hf://alice/tiny", *EVALUATION))
    assert second["estimates"] == first["estimates"]
    offline = json.loads(ludory("second", "eval", "hf://alice/tiny", *EVALUATION, HF_HUB_OFFLINE="1"))
    assert offline == second
