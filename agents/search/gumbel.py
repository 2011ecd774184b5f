"""Trees of a policy network from many positions, without leaving compiled code. Bound to a game by `bind`.

n searches of K nodes each: node k of search g is record g * K + k of the state, and node g * K its root. A actions. Values are returns
from a position on, of the seat to move there; `seats` say whose they are, so that seats may follow each other in any order.
Danihelka et al. (2022), "Policy improvement by planning with Gumbel" (ICLR); of its appendices what is said below.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

import numpy as np

from ludory.envs.engine.binding.kernel_placeholders import legal, step

# `bind` puts `quick_batch_kernel` into this line
from ludory.envs.kernels import batch_kernel, kernel

VISITS = 50
"""c_visit of the paper's equation 8: values count for as much as if every action had this many more visits."""


@kernel
def improve(logits, visits, totals, value, scale, scores):
    """Write to scores [A] the logits of the improved policy of a node, with completed values; -inf stays. Returns their maximum.

    value: the network's, of this node. scale: of values in units of logits. Equation 10 and appendix D: actions without visits get the
    mean of the network's value and of the values found, weighted by the visits.
    """
    top, visited, most = -np.inf, 0, 0
    for a in range(scores.shape[0]):
        top = max(top, logits[a])
        visited += visits[a]
        most = max(most, visits[a])
    weight, found = 0.0, 0.0
    for a in range(scores.shape[0]):
        if visits[a] > 0:
            # without the largest logit, the powers of the others could be too large or all 0
            prior = np.exp(logits[a] - top)
            weight += prior
            found += prior * totals[a] / visits[a]
    mixed = value if weight == 0 else (value + visited * found / weight) / (1 + visited)
    best = -np.inf
    for a in range(scores.shape[0]):
        known = totals[a] / visits[a] if visits[a] > 0 else mixed
        scores[a] = logits[a] + (VISITS + most) * scale * known
        best = max(best, scores[a])
    return best


@kernel
def inner_action(visits, scores, best):
    """The action whose visits are furthest below its share of the improved policy (equation 14), so that no noise is needed."""
    total, visited = 0.0, 0
    for a in range(scores.shape[0]):
        total += np.exp(scores[a] - best)
        visited += visits[a]
    action, furthest = -1, -np.inf
    for a in range(scores.shape[0]):
        if scores[a] > -np.inf:
            below = np.exp(scores[a] - best) / total - visits[a] / (1.0 + visited)
            if below > furthest:
                action, furthest = a, below
    return action


@kernel
def root_action(visits, scores, noise, wanted):
    """Among actions with `wanted` visits that of the largest score plus noise; -1 if there are none."""
    action, largest = -1, -np.inf
    for a in range(scores.shape[0]):
        if visits[a] == wanted and scores[a] + noise[a] > largest:
            action, largest = a, scores[a] + noise[a]
    return action


@batch_kernel
def descend_rows(
    state,
    nodes_bytes,
    schedule,
    number,
    noise,
    scale,
    children,
    seats,
    gains,
    raw,
    logits,
    visits,
    totals,
    used,
    scores,
    path,
    played,
    lengths,
    leaves,
    masks,
    start,
    stop,
):
    """Simulation `number` of every search: walk to a position that is new to the tree or over, and write it to leaves [n].

    nodes_bytes: the state's bytes [n * K, size]. schedule [A + 1, S]: visits of the action that sequential halving tries next, for each
    number of considered actions; it restarts the walk at the root. noise [n, A]: Gumbel numbers of the roots.
    Of the nodes [n * K]: children, logits, visits, totals [., A]; seats, raw (the network's value), gains (the reward of seat 0 on the
    way into a node). Of the searches [n]: used nodes, lengths of the walks, path and played [n, K]; scores [n, A] are working memory;
    masks [n, A] become the legal actions of new leaves.
    """
    nodes = path.shape[1]
    for g in range(start, stop):
        node, length, walking = g * nodes, 0, True
        while walking:
            best = improve(logits[node], visits[node], totals[node], raw[node], scale, scores[g])
            if length == 0:
                options = 0
                for a in range(scores.shape[1]):
                    if scores[g, a] > -np.inf:
                        options += 1
                action = root_action(visits[node], scores[g], noise[g], schedule[options, number])
            else:
                action = inner_action(visits[node], scores[g], best)
            path[g, length], played[g, length] = node, action
            length += 1
            child = children[node, action]
            if child < 0:
                child = g * nodes + used[g]
                used[g] += 1
                children[node, action] = child
                for byte in range(nodes_bytes.shape[1]):
                    nodes_bytes[child, byte] = nodes_bytes[node, byte]
                # a step expects rewards of 0, as an engine hands them
                for p in range(2):
                    state.rewards[child, p] = 0
                step(state, child, action)
                gains[child] = state.rewards[child, 0]
                seats[child] = state.to_move[child]
                for a in range(masks.shape[1]):
                    children[child, a] = -1
                    visits[child, a], totals[child, a] = 0, 0.0
                    masks[g, a] = False
                walking = False
                if not (state.terminated[child] or state.truncated[child]):
                    legal(state, child, int(state.to_move[child]), masks[g])
            node = child
            # a position that is over is met again and again, and its result counts every time
            if state.terminated[node] or state.truncated[node]:
                walking = False
        lengths[g], leaves[g] = length, node


@batch_kernel
def absorb_rows(
    state,
    leaves,
    masks,
    found,
    values,
    least,
    most,
    seats,
    gains,
    raw,
    logits,
    visits,
    totals,
    path,
    played,
    lengths,
    start,
    stop,
):
    """Write the network's logits found [n, A] and values [n] to the leaves, and what the walks earned to the nodes on their way.

    least, most: of a return. The value of a position that is over is 0.
    """
    for g in range(start, stop):
        leaf, value = leaves[g], 0.0
        if not (state.terminated[leaf] or state.truncated[leaf]):
            value = min(max(np.float64(values[g]), least), most)
            raw[leaf] = value
            for a in range(masks.shape[1]):
                logits[leaf, a] = found[g, a] if masks[g, a] else -np.inf
            if seats[leaf] == 1:
                value = -value
        # from here on the value is that of seat 0
        node = leaf
        for k in range(lengths[g] - 1, -1, -1):
            value += gains[node]
            node = path[g, k]
            visits[node, played[g, k]] += 1
            totals[node, played[g, k]] += value if seats[node] == 0 else -value


@batch_kernel
def finish_rows(state, nodes, noise, scale, raw, logits, visits, totals, actions, policies, values, start, stop):
    """Of every search the action [n], the improved policy [n, A] (equation 11) and the mean value [n] of the root."""
    for g in range(start, stop):
        root, scores = g * nodes, policies[g]
        best = improve(logits[root], visits[root], totals[root], raw[root], scale, scores)
        # the network's own value counts as one visit
        most, visited, value = 0, 1, raw[root]
        for a in range(scores.shape[0]):
            most = max(most, visits[root, a])
            visited += visits[root, a]
            value += totals[root, a]
        values[g] = value / visited
        actions[g] = root_action(visits[root], scores, noise[g], most)
        total = 0.0
        for a in range(scores.shape[0]):
            scores[a] = np.exp(scores[a] - best)
            total += scores[a]
        for a in range(scores.shape[0]):
            scores[a] /= total
