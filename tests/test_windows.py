"""Ludory plays, trains, evaluates and serves where nothing of Unix is there (`support/windows/sitecustomize.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

IMITATION = Path(__file__).parent / "support" / "windows"
PLAY = """
import importlib
from ludory import locks

assert not locks.OPEN_FILES_MOVE, "the imitation is not at work"
import gymnasium as gym, numpy as np, ludory

env = gym.make("TicTacToe-v0")
env.reset(seed=1)
assert not any(env.step(action)[2] for action in (0, 3, 1, 4))
assert env.step(2)[2]
engine = ludory.make_engine("gymnasium:CartPole-v1", 2, seed=1, workers=2)
engine.reset()
engine.step(np.zeros(2, np.int64))
engine.close()
for name in ("faults.campaign", "throughput.coordinator", "gpu.campaign", "web_server", "pokemon.soak"):
    importlib.import_module(f"ludory.benchmarks.{name}")
print("played")
"""


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(IMITATION), os.environ.get("PYTHONPATH"))))
    settings = {"PYTHONPATH": path, "PYTHONWARNDEFAULTENCODING": "1", "PYTHONIOENCODING": "cp1252"}
    return os.environ | settings


def ludory(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        env=environment() | variables,
        cwd=folder,
        capture_output=True,
        encoding="cp1252",
        timeout=900,
    )


def test_windows_users_play_train_evaluate_and_watch(tmp_path: Path) -> None:
    # a cache folder of its own, in which the first game is compiled, and then the usual one
    played = ludory(tmp_path, "-c", PLAY, LUDORY_CACHE_DIR=str(tmp_path / "cache"))
    assert played.stdout.strip() == "played", played.stderr
    command = ("-m", "ludory")
    train = (*command, "train", "ppo", "--env", "TicTacToe-v0", "--timesteps", "200", "--out", "model.ludory")
    for words, said in {
        train: "trained: ",
        (*train, "--resume", "--timesteps", "400"): "trained: ",
        (*command, "eval", "model.ludory", "random", "--game", "TicTacToe-v0", "--games", "20"): "random",
        (*command, "watch", "TicTacToe-v0", "random"): "the game is over",
        (*command, "watch", "Hanabi2P-v0", "hanabi/iggi", "--html", "game.html"): "game.html",
        (*command, "list", "games"): "TicTacToe-v0",
        (*command, "doctor"): "nothing is broken",
    }.items():
        done = ludory(tmp_path, *words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        assert said in done.stdout + done.stderr, (words, done.stdout)
    assert [file.name for file in tmp_path.glob(".*")] == [], "no lock and no temporary is left"


@pytest.mark.parametrize("benchmark", ["faults"])
def test_what_needs_unix_says_so_in_one_line(tmp_path: Path, benchmark: str) -> None:
    done = ludory(tmp_path, "-m", "ludory", "bench", benchmark)
    assert done.stderr.strip().endswith(
        f"benchmark '{benchmark}' needs Linux or macOS; on Windows, type the same in WSL"
    )
    assert done.returncode != 0


def test_the_browser_s_server_answers_on_windows(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ludory", "serve", "--port", "0", "--tables", str(tmp_path / "tables")]
    server = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        address = server.stdout.readline().split()[-1]
        with urllib.request.urlopen(address, timeout=60) as page:
            assert "Hanabi" in page.read().decode()
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
