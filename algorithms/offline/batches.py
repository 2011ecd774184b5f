"""Batches of recorded decisions, single ones or whole games, and what a policy says to them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from ludory.agents.networks.layers.distribution import MaskedHeads
from ludory.agents.networks.layers.packed_linear import unpack
from ludory.agents.networks.policy import Policy, from_seat
from ludory.data.trajectories import Decisions, Sequences, TrajectoryDataset

Batch = Decisions | Sequences
T = TypeVar("T")


class Said(NamedTuple):
    """What a policy says to m decisions, beside what was recorded of them."""

    logits: Tensor  # (m, A)
    values: Tensor  # (m,)
    masks: Tensor  # (m, A) bool
    actions: Tensor  # (m, H)
    returns: Tensor  # (m,)
    weights: Tensor  # (m,)
    games: Tensor  # (m,)
    seats: Tensor  # (m,)
    extras: Tensor  # (m, E)


def read_batches(
    data: TrajectoryDataset, size: int, whole_games: bool, seed: int | None = None, epoch: int = 0
) -> Iterator[Batch]:
    """Batches of `size` decisions; with `whole_games` of as many games as have about `size` decisions."""
    if whole_games:
        return data.sequences(max(1, round(size * data.num_games / len(data))), seed=seed, epoch=epoch)
    return data.batches(size, seed=seed, epoch=epoch)


def first_samples(batches: Iterator[Batch], count: int | None) -> Iterator[Batch]:
    """Batches up to `count` decisions in all; the batch that goes over it is cut, one of whole games is kept whole."""
    left = count
    for batch in batches:
        if left is None:
            yield batch
            continue
        yield batch if isinstance(batch, Sequences) else Decisions(*(column[:left] for column in batch))
        left -= num_decisions(batch)
        if left <= 0:
            return


def own_share(batches: Iterator[T], rank: int, world: int) -> Iterator[T]:
    """Of every `world` batches the one of this process; a last round that is not full is left out, so that all make the same steps."""
    while len(group := list(islice(batches, world))) == world:
        yield group[rank]


def num_decisions(batch: Batch) -> int:
    """Decisions in a batch, without padding."""
    return int(batch.valid.sum()) if isinstance(batch, Sequences) else len(batch.actions)


def ask(policy: Policy, batch: Batch, moves: slice | None = None, seq_len: int | None = None) -> Said:
    """Run the policy over a batch; sequences through time from an empty memory, their padding left out of the answer.

    Args:
        policy: to ask.
        batch: of decisions.
        moves: where the last moves of all seats stand in `Decisions.extras`, for policies that want to be told.
        seq_len: the memory is emptied every so many decisions; None: only at the start of a game.
    """
    decisions = batch.decisions if isinstance(batch, Sequences) else batch
    told: tuple[Tensor, ...] = ()
    if policy.uses_previous and moves is not None:
        told = (from_seat(decisions.extras[..., moves].long(), decisions.seats),)
    recorded = [
        getattr(decisions, name) for name in ("masks", "actions", "returns", "weights", "games", "seats", "extras")
    ]
    if isinstance(batch, Sequences):
        starts = torch.zeros_like(batch.valid)
        starts[:: seq_len or len(starts)] = True
        output = policy.unroll(decisions.observations, None, starts, decisions.seats, *told)
        rows = batch.valid.flatten().nonzero().squeeze(1)
        logits, values, *recorded = (part.flatten(0, 1)[rows] for part in (*output[:2], *recorded))
    else:
        logits, values, _ = policy(decisions.observations, None, decisions.seats, *told)
    masks, *rest = recorded
    return Said(logits, values, unpack(masks, sum(policy.head_sizes)).bool(), *rest)


def distribution(policy: Policy, said: Said) -> MaskedHeads:
    """The distribution over actions."""
    found: MaskedHeads = policy.distribution(said.logits, said.masks)  # offline learners refuse continuous actions
    return found
