"""`sample_heads`: draws actions of all heads from logits, with their log-probabilities, in one compiled pass on the CPU."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .distribution import MaskedHeads
from .sampling_kernel import draw


def sample_heads(
    logits: Tensor, mask: Tensor, sizes: tuple[int, ...], generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Actions (m, H) int64 and their log-probabilities (m, H) float32, without gradients.

    On the CPU one uniform number is drawn for each row and head and looked up in the head's cumulative probabilities;
    elsewhere it is `MaskedHeads.sample`.

    Args:
        logits: (m, A), finite where legal.
        mask: (m, A) bool, at least one legal value per head.
        sizes: values per head.
        generator: of the draws.
    """
    if logits.device.type != "cpu":
        distribution = MaskedHeads(logits, mask, sizes)
        actions = distribution.sample(generator)
        return actions, distribution.log_prob(actions)
    rows, heads = len(logits), len(sizes)
    noise = torch.rand(rows, heads, generator=generator)
    actions, log_probs = torch.empty(rows, heads, dtype=torch.int64), torch.empty(rows, heads)
    offsets = np.cumsum((0, *sizes))
    draw(
        logits.detach().float().contiguous().numpy(),
        mask.contiguous().numpy(),
        noise.numpy(),
        offsets,
        actions.numpy(),
        log_probs.numpy(),
    )
    return actions, log_probs
