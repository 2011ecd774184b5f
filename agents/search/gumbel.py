"""Trees of a policy network from many positions, without leaving compiled code. Bound to a game by `bind`.

n searches of K nodes each: node k of search g is record g * K + k of the state, and node g * K its root. A actions. Values are returns
from a position on, of the seat to move there; `seats` say whose they are, so that seats may follow each other in any order.
Danihelka et al. (2022), "Policy improvement by planning with Gumbel" (ICLR); of its appendices what is said below.

A position is proven when its result is certain: it is over, or a move leads to a proven position and no move can do better (Winands et
al. 2008, "Monte-Carlo tree search solver"). Its value then is that result in place of a mean, and no simulation walks past it.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

import numpy as np

from ludory.envs.engine.binding.kernel_placeholders import legal, step

# `bind` puts `quick_batch_kernel` into this line
from ludory.envs.kernels import batch_kernel, kernel

VISITS = 50
"""c_visit of the paper's equation 8: values count for as much as if every action had this many more visits."""


@kernel
def is_proven(node, action, children, proven):
    """Whether the result of an action is certain."""
    child = children[node, action]
    return child >= 0 and proven[child]


@kernel
def proven_value(node, action, children, seats, gains, raw):
    """The certain result of an action, for the seat that moves at the node."""
    child = children[node, action]
    gain = gains[child] if seats[node] == 0 else -gains[child]
    return gain + (raw[child] if seats[child] == seats[node] else -raw[child])


@kernel
def improve(node, children, seats, gains, raw, proven, logits, visits, totals, scale, scores):
    """Write to scores [A] the logits of the improved policy of a node, with completed values; -inf stays. Returns their maximum.

    scale: of values in units of logits. Equation 10 and appendix D: actions without visits get the mean of the network's value (raw) and
    of the values found, weighted by the visits.
    """
    top, visited, most = -np.inf, 0, 0
    for a in range(scores.shape[0]):
        top = max(top, logits[node, a])
        visited += visits[node, a]
        most = max(most, visits[node, a])
    weight, found = 0.0, 0.0
    for a in range(scores.shape[0]):
        if visits[node, a] > 0:
            if is_proven(node, a, children, proven):
                scores[a] = proven_value(node, a, children, seats, gains, raw)
            else:
                scores[a] = totals[node, a] / visits[node, a]
            # without the largest logit, the powers of the others could be too large or all 0
            prior = np.exp(logits[node, a] - top)
            weight += prior
            found += prior * scores[a]
    mixed = raw[node] if weight == 0 else (raw[node] + visited * found / weight) / (1 + visited)
    best = -np.inf
    for a in range(scores.shape[0]):
        known = scores[a] if visits[node, a] > 0 else mixed
        scores[a] = logits[node, a] + (VISITS + most) * scale * known
        best = max(best, scores[a])
    return best


@kernel
def prove(node, most, children, seats, gains, raw, proven, logits):
    """The largest certain result of a node's actions, for the seat that moves; -inf if none is certain.

    Marks the node as proven if that is `most`, the largest return, or the results of all actions are certain.
    """
    best, open_actions = -np.inf, 0
    for a in range(logits.shape[1]):
        if logits[node, a] > -np.inf:
            if is_proven(node, a, children, proven):
                best = max(best, proven_value(node, a, children, seats, gains, raw))
            else:
                open_actions += 1
    if open_actions == 0 or best >= most:
        proven[node], raw[node] = True, best
    return best


@kernel
def inner_action(node, children, proven, visits, scores, best):
    """The action whose visits are furthest below its share of the improved policy (equation 14), so that no noise is needed.

    Not one whose result is certain, of which nothing more can be learnt.
    """
    total, visited = 0.0, 0
    for a in range(scores.shape[0]):
        total += np.exp(scores[a] - best)
        visited += visits[node, a]
    action, furthest = -1, -np.inf
    for a in range(scores.shape[0]):
        if scores[a] > -np.inf and not is_proven(node, a, children, proven):
            below = np.exp(scores[a] - best) / total - visits[node, a] / (1.0 + visited)
            if below > furthest:
                action, furthest = a, below
    return action


