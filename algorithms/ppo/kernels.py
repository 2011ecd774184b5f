"""The compiled twin of `loss.ppo_loss`: the same loss with its gradient written out, and Adam; rows are worked on 64 at a time.

`loss.py` is the definition. After a change of it: write the gradient of the new loss in `_loss` below, let
tests/algorithms/test_compiled_update.py compare the two, and put the hash that this test prints into `TWIN_OF`.
"""

from __future__ import annotations

import numpy as np

from ludory.agents.networks.fast.mlp_kernels import backward, encode, encoder_base, encoder_gradient, exp, forward
from ludory.agents.networks.layers.bit_kernels import FLAGS, INLINED, LANES
from ludory.envs.engine.binding.cached_kernel import cached_kernel

TWIN_OF = "6a99f133f180300b"
"""Hash of the code of `ppo_loss` that `_loss` stands for, see `compiled.code_hash`."""
_ONE = np.float32(1)
_ILLEGAL = np.float32(-1e30)


@cached_kernel(**FLAGS)
def update(net, data, raw, order, batch, share, coefficients, normalised, max_kl, work, adam, sums, norms):  # type: ignore[no-untyped-def]
    """Minibatches of `batch` rows of `order`, each with a gradient and a step of Adam along it; returns how many were begun.

    net: weights, shape, sizes of heads, usual row and a place for the encoder's base row.
    data: packed observations (m, bytes), packed masks (m, bytes), actions (m, H), joint log-probability at acting (m,),
        advantages (m,), returns (m,), logits of a teacher (m, A), or (m, 0) without one, and the heads that had an effect
        (m, H) bool, or (0, H) for all.
    raw: advantages (m,) that are scaled within each minibatch if `normalised`.
    share: weight of a row, where `order` is a part of a minibatch: its gradient is added to that of `work`, and nothing else is done.
        0: whole minibatches.
    coefficients: clip range, weights of entropy, of value loss and of the KL to the teacher.
    max_kl: a minibatch with a higher approximate KL ends this, without a step.
    adam: moments, squares, steps so far, and its settings.
    sums: (minibatches, 6) float64, sums of policy loss, value loss, entropy, approximate KL, clipped rows and KL to the teacher.
    norms: (minibatches,) norms of gradients before clipping.
    """
    weights, shape, heads, usual, base = net
    moments, squares, steps, lr, beta1, beta2, eps, max_norm = adam
    part, done = share > 0, 0
    for first in range(0, order.shape[0], batch):
        rows = order[first : min(first + batch, order.shape[0])]
        if not part:
            share = np.float32(1 / rows.shape[0])
            encoder_base(weights, shape, usual, base)
            if normalised and rows.shape[0] > 1:
                normalise(raw, rows, data[4])
        add_gradient(weights, shape, heads, usual, base, data, rows, share, coefficients, work, sums[done])
        done += 1
        if part or sums[done - 1, 3] > max_kl * rows.shape[0]:
            break
        step = steps + done
        norms[done - 1] = adam_step(weights, work[6], moments, squares, step, lr, beta1, beta2, eps, max_norm)
    return done


@cached_kernel(**INLINED)
def normalise(advantages, order, out):  # type: ignore[no-untyped-def]
    """Write out[order] = advantages[order] scaled to mean 0 and deviation 1 (of a sample, as in PyTorch)."""
    count, mean, square = order.shape[0], 0.0, 0.0
    for row in order:
        mean += advantages[row]
    mean /= count
    for row in order:
        square += (advantages[row] - mean) ** 2
    scale = 1 / (np.sqrt(square / (count - 1)) + 1e-8)
    for row in order:
        out[row] = (advantages[row] - mean) * scale


@cached_kernel(**INLINED)
def add_gradient(weights, shape, heads, usual, base, data, order, share, coefficients, work, sums):  # type: ignore[no-untyped-def]
    """Add the gradient of the loss over rows `order`, each weighing `share`, to `work.gradient`, and what is reported to `sums`."""
    seen, decisions = data[0], data[1:]
    encoder, x, d_x, out, d_out, d_sums, gradient = work
    for first in range(0, order.shape[0], LANES):
        rows = order[first : min(first + LANES, order.shape[0])]
        encode(weights, shape, usual, base, seen, rows, encoder, True)
        forward(weights, shape, encoder[0], x, out)
        d_out[:] = 0
        _loss(heads, decisions, rows, share, coefficients, out, d_out, sums)
        backward(weights, shape, x, d_out, d_x, d_sums, gradient)
        encoder_gradient(shape, usual, encoder, d_sums, gradient)


