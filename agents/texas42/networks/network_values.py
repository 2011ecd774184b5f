"""`NetworkValues`: values of positions with open hands by a network, where exact ones would take too long."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ludory.agents import policy_of, pretrained_agents, weights_file
from ludory.agents.texas42.play.tokens import tokenise
from ludory.agents.texas42.solver.solver import ILLEGAL, Positions, points_left
from ludory.agents.texas42.solver.states import hands_of, movers, pack_masks
from ludory.checkpoints import read_checkpoint, weights_hash
from ludory.envs import make_game
from ludory.envs.texas42.tiles import ALL_TILES, FOLLOW, LED
from ludory.errors import CheckpointError

from .open_hands import OpenHandNetwork

ROWS = 4096
"""Most states per forward pass."""


def open_hand_network(source: str | Path) -> OpenHandNetwork:
    """The network of a checkpoint, or of an agent that ships with Ludory, which predicts values in points.

    Args:
        source: a file, or an id such as "texas42/oracle".

    Raises:
        CheckpointError: the file is unreadable, not of a network that sees all hands, or of one that learnt no values.
    """
    file = weights_file(str(source)) if str(source) in pretrained_agents() else source
    header, tensors = read_checkpoint(file)
    game = make_game(header["env"]["id"], **header["env"]["options"])
    network = policy_of(file, header, tensors, game)
    if not isinstance(network, OpenHandNetwork):
        raise CheckpointError(
            f"{file}: a network of {header.get('algorithm')}, which does not see all hands; "
            "give one of texas42_oracle, or texas42/oracle, which ships with Ludory"
        )
    if header["config"].get("loss_mode", "qvalue") != "qvalue":
        raise CheckpointError(
            f"{file}: it learnt which tile is best, not what tiles are worth; train one with --loss-mode qvalue"
        )
    return network


@torch.no_grad()
def tile_scores(
    network: OpenHandNetwork, hands: NDArray[np.int64], decl: NDArray[np.int64], states: NDArray[np.int64]
) -> Iterator[Tensor]:
    """What a network says of the mover's seven dealt tiles, (m, 7) for the next `ROWS` states at a time.

    Args:
        network: with its weights.
        hands: (n, 4, 7) dealt tile ids, ascending.
        decl: (n,) declarations, 0..9.
        states: (n,) of 41 bits.
    """
    device = next(network.parameters()).device
    for start in range(0, len(states), ROWS):
        part = slice(start, start + ROWS)
        asked = tokenise(hands[part].reshape(-1, 28), decl[part], states[part], network.tokens_version)
        yield network(*(torch.from_numpy(array).to(device) for array in asked)).q


class NetworkValues:
    """In the place of a `Solver` for `q_values`: by a network, in whole points.

    Args:
        network: of `open_hand_network`.
    """

    def __init__(self, network: OpenHandNetwork) -> None:
        self._network = network.eval()
        # by its weights, so that a record names them wherever the file lay
        self.name = f"network {weights_hash(network.state_dict())[:16]}"

    def q_values(self, given: Positions, only: ArrayLike = ALL_TILES) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """As `Solver.q_values`, of declarations 0 to 9."""
        hands = hands_of(_dealt(given))
        states = pack_masks(hands, given.held, given.leader, given.trick)
        mover, rows = movers(states), np.arange(len(states))
        own = hands[rows, mover]
        allowed = _legal(given, given.held[rows, mover]) & np.asarray(only)
        scores = [part.cpu().numpy() for part in tile_scores(self._network, hands, given.decl, states)]
        left = points_left(given)[:, None]
        # the points of both sides add up to those left, so that their difference is even or odd as these are
        won = np.rint((np.concatenate([np.zeros((0, 7)), *scores]) + left) / 2).clip(0, left)
        worth = np.where(mover[:, None] % 2 == 0, 1, -1) * (2 * won - left)
        q = np.full((len(states), 28), ILLEGAL, np.int8)
        row, place = np.nonzero(allowed[:, None] >> own & 1)
        q[row, own[row, place]] = worth[row, place]
        best = np.where(mover % 2 == 0, q.max(axis=1), np.where(q == ILLEGAL, 127, q).min(axis=1))
        return best.astype(np.int8), q


def _dealt(given: Positions) -> NDArray[np.int64]:
    """(n, 4) masks of seven tiles each: what is held, what lies in the trick, and of the tiles that were played any that make up seven.

    Who played a tile of an earlier trick does not matter to what is still to be won.
    """
    dealt, rows = given.held.astype(np.int64), np.arange(len(given.held))
    for place in range(3):
        lying = given.trick[:, place]
        dealt[rows, (given.leader + place) & 3] |= np.where(lying >= 0, 1 << np.maximum(lying, 0), 0)
    there = dealt[:, :, None] >> np.arange(28) & 1  # (n, 4, 28)
    gone = there.sum(axis=1) == 0
    # of the tiles that are gone the first so many are seat 0's, the next seat 1's, ...
    upto = (7 - there.sum(axis=2)).cumsum(axis=1)
    owner = (gone.cumsum(axis=1)[:, None] > upto[:, :, None]).sum(axis=1)  # (n, 28)
    of_seat = (owner[:, None] == np.arange(4)[:, None]) & gone[:, None]
    filled: NDArray[np.int64] = dealt | (of_seat.astype(np.int64) << np.arange(28)).sum(axis=2)
    return filled


def _legal(given: Positions, held: NDArray[np.int32]) -> NDArray[np.int64]:
    """(n,) masks of the tiles that the mover may play."""
    lead = given.trick[:, 0]
    follows = FOLLOW[given.decl, LED[given.decl, np.maximum(lead, 0)]].astype(np.int64) & held
    return np.where((lead >= 0) & (follows > 0), follows, held.astype(np.int64))
