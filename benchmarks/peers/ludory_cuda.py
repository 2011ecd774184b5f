"""Ludory's batched engine on one GPU, with what both seats see at every decision."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from time import perf_counter

import torch

import ludory

BURST_SECONDS = 0.02
"""Moves are queued on the GPU for about so long before it is waited for."""


def start(games: str) -> tuple[dict[str, str], Callable[[bool], int]]:
    """A batch of `games` games of Hanabi for two."""
    if not torch.cuda.is_available():
        raise RuntimeError("no CUDA GPU that torch can use")
    count = int(games)
    engine = ludory.make_engine("Hanabi2P-v0", num_games=count, device="cuda", seed=1)
    engine.reset()

    def move(observe: bool) -> None:
        masks = engine.legal()
        if observe:
            for seat in range(engine.facts.players):
                engine.observe(seat=seat)
        engine.step((torch.rand(masks.shape, device=masks.device) * masks).argmax(dim=1))
        engine.reset(rows=engine.terminated)

    def play(observe: bool) -> int:
        moves, begin = 0, perf_counter()
        while perf_counter() - begin < BURST_SECONDS:
            move(observe)
            moves += 1
        torch.cuda.synchronize()
        return moves * count

    for observe in (True, False):
        play(observe)
    return {name: version(name) for name in ("ludory", "torch")} | {"GPU": torch.cuda.get_device_name()}, play
