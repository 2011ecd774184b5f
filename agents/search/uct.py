"""UCT from many positions, without leaving compiled code. Bound to a game by `bind`.

n positions, A actions, P seats, S simulations; a position is one record of the state, `*_bytes` are the same records as uint8
[n, size]. Kocsis and Szepesvári (2006), "Bandit Based Monte-Carlo Planning".
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

import numpy as np

from ludory.envs.chance import mix
from ludory.envs.engine.binding.kernel_placeholders import legal, step

# `bind` puts `quick_batch_kernel` into this line
from ludory.envs.kernels import batch_kernel, kernel


@kernel
def random_below(key, counter, n):
    """Number in 0..n-1, a function of `key` and `counter`."""
    # multiply and shift: no division, and no bias that matters for so small n
    return np.int64(((np.uint64(mix(key, counter)) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@batch_kernel
def search_rows(
    state,
    scratch_bytes,
    roots_bytes,
    keys,
    exploration,
    children,
    seats,
    visits,
    totals,
    path,
    mask,
    gains,
    counts,
    values,
    start,
    stop,
):
    """Search every position: counts [n, A] of the simulations that begin with an action, values [n, A] their mean return.

    state: one record, in which simulations are played, `scratch_bytes` its bytes. The values are those of the seat to move.
    exploration: of UCB1, in units of return. Working memory, for S + 1 nodes: children [S + 1, A], seats, visits and totals [S + 1]
    (the seat that moved to a node, the simulations through it, and the sum of this seat's returns), path [S + 2], mask [A], gains [P].
    """
    for g in range(start, stop):
        nodes, counter = 1, 0
        visits[0] = 0
        for a in range(mask.shape[0]):
            children[0, a] = -1
        # the root and one node per simulation fill the memory
        for _ in range(children.shape[0] - 1):
            for byte in range(roots_bytes.shape[1]):
                scratch_bytes[0, byte] = roots_bytes[g, byte]
            for p in range(gains.shape[0]):
                gains[p] = 0.0
            node, length, inside = 0, 1, True
            path[0] = 0
            while not (state.terminated[0] or state.truncated[0]):
                mover = int(state.to_move[0])
                for a in range(mask.shape[0]):
                    mask[a] = False
                legal(state, 0, mover, mask)
                fresh, options = 0, 0  # legal actions without a node, and all legal actions
                for a in range(mask.shape[0]):
                    if mask[a]:
                        options += 1
                        if inside and children[node, a] < 0:
                            fresh += 1
                action = -1
                # every child was visited once before, so no division by 0
                if inside and fresh == 0:
                    best = -np.inf
                    for a in range(mask.shape[0]):
                        if mask[a]:
                            child = children[node, a]
                            # UCB1; a node's totals are those of the seat that moved to it, which is the one that
                            # chooses here
                            bound = exploration * np.sqrt(np.log(np.float64(visits[node])) / visits[child])
                            score = totals[child] / visits[child] + bound
                            if score > best:
                                best, action = score, a
                    node = children[node, action]
                    path[length] = node
                    length += 1
                else:
                    wanted = random_below(keys[g], counter, fresh if inside else options)
                    counter += 1
                    # the `wanted`-th of them, without a list
                    for a in range(mask.shape[0]):
                        if mask[a] and (not inside or children[node, a] < 0):
                            if wanted == 0:
                                action = a
                                break
                            wanted -= 1
                    if inside:  # the tree grows by one node per simulation; from there on moves are random
                        children[node, action] = nodes
                        for a in range(mask.shape[0]):
                            children[nodes, a] = -1
                        # seats follow each other in any order, so that a node keeps whose returns it sums
                        seats[nodes], visits[nodes], totals[nodes] = mover, 0, 0.0
                        path[length] = nodes
                        nodes += 1
                        length += 1
                        inside = False
                # a step expects rewards of 0, as an engine hands them
                for p in range(gains.shape[0]):
                    state.rewards[0, p] = 0
                step(state, 0, action)
                for p in range(gains.shape[0]):
                    gains[p] += state.rewards[0, p]
            visits[0] += 1
            for k in range(1, length):
                visits[path[k]] += 1
                totals[path[k]] += gains[seats[path[k]]]
        for a in range(mask.shape[0]):
            child = children[0, a]
            counts[g, a] = visits[child] if child >= 0 else 0
            values[g, a] = totals[child] / visits[child] if child >= 0 else np.nan  # NaN: never tried
