"""What `ludory bench throughput` compares: a `Contestant` is one row of its tables.

Engines and environments of one game play Hanabi for two with uniformly random legal moves. Learners learn it end to end: PPO of Ludory,
and MaskablePPO of sb3-contrib on the same engine, with the same network (64-64, ReLU, hidden layers of its own for the value) and
number of games. They are compared at Stable-Baselines3's own batch and epochs, where a step's cost is many small updates, and at large
batches, where it is arithmetic alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from ludory.benchmarks.harness.machine import usable_cores
from ludory.benchmarks.harness.worker_process import MissingContestant, WorkerProcess, peer_command

from .hle_build import hle_driver
from .peer_packages import PACKAGES, pythons

Section = Literal["engine", "gym", "training"]
SECTIONS: tuple[Section, ...] = get_args(Section)
Start = Callable[[], WorkerProcess]
"""Starts a contestant's process; raises `MissingContestant` with the reason where it cannot."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One row of the table."""

    key: str
    name: str
    section: Section
    includes: str
    """What every counted decision includes."""
    start: Start
    own: bool
    """Ludory itself, not a peer."""
    bare: bool = False
    """Also measured without observations."""


class Comparison(NamedTuple):
    """Claims that `one` is `at_least` times as fast as `other`; None: the ratio is only shown."""

    one: str
    other: str
    at_least: float | None = None


def ours(module: str, *arguments: str, cores: int = 1) -> Start:
    """A module of `peers/` under this interpreter, with a thread per core."""
    return lambda: _on_cores(peer_command(sys.executable, module, *arguments), cores)


def theirs(module: str, *arguments: str) -> Start:
    """A module of `peers/` under the first interpreter that has its packages, on one core."""

    def start() -> WorkerProcess:
        reasons = []
        for python in pythons():
            try:
                return _on_cores(peer_command(python, module, *arguments))
            except MissingContestant as error:
                reasons.append(str(error))
        cure = f"pip install {' '.join(PACKAGES)}, or run again with --install-peers"
        raise MissingContestant(f"not installed: {cure} ({reasons[0]})")

    return start


def built(build: Callable[[], str]) -> Start:
    """The program whose path `build` returns, on one core."""
    return lambda: _on_cores([build()])


def _on_cores(command: Sequence[str], cores: int = 1) -> WorkerProcess:
    """Contestants that run on one core all run on the same one."""
    return WorkerProcess(command, cores, usable_cores()[-cores:])


# --- Engines and environments

GAMES = 4096
CUDA_GAMES = (10_000, 100_000)
COMPARISONS = (
    Comparison("engine", "openspiel", 60),
    Comparison("engine", "openspiel-observer"),
    Comparison("engine", "hle", 4),
    Comparison("engine-2", "engine"),
    *(Comparison(f"cuda-{games}", "engine") for games in CUDA_GAMES),
    Comparison("gym", "pettingzoo-v5", 10),
    Comparison("pettingzoo", "pettingzoo-v5"),
    Comparison("ppo", "maskable-ppo", 5),
    Comparison("ppo-large", "maskable-ppo-large"),
)
_MOVE = "random legal move, reset at ends, legal moves and observation of the seat to move"
_OURS = ("pettingzoo_aec", "ludory/hanabi2p-v0", "ludory", "pettingzoo")
_V5 = ("pettingzoo_aec", "classic/hanabi-v5", "pettingzoo", "shimmy", "open_spiel")


def environments(device: str = "cpu") -> list[Contestant]:
    """All of them; with `device="cuda"` the engine on a GPU too."""
    return [
        *_own_engines(device),
        _peer_engine("openspiel", "OpenSpiel, tensor to NumPy", "658 float32", theirs("openspiel", "tensor")),
        _peer_engine("openspiel-observer", "OpenSpiel, observer", "658 float32", theirs("openspiel", "observer")),
        _peer_engine("hle", "HLE, C++ core", "658 int", built(hle_driver)),
        Contestant("gym", "Ludory gym.make", "gym", f"{_MOVE} (658 uint8)", ours("ludory_gym"), own=True),
        Contestant(
            "pettingzoo", "Ludory pettingzoo.make", "gym", f"{_MOVE} (658 uint8), last()", ours(*_OURS), own=True
        ),
        Contestant(
            "pettingzoo-v5", "PettingZoo hanabi_v5", "gym", f"{_MOVE} (658 float64), last()", theirs(*_V5), own=False
        ),
    ]


def _own_engines(device: str) -> list[Contestant]:
    found = [_own_engine("engine", f"Ludory, {GAMES:,} games", "658 uint8", ours("ludory_engine", str(GAMES)))]
    cores = len(usable_cores())
    if cores > 1:
        start = ours("ludory_engine", str(GAMES), cores=2)
        found.append(_own_engine("engine-2", f"Ludory, {GAMES:,} games, 2 cores", "658 uint8", start))
    if device == "cuda":
        for games in CUDA_GAMES:
            start = ours("ludory_cuda", str(games), cores=max(1, cores))
            found.append(_own_engine(f"cuda-{games}", f"Ludory, {games:,} games, GPU", "658 uint8, both seats", start))
    return found


def _own_engine(key: str, name: str, observation: str, start: Start) -> Contestant:
    return Contestant(key, name, "engine", f"{_MOVE} ({observation})", start, own=True, bare=True)


def _peer_engine(key: str, name: str, observation: str, start: Start) -> Contestant:
    return Contestant(key, name, "engine", f"{_MOVE} ({observation})", start, own=False, bare=True)


# --- Learners

DEFAULTS = {"num_envs": 64, "n_steps": 32, "batch_size": 64, "n_epochs": 10, "hidden": [64, 64]}
"""Batch, epochs, network and decisions per iteration (2,048) that Stable-Baselines3 has by default."""
LARGE = {"num_envs": 1024, "n_steps": 64, "batch_size": 8192, "n_epochs": 2, "hidden": [64, 64]}
_LEARNING = "sampling with the policy, observation, legal mask, advantages, gradient steps"


def learners() -> list[Contestant]:
    """Both learners, each with both settings."""
    return [*_pair(DEFAULTS, "", "batch 64, 10 epochs"), *_pair(LARGE, "-large", "batch 8192, 2 epochs")]


def _pair(settings: dict[str, object], suffix: str, words: str) -> list[Contestant]:
    text = json.dumps(settings)

    def contestant(key: str, name: str, module: str, own: bool) -> Contestant:
        return Contestant(key + suffix, f"{name}, {words}", "training", _LEARNING, ours(module, text), own=own)

    return [
        contestant("ppo", "Ludory PPO", "ludory_ppo", own=True),
        contestant("maskable-ppo", "MaskablePPO", "sb3_maskable_ppo", own=False),
    ]
