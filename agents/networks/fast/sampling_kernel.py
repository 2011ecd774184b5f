"""The compiled pass of `sample_heads`."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp"})
def draw(logits, mask, noise, offsets, actions, log_probs):
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
