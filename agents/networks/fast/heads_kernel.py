"""The compiled passes of `head_terms`: one over rows forwards, one backwards. Rows hold the heads one after another."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def log_softmax(logits, mask, low, high, out):
    """Write the log-probabilities of one head to out[low:high]; illegal values get -inf. Gives the number of legal ones."""
    largest, legal = -np.inf, 0
    for a in range(low, high):
        if mask[a]:
            legal += 1
            largest = max(largest, logits[a])
    total = logits[low] * 0
    for a in range(low, high):
        if mask[a]:
            total += np.exp(logits[a] - largest)
    shift = largest + np.log(total)
    for a in range(low, high):
        out[a] = logits[a] - shift if mask[a] else -np.inf
    return legal


@njit(cache=True, nogil=True, error_model="numpy")
def terms(logits, mask, actions, teacher, offsets, log_p, log_q, log_prob, entropy, scale, kl):
    """Fill log_p [m, A], log_q [m, A] (of the teacher), log_prob, entropy (normalised), scale (1 / log of the legal count), kl [m, H].

    teacher [m, A], or [0, A] for none: then log_q stays as it is and kl is 0.
    """
    taught = teacher.shape[0] > 0
    for row in range(logits.shape[0]):
        for head in range(len(offsets) - 1):
            low, high = offsets[head], offsets[head + 1]
            legal = log_softmax(logits[row], mask[row], low, high, log_p[row])
            if taught:
                log_softmax(teacher[row], mask[row], low, high, log_q[row])
            log_prob[row, head] = log_p[row, low + actions[row, head]]
            unit = 1.0 / np.log(legal) if legal > 1 else 0.0
            chaos, distance = 0.0, 0.0
            for a in range(low, high):
                if mask[row, a]:
                    p = np.exp(log_p[row, a])
                    if p > 0:
                        chaos -= p * log_p[row, a]
                    if taught:
                        q = np.exp(log_q[row, a])
                        if q > 0:
                            distance += q * (log_q[row, a] - log_p[row, a])
            entropy[row, head], scale[row, head], kl[row, head] = chaos * unit, unit, distance


@njit(cache=True, nogil=True, error_model="numpy")
def gradients(mask, actions, offsets, taught, log_p, log_q, entropy, scale, by_log_prob, by_entropy, by_kl, out):
    """Fill out [m, A] with the gradient of the logits, from those of log_prob, entropy and kl [m, H]; 0 where illegal."""
    for row in range(out.shape[0]):
        for head in range(len(offsets) - 1):
            low, high = offsets[head], offsets[head + 1]
            chosen = low + actions[row, head]
            toward, unit = by_log_prob[row, head], scale[row, head]
            spread, near = by_entropy[row, head] * unit, by_kl[row, head]
            chaos = entropy[row, head] / unit if unit > 0 else 0.0
            for a in range(low, high):
                if not mask[row, a]:
                    out[row, a] = 0
                    continue
                p = np.exp(log_p[row, a])
                slope = -toward * p
                if a == chosen:
                    slope += toward
                if p > 0:
                    slope -= spread * p * (log_p[row, a] + chaos)
                if taught:
                    slope += near * (p - np.exp(log_q[row, a]))
                out[row, a] = slope
