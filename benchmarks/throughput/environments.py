"""Contestants that play Hanabi for two with uniformly random legal moves: engines, and environments of one game."""

from __future__ import annotations

from ludory.benchmarks.harness.machine import usable_cores

from .contestant import Comparison, Contestant, Start, built, ours, theirs
from .hle_build import hle_driver

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
