"""Digests of whole games, with which two engines are compared across processes."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ludory.envs.make import make_engine
from ludory.testing.random_moves import random_moves


def digests(id: str, steps: int, **options: Any) -> list[str]:
    """A digest of everything that an engine of two games shows and holds, after each of `steps` random moves."""
    engine = make_engine(id, 2, seed=5, threads=1, **options)
    engine.reset()
    draws, shown = np.random.default_rng(1), []
    for _ in range(steps):
        engine.step(random_moves(engine.legal(), engine.facts, draws))
        seats = [engine.observe(seat) for seat in range(engine.facts.players)]
        used = engine.used(random_moves(engine.legal(), engine.facts, draws))
        parts = [engine.legal(), engine.critic(), used, *seats, *engine.fields().values()]
        shown.append(hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest())
        if len(over := np.flatnonzero(engine.terminated | engine.truncated)):
            engine.reset(over)
    return shown