@kernel
def root_action(node, children, proven, visits, scores, noise, wanted):
    """Of the actions whose result is not certain that with the largest score plus noise, if it can be one with `wanted` visits."""
    action, largest, suits = -1, -np.inf, False
    for a in range(scores.shape[0]):
        if scores[a] > -np.inf and (proven[node] or not is_proven(node, a, children, proven)):
            wished = visits[node, a] == wanted
            if (wished and not suits) or (wished == suits and scores[a] + noise[a] > largest):
                action, largest, suits = a, scores[a] + noise[a], wished
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
    proven,
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
    Of the nodes [n * K]: children, logits, visits, totals [., A]; seats, raw (the network's value, or what is proven), proven, gains
    (the reward of seat 0 on the way into a node). Of the searches [n]: used nodes, lengths of the walks, path and played [n, K]; scores
    [n, A] are working memory; masks [n, A] become the legal actions of new leaves.
    """
    nodes = path.shape[1]
    for g in range(start, stop):
        node, length, walking = g * nodes, 0, True
        while walking:
            best = improve(node, children, seats, gains, raw, proven, logits, visits, totals, scale, scores[g])
            if length == 0:
                options = 0
                for a in range(scores.shape[1]):
                    if scores[g, a] > -np.inf:
                        options += 1
                action = root_action(node, children, proven, visits, scores[g], noise[g], schedule[options, number])
            else:
                action = inner_action(node, children, proven, visits, scores[g], best)
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
                seats[child], proven[child] = state.to_move[child], False
                for a in range(masks.shape[1]):
                    children[child, a] = -1
                    visits[child, a], totals[child, a] = 0, 0.0
                    masks[g, a] = False
                walking = False
                if not (state.terminated[child] or state.truncated[child]):
                    legal(state, child, int(state.to_move[child]), masks[g])
            node = child
            # behind a certain result nothing is to be found
            if proven[node]:
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
    children,
    seats,
    gains,
    raw,
    proven,
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

    least, most: of a return, also from a position on. The value of a position that is over is 0.
    """
    for g in range(start, stop):
        node = leaves[g]
        if state.terminated[node] or state.truncated[node]:
            proven[node], raw[node] = True, 0.0
        elif not proven[node]:
            raw[node] = min(max(np.float64(values[g]), least), most)
            for a in range(masks.shape[1]):
                logits[node, a] = found[g, a] if masks[g, a] else -np.inf
        # from here on the value is that of seat 0
        value = -raw[node] if seats[node] == 1 else raw[node]
        for k in range(lengths[g] - 1, -1, -1):
            value += gains[node]
            node = path[g, k]
            sign = 1 if seats[node] == 0 else -1
            visits[node, played[g, k]] += 1
            totals[node, played[g, k]] += sign * value
            # the seat that moves need not take less than what is certain
            value = sign * max(sign * value, prove(node, most, children, seats, gains, raw, proven, logits))
            if proven[node]:
                value = sign * raw[node]


@batch_kernel
def finish_rows(
    state,
    nodes,
    noise,
    scale,
    children,
    seats,
    gains,
    raw,
    proven,
    logits,
    visits,
    totals,
    actions,
    policies,
    values,
    start,
    stop,
):
    """Of every search the action [n], the improved policy [n, A] (equation 11) and the value [n] of the root.

    The action is one of those with the most simulations, or one whose result is certain. The value is the mean of the improved policy,
    or what is proven: the mean of the simulations counts moves that were tried and found bad.
    """
    for g in range(start, stop):
        root, scores = g * nodes, policies[g]
        best = improve(root, children, seats, gains, raw, proven, logits, visits, totals, scale, scores)
        most, most_open = 0, 0
        for a in range(scores.shape[0]):
            most = max(most, visits[root, a])
            if not is_proven(root, a, children, proven):
                most_open = max(most_open, visits[root, a])
        largest, total, value = -np.inf, 0.0, 0.0
        for a in range(scores.shape[0]):
            score = scores[a]
            scores[a] = np.exp(score - best)
            if score > -np.inf:
                total += scores[a]
                value += scores[a] * (score - logits[root, a]) / ((VISITS + most) * scale)
                choosable = visits[root, a] == most_open or is_proven(root, a, children, proven)
                if choosable and score + noise[g, a] > largest:
                    actions[g], largest = a, score + noise[g, a]
        values[g] = raw[root] if proven[root] else value / total
        for a in range(scores.shape[0]):
            scores[a] /= total
