"""Restore damaged states of a game and play on: `python damaged_states.py FOLDER GAMES SEED ID ...`; prints figures as JSON.

Run in a process of its own, for a fault ends the interpreter. Half of the files are damaged as bytes, the others in the
values of their arrays, with a new checksum: those get past the archive.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.make import make_game
from ludory.errors import SnapshotError
from ludory.testing.random_moves import random_moves

MOVES, BATCH = 50, 8


def damage(file: Path, generator: np.random.Generator, as_bytes: bool) -> None:
    """Flip one to three bytes of the file, or of its arrays."""
    if as_bytes:
        content = np.frombuffer(file.read_bytes(), np.uint8).copy()
        _flip(content, generator)
        file.write_bytes(content.tobytes())
        return
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name in generator.choice([name for name in arrays if arrays[name].size and name != "header"], size=2):
        _flip(arrays[name].reshape(-1).view(np.uint8), generator)
    np.savez(file, **arrays)


def _flip(content: np.ndarray, generator: np.random.Generator) -> None:
    for place in generator.integers(len(content), size=generator.integers(1, 3)):
        low_bit = generator.random() < 0.5  # small changes stay within bounds more often
        content[place] ^= 1 << generator.integers(3) if low_bit else generator.integers(1, 256)


def play(engine: KernelEngine, generator: np.random.Generator, moves: int) -> None:
    """Random moves; every seat looks, and every hidden card is drawn again in a copy."""
    for _ in range(moves):
        masks = engine.legal()
        heads = np.logical_or.reduceat(masks, np.cumsum([0, *engine.facts.head_sizes[:-1]]), axis=-1)
        if not heads.all():
            return  # a game in which nothing is legal: it is over for those who play it
        actions = random_moves(masks, engine.facts, generator, np.zeros(engine.facts.num_actions))
        engine.used(actions)
        engine.step(actions)
        for seat in range(engine.facts.players):
            engine.observe(seat)
        engine.critic()
        if engine.game.rules.kernels.redeal:
            other = engine.clone()
            other.redeal(int(generator.integers(engine.facts.players)), 1)
            other.observe()
        engine.reset(np.flatnonzero(engine.over))


def campaign(game_id: str, folder: Path, files: int, seed: int) -> dict[str, Any]:
    """How many damaged states of a game were refused, and how many played on."""
    game, generator = make_game(game_id), np.random.default_rng(seed)
    engine, figures = KernelEngine(game, BATCH, seed=seed, threads=1), {"refused": 0, "played": 0}
    engine.reset()
    file = folder / f"{game_id}.npz"
    for k in range(files):
        play(engine, generator, int(generator.integers(12)))
        engine.save(file)
        damage(file, generator, as_bytes=k % 2 == 0)
        other = KernelEngine(game, BATCH, seed=seed, threads=1)
        try:
            other.restore(file)
        except SnapshotError:
            figures["refused"] += 1
        else:
            play(other, generator, MOVES)
            figures["played"] += 1
    return figures


if __name__ == "__main__":
    for name in sys.argv[4:]:
        print(json.dumps({name: campaign(name, Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))}), flush=True)
