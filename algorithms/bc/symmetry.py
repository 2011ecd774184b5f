"""Recorded decisions under other names."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ludory.data.trajectories import Decisions
from ludory.envs.game import GameFacts, Symmetry


def rename(decisions: Decisions, symmetry: Symmetry, facts: GameFacts) -> Decisions:
    """The same decisions as if the game's things had the names that `symmetry` gives them."""
    sources = np.argsort(symmetry.actions)  # column a of the new mask was column sources[a]
    starts = torch.tensor(np.cumsum((0, *facts.head_sizes[:-1])))
    columns = torch.from_numpy(symmetry.actions)[decisions.actions + starts] - starts
    observations = decisions.observations
    if facts.observation.bits:
        observations = _gather_bits(observations, symmetry.observation)
    else:
        observations = observations[..., torch.from_numpy(symmetry.observation)]
    masks = _gather_bits(decisions.masks, sources)
    return decisions._replace(observations=observations, masks=masks, actions=columns)


def _gather_bits(packed: Tensor, sources: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Tensor:
    bits = np.unpackbits(packed.numpy(), axis=-1, count=len(sources))
    return torch.from_numpy(np.packbits(np.take(bits, sources, axis=-1), axis=-1))
