"""The compiled twin of `loss.ppo_loss`: the same loss with its gradient written out, for networks of any kind, and the update of which it is a part.

Rows are worked on 64 at a time.

`loss.py` is the definition. After a change of it: write the gradient of the new loss in `_loss` below, let
tests/algorithms/test_compiled_update.py compare the two, and put the hash that this test prints into `TWIN_OF`.
"""

from __future__ import annotations

import numpy as np

from ludory.agents.networks.fast.mlp_kernels import (
    backward,
    encode,
    encoder_base,
    encoder_gradient,
    exp,
    forward,
    share_gradient,
    turn,
)
from ludory.agents.networks.layers.bit_kernels import LANES
from ludory.agents.networks.layers.vectors import called, entry
from ludory.envs.engine.binding.cached_kernel import plain

TWIN_OF = "6a99f133f180300b"
"""Hash of the code of `ppo_loss` that `_loss` stands for, see `compiled.code_hash`."""
_ONE = np.float32(1)
_ILLEGAL = np.float32(-1e30)


@entry
def update(net, data, raw, order, batch, share, coefficients, normalised, max_kl, work, adam, sums, norms):  # type: ignore[no-untyped-def]
    """Minibatches of `batch` rows of `order`, each with a gradient and a step of Adam along it; returns how many were begun.

    net: weights, shape, sizes of heads, code of the rows, and places for the encoder's base row and for turned weights.
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
    weights, shape, _, code, base, turned = net
    moments, squares, steps, lr, beta1, beta2, eps, max_norm = adam
    part, done = share > 0, 0
    for first in range(0, order.shape[0], batch):
        rows = order[first : min(first + batch, order.shape[0])]
        if not part:
            share = np.float32(1 / rows.shape[0])
            prepare(weights, shape, code, base, turned)
            if normalised and rows.shape[0] > 1:
                normalise(raw, rows, data[4])
        add_gradient(net, data, rows, share, coefficients, work, sums[done])
        done += 1
        if part or sums[done - 1, 3] > max_kl * rows.shape[0]:
            break
        step = steps + done
        norms[done - 1] = adam_step(weights, work[7], moments, squares, step, lr, beta1, beta2, eps, max_norm)
    return done


@called
def prepare(weights, shape, code, base, turned):  # type: ignore[no-untyped-def]
    """What follows from new weights, before rows are worked on."""
    encoder_base(weights, shape, code, base)
    turn(weights, shape, turned)


@called
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


@called
def add_gradient(net, data, order, share, coefficients, work, sums):  # type: ignore[no-untyped-def]
    """Add the gradient of the loss over rows `order`, each weighing `share`, to `work.gradient`, and what is reported to `sums`."""
    weights, shape, heads, code, base, turned = net
    seen, decisions = data[0], data[1:]
    encoder, x, d_x, out, d_out, scratch, d_sums, gradient = work
    for first in range(0, order.shape[0], LANES):
        rows = order[first : min(first + LANES, order.shape[0])]
        encode(weights, shape, code, base, seen, rows, encoder)
        forward(weights, shape, encoder[0], x, out)
        _loss(heads, decisions, rows, share, coefficients, out, d_out, sums)
        backward(turned, shape, x, d_out, d_x, scratch, d_sums, gradient)
        encoder_gradient(shape, code, rows.shape[0], encoder, d_sums, gradient)
    share_gradient(shape, code, gradient)


@entry
def loss_gradient(heads, decisions, order, share, coefficients, logits, values, d_logits, d_values, sums):  # type: ignore[no-untyped-def]
    """Write the gradient of `ppo_loss` over rows `order`, each weighing `share`, and add what is reported to `sums`.

    logits: (m, A), and values (m,), of a network of any kind; `d_logits` and `d_values` are those of rows outside `order` already.
    """
    actions = logits.shape[1]
    out, d_out = np.zeros((actions + 1, LANES), np.float32), np.empty((actions + 1, LANES), np.float32)
    for first in range(0, order.shape[0], LANES):
        rows = order[first : min(first + LANES, order.shape[0])]
        for i in range(rows.shape[0]):
            for a in range(actions):
                out[a, i] = logits[rows[i], a]
            out[actions, i] = values[rows[i]]
        _loss(heads, decisions, rows, share, coefficients, out, d_out, sums)
        for i in range(rows.shape[0]):
            for a in range(actions):
                d_logits[rows[i], a] = d_out[a, i]
            d_values[rows[i]] = d_out[actions, i]


@called
def _loss(heads, decisions, rows, share, coefficients, out, d_out, sums):  # type: ignore[no-untyped-def]
    """Gradient of `ppo_loss` with respect to `out` (A + 1, 64), which becomes log-probabilities, and the sums that are reported.

    Inner loops run over all 64 lanes, also those without a row, which get the gradient 0 at the end.
    """
    masks, actions, old, advantages, returns, teacher, used = decisions
    clip, entropy_weight, value_weight, teacher_weight = coefficients
    count, value_row = rows.shape[0], out.shape[0] - 1
    # zeros, since a number that is none would spread from a lane without a row
    legal, lessons, p = (
        np.empty((value_row, LANES), np.float32),
        np.zeros((value_row, LANES), np.float32),
        np.zeros((value_row, LANES), np.float32),
    )
    lanes = np.zeros((8, LANES), np.float32)
    log_ratio, entropy, kl, slope = lanes[0], lanes[1], lanes[2], lanes[3]
    share_of, highest, total, effect = lanes[4], lanes[5], lanes[6], lanes[7]
    _legal(masks, rows, legal)
    for i in range(count):
        log_ratio[i], share_of[i] = -old[rows[i]], share
        for a in range(value_row if teacher.shape[1] else 0):
            lessons[a, i] = teacher[rows[i], a]
    at = 0
    for head in range(heads.shape[0]):
        end = at + heads[head]
        for i in range(count):
            effect[i] = not used.shape[0] or used[rows[i], head]
        _log_softmax(out[at:end], legal[at:end], p[at:end], highest, total)
        # the entropy of this head, in `total`
        total[:] = 0
        for a in range(at, end):
            for i in range(LANES):
                total[i] -= p[a, i] * out[a, i]
        for i in range(LANES):
            entropy[i] += effect[i] * total[i]
        for a in range(at, end):
            for i in range(LANES):
                # d(-w H) / d logit = w p (log p + H)
                d_out[a, i] = effect[i] * (entropy_weight * p[a, i] * (out[a, i] + total[i]))
                p[a, i] *= effect[i]
        for i in range(count):
            log_ratio[i] += effect[i] * out[at + actions[rows[i], head], i]
        if teacher.shape[1]:
            _follow(lessons[at:end], legal[at:end], teacher_weight, out[at:end], p[at:end], d_out[at:end], effect, kl)
        at = end
    for i in range(count):
        row = rows[i]
        ratio, gain = exp(log_ratio[i]), advantages[row]
        kept = min(max(ratio, _ONE - clip), _ONE + clip)
        # d(-min)/d log p, 0 where the clipped term is the smaller one, which does not depend on the ratio
        slope[i] = -gain * ratio if gain * ratio <= gain * kept else np.float32(0)
        error = out[value_row, i] - returns[row]
        d_out[value_row, i] = share * value_weight * np.float32(2) * error
        sums[0] -= min(gain * ratio, gain * kept)
        sums[1] += error * error
        sums[2] += entropy[i]
        # k3 of http://joschu.net/blog/kl-approx.html: never negative
        sums[3] += ratio - _ONE - log_ratio[i]
        sums[4] += abs(ratio - _ONE) > clip
        sums[5] += kl[i]
    # d log p(a) / d logit(b) = [a = b] - p(b), which the next two loops apply
    for a in range(value_row):
        for i in range(LANES):
            d_out[a, i] = share_of[i] * (d_out[a, i] - slope[i] * p[a, i])
    for i in range(count):
        at = 0
        for head in range(heads.shape[0]):
            if not used.shape[0] or used[rows[i], head]:
                d_out[at + actions[rows[i], head], i] += share * slope[i]
            at += heads[head]
    for i in range(count, LANES):
        d_out[value_row, i] = 0


@called
def _legal(masks, rows, legal):  # type: ignore[no-untyped-def]
    """Write 1 or 0 for every action and lane; lanes without a row may do everything."""
    legal[:] = 1
    for i in range(rows.shape[0]):
        mask = masks[rows[i]]
        for a in range(legal.shape[0]):
            # packed by `np.packbits`, the first action in the highest bit
            legal[a, i] = mask[a >> 3] >> (7 - (a & 7)) & 1


@called
def _log_softmax(out, legal, p, highest, total):  # type: ignore[no-untyped-def]
    """Turn logits (size, 64) of one head into log-probabilities, which stay finite where illegal, and write probabilities to `p`."""
    highest[:], total[:] = _ILLEGAL, 0
    for a in range(out.shape[0]):
        for i in range(LANES):
            highest[i] = max(highest[i], out[a, i] if legal[a, i] > 0 else _ILLEGAL)
    for a in range(out.shape[0]):
        for i in range(LANES):
            # `exp` takes what is too large for the largest number it knows, which times 0 is 0
            out[a, i] -= highest[i]
            p[a, i] = legal[a, i] * exp(out[a, i])
            total[i] += p[a, i]
    for i in range(LANES):
        highest[i], total[i] = np.log(total[i]), _ONE / total[i]
    for a in range(out.shape[0]):
        for i in range(LANES):
            out[a, i] -= highest[i]
            p[a, i] *= total[i]


@called
def _follow(lessons, legal, weight, out, p, d_out, effect, kl):  # type: ignore[no-untyped-def]
    """Add the gradient of KL(teacher to policy) of one head to `d_out`, and the KL to `kl`. `out` holds log-probabilities."""
    lanes = np.empty((2, LANES), np.float32)
    q = np.empty(lessons.shape, np.float32)
    _log_softmax(lessons, legal, q, lanes[0], lanes[1])
    for a in range(out.shape[0]):
        for i in range(LANES):
            kl[i] += effect[i] * q[a, i] * (lessons[a, i] - out[a, i])
            # gradient of the KL with respect to the policy's logits; `p` is 0 without an effect
            d_out[a, i] += weight * (p[a, i] - effect[i] * q[a, i])


@called
def adam_step(weights, gradient, moments, squares, step, lr, beta1, beta2, eps, max_norm):  # type: ignore[no-untyped-def]
    """One step of Adam (arXiv 1412.6980) with the gradient clipped to `max_norm`; zeroes the gradient and returns its norm before clipping.

    What `weights` and `gradient` have more than `moments` is left alone.
    """
    norm = np.float32(0)
    for k in range(moments.shape[0]):
        norm += gradient[k] * gradient[k]
    norm = np.sqrt(norm)
    # as `torch.nn.utils.clip_grad_norm_`, which adds 1e-6
    clip = min(_ONE, np.float32(max_norm / (norm + 1e-6)))
    decay1, decay2 = np.float32(beta1), np.float32(beta2)
    step_size = np.float32(lr / (1 - beta1**step))
    # the bias corrections depend on the step alone
    correction, least = np.float32(1 / np.sqrt(1 - beta2**step)), np.float32(eps)
    for k in range(moments.shape[0]):
        g = gradient[k] * clip
        m = moments[k] + (_ONE - decay1) * (g - moments[k])
        v = decay2 * squares[k] + (_ONE - decay2) * g * g
        moments[k], squares[k], gradient[k] = m, v, np.float32(0)
        weights[k] -= step_size * m / (np.sqrt(v) * correction + least)
    return norm


prepare_update, normalise_rows, take_step = entry(plain(prepare)), entry(plain(normalise)), entry(plain(adam_step))
