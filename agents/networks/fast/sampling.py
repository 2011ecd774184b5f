"""`sample_heads`: samples actions of all heads from logits, with log-probabilities, in one compiled pass on the CPU."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ludory.agents.networks.layers.distribution import MaskedHeads
from ludory.envs.engine.binding.cached_kernel import cached_kernel
from ludory.errors import TrainingError


def sample_heads(
    logits: Tensor, mask: Tensor, sizes: tuple[int, ...], generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Actions (m, H) int64 and their log-probabilities (m, H) float32, without gradients.

    On the CPU one uniform number per row and head is looked up in the head's cumulative probabilities; elsewhere
    `MaskedHeads.sample` is used.

    Args:
        logits: (m, A), finite where legal.
        mask: (m, A) bool, at least one legal value per head.
        sizes: values per head.
        generator: of the draws.

    Raises:
        TrainingError: logits are NaN or infinite (checked on the CPU only).
    """
    if logits.device.type != "cpu":
        distribution = MaskedHeads(logits, mask, sizes)
        actions = distribution.sample(generator)
        return actions, distribution.log_prob(actions)
    return pick_heads(logits, mask, sizes, torch.rand(len(logits), len(sizes), generator=generator))


def pick_heads(logits: Tensor, mask: Tensor, sizes: tuple[int, ...], noise: Tensor) -> tuple[Tensor, Tensor]:
    """As `sample_heads`, from numbers (m, H) float32 in [0, 1) instead of a generator; all on the CPU.

    Raises:
        TrainingError: logits are NaN or infinite.
    """
    rows, heads = len(logits), len(sizes)
    actions, log_probs = torch.empty(rows, heads, dtype=torch.int64), torch.empty(rows, heads)
    offsets = np.cumsum((0, *sizes))
    logits = logits.detach().float().contiguous()
    legal = mask.contiguous()
    if not draw(logits.numpy(), legal.numpy(), noise.numpy(), offsets, actions.numpy(), log_probs.numpy()):
        raise TrainingError("the network's logits are NaN or infinite, so that no move can be drawn from them")
    return actions, log_probs


@cached_kernel(nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp"})
def draw(logits, mask, noise, offsets, actions, log_probs):  # type: ignore[no-untyped-def]
    """Fill actions and log_probs [m, H] from logits and mask [m, A]; noise [m, H] is uniform in [0, 1).

    Gives False if nothing can be drawn somewhere, for logits that are NaN or infinite.
    """
    able = True
    weights = np.empty(logits.shape[1], np.float32)
    for row in range(logits.shape[0]):
        for head in range(len(offsets) - 1):
            low, high = offsets[head], offsets[head + 1]
            largest = np.float32(-np.inf)
            for a in range(low, high):
                if mask[row, a] and logits[row, a] > largest:
                    largest = logits[row, a]
            total = np.float32(0)
            for a in range(low, high):
                weights[a] = np.exp(logits[row, a] - largest) if mask[row, a] else np.float32(0)
                total += weights[a]
            left = noise[row, head] * total
            chosen = -1
            for a in range(low, high):
                if weights[a] > 0:
                    chosen = a  # the last one with weight catches what rounding leaves over
                    left -= weights[a]
                    if left < 0:
                        break
            able = able and chosen >= 0
            actions[row, head] = chosen - low
            log_probs[row, head] = logits[row, chosen] - largest - np.log(total)
    return able