@cached_kernel(**INLINED)
def _loss(heads, decisions, rows, share, coefficients, out, d_out, sums):  # type: ignore[no-untyped-def]
    """Gradient of `ppo_loss` with respect to `out`, and the sums that are reported."""
    masks, actions, old, advantages, returns, teacher, used = decisions
    clip, entropy_weight, value_weight, teacher_weight = coefficients
    value_row = out.shape[0] - 1
    for i in range(rows.shape[0]):
        row = rows[i]
        log_ratio, entropy, at = -old[row], np.float32(0), 0
        for head in range(heads.shape[0]):
            size = heads[head]
            if used.shape[0] and not used[row, head]:
                at += size
                continue
            h = _probabilities(masks[row], at, size, out, d_out, i)
            log_ratio += out[at + actions[row, head], i]
            entropy += h
            for a in range(at, at + size):  # the entropy's gradient; d_out holds probabilities until here
                p = d_out[a, i]
                if p > 0:
                    # d(-w H) / d logit = w p (log p + H)
                    d_out[a, i] = p * (entropy_weight * (out[a, i] + h))
            if teacher.shape[1]:
                sums[5] += _follow(teacher[row], at, size, teacher_weight, out, d_out, i)
            at += size
        ratio, gain = exp(log_ratio), advantages[row]
        kept = min(max(ratio, _ONE - clip), _ONE + clip)
        surrogate = min(gain * ratio, gain * kept)
        # d(-min)/d log p, 0 where the clipped term is the smaller one, which does not depend on the ratio
        slope = -gain * ratio if gain * ratio <= gain * kept else np.float32(0)
        at = 0
        for head in range(heads.shape[0]):
            if used.shape[0] and not used[row, head]:
                at += heads[head]
                continue
            for a in range(at, at + heads[head]):
                # d log p(a) / d logit(b) = [a = b] - p(b), which the next two lines apply
                p = exp(out[a, i]) if out[a, i] > _ILLEGAL else np.float32(0)
                d_out[a, i] = share * (d_out[a, i] - slope * p)
            d_out[at + actions[row, head], i] += share * slope
            at += heads[head]
        error = out[value_row, i] - returns[row]
        d_out[value_row, i] = share * value_weight * np.float32(2) * error
        sums[0] -= surrogate
        sums[1] += error * error
        sums[2] += entropy
        # k3 of http://joschu.net/blog/kl-approx.html: never negative
        sums[3] += ratio - _ONE - log_ratio
        sums[4] += abs(ratio - _ONE) > clip


@cached_kernel(**INLINED)
def _follow(logits, at, size, weight, out, d_out, i):  # type: ignore[no-untyped-def]
    """Add the gradient of KL(teacher to policy) of one head to `d_out`; returns the KL. `out` holds log-probabilities."""
    # softmax of the teacher over the legal actions, shifted by the highest logit so that exp cannot overflow
    highest = _ILLEGAL
    for a in range(at, at + size):
        if out[a, i] > _ILLEGAL:
            highest = max(highest, logits[a])
    total = np.float32(0)
    for a in range(at, at + size):
        if out[a, i] > _ILLEGAL:
            total += exp(logits[a] - highest)
    logarithm, kl = highest + np.log(total), np.float32(0)
    for a in range(at, at + size):
        if out[a, i] > _ILLEGAL:
            log_p = logits[a] - logarithm
            p = exp(log_p)
            kl += p * (log_p - out[a, i])
            # gradient of the KL with respect to the policy's logits
            d_out[a, i] += weight * (exp(out[a, i]) - p)
    return kl


@cached_kernel(**INLINED)
def _probabilities(mask, at, size, out, p, i):  # type: ignore[no-untyped-def]
    """Turn logits `out[at : at + size, i]` into log-probabilities, write probabilities to `p`; returns the entropy."""
    highest = _ILLEGAL
    for a in range(at, at + size):
        # packed by `np.packbits`, the first action in the highest bit
        if mask[a >> 3] >> (7 - (a & 7)) & 1:
            highest = max(highest, out[a, i])
        else:
            out[a, i] = _ILLEGAL
    total = np.float32(0)
    for a in range(at, at + size):
        if out[a, i] > _ILLEGAL:
            out[a, i] -= highest
            p[a, i] = exp(out[a, i])
            total += p[a, i]
    scale, logarithm, entropy = _ONE / total, np.log(total), np.float32(0)
    for a in range(at, at + size):
        if out[a, i] > _ILLEGAL:
            out[a, i] -= logarithm
            p[a, i] *= scale
            entropy -= p[a, i] * out[a, i]
    return entropy


@cached_kernel(**INLINED)
def adam_step(weights, gradient, moments, squares, step, lr, beta1, beta2, eps, max_norm):  # type: ignore[no-untyped-def]
    """One step of Adam (arXiv 1412.6980) with the gradient clipped to `max_norm`; zeroes the gradient and returns its norm before clipping."""
    norm = np.float32(0)
    for k in range(gradient.shape[0]):
        norm += gradient[k] * gradient[k]
    norm = np.sqrt(norm)
    # as `torch.nn.utils.clip_grad_norm_`, which adds 1e-6
    clip = min(_ONE, np.float32(max_norm / (norm + 1e-6)))
    decay1, decay2 = np.float32(beta1), np.float32(beta2)
    step_size = np.float32(lr / (1 - beta1**step))
    # the bias corrections depend on the step alone
    correction, least = np.float32(1 / np.sqrt(1 - beta2**step)), np.float32(eps)
    for k in range(gradient.shape[0]):
        g = gradient[k] * clip
        m = moments[k] + (_ONE - decay1) * (g - moments[k])
        v = decay2 * squares[k] + (_ONE - decay2) * g * g
        moments[k], squares[k], gradient[k] = m, v, np.float32(0)
        weights[k] -= step_size * m / (np.sqrt(v) * correction + least)
    return norm
