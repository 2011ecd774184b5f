"""Decisions under a symmetry of the game, such as a permutation of Hanabi's colours: what is seen, what is legal, what was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ludory.agents.networks.layers.packed_linear import unpack
from ludory.envs.parts import Symmetry

from .rollout import pack_bits


def renamed_columns(columns: Mapping[str, Tensor], symmetry: Symmetry, head_sizes: Sequence[int]) -> dict[str, Tensor]:
    """Decisions under a symmetry.

    `log_probs`, `advantages` and all other columns keep their values: in the renamed game, the renamed policy that acted would have
    chosen the renamed action with the same probability, and would have been paid the same.

    Args:
        columns: `observations` [..., bytes] uint8 or [..., size] float32, `masks` [..., ceil(A / 8)] uint8, `actions` [..., H], and
            `teacher_logits` [..., A] where there is a teacher.
        symmetry: permutations of observation and actions.
        head_sizes: (H,), values of each head.
    """
    device = columns["actions"].device
    to_new = torch.from_numpy(symmetry.actions).to(device)
    sources = torch.from_numpy(np.argsort(symmetry.actions)).to(device)  # column a was column sources[a]
    starts = torch.tensor(np.cumsum((0, *head_sizes[:-1])), device=device)
    seen, entries = columns["observations"], torch.from_numpy(symmetry.observation).to(device)
    changed = {
        "observations": gather_bits(seen, entries) if seen.dtype == torch.uint8 else seen[..., entries],
        "masks": gather_bits(columns["masks"], sources),
        "actions": to_new[columns["actions"] + starts] - starts,
    }
    if "teacher_logits" in columns:
        changed["teacher_logits"] = columns["teacher_logits"][..., sources]
    return {**columns, **changed}


def gather_bits(packed: Tensor, sources: Tensor) -> Tensor:
    """Bits `sources` (n,) of packed rows [..., bytes], packed again: [..., ceil(n / 8)]."""
    if packed.device.type == "cpu":
        bits = np.unpackbits(packed.numpy(), axis=-1, count=len(sources))
        return torch.from_numpy(np.packbits(np.take(bits, sources.numpy(), axis=-1), axis=-1))
    rows = unpack(packed, len(sources))[..., sources]
    return pack_bits(rows.flatten(0, -2)).view(*packed.shape[:-1], -1)
