"""Gymnasium spaces that follow from a game's facts."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from numpy.typing import NDArray

from ludory.envs.game import GameFacts


class HeadsSpace(MultiDiscrete):
    """`MultiDiscrete` with one entry per head; `sample` also takes the flat legal mask (A,) that views give.

    Every head has a legal value, so a sample under a legal mask is legal.
    """

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """A random action (H,), legal under `mask` if one is given: flat (A,), or one array per head."""
        if isinstance(mask, np.ndarray):
            mask = tuple(np.split(mask.astype(np.int8), np.cumsum(self.nvec)[:-1]))
        return super().sample(mask, probability)


def observation_space(facts: GameFacts) -> Box:
    """What a seat sees."""
    spec = facts.observation
    return Box(spec.low, spec.high, spec.shape, np.dtype(spec.dtype).type)


def action_space(facts: GameFacts, extra: int = 0) -> Discrete[Any] | HeadsSpace | Box:
    """One seat's action: `Discrete` for one head, with `extra` ids at the end; `HeadsSpace` for several; `Box` of continuous actions."""
    if facts.box is not None:
        return Box(np.array(facts.box.low, np.float32), np.array(facts.box.high, np.float32))
    if len(facts.heads) == 1:
        return Discrete(facts.num_actions + extra)
    return HeadsSpace(list(facts.head_sizes))


def mask_space(length: int) -> Box:
    """A legal mask as part of an observation."""
    return Box(0, 1, (length,), np.int8)
