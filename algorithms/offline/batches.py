"""Batches of recorded decisions, single ones or whole games, also under a symmetry of the game, and a policy's outputs for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.agents.networks.layers.distribution import MaskedHeads
from ludory.agents.networks.layers.packed_linear import unpack
from ludory.agents.networks.policy import Policy, from_seat
from ludory.algorithms.sampling.renaming import renamed_columns
from ludory.data import TrajectoryDataset
from ludory.data.dataset import LAST_MOVES
from ludory.data.decisions import Decisions, Sequences
from ludory.envs import Game, GameFacts, Symmetry

Batch = Decisions | Sequences
T = TypeVar("T")


class Predictions(NamedTuple):
    """A policy's outputs for m decisions, beside what was recorded of them."""

    logits: Tensor  # (m, A)
    values: Tensor  # (m,)
    masks: Tensor  # (m, A) bool
    actions: Tensor  # (m, H)
    returns: Tensor  # (m,)
    weights: Tensor  # (m,)
    games: Tensor  # (m,)
    seats: Tensor  # (m,)
    extras: Tensor  # (m, E)
    observations: Tensor  # (m, bytes) or (m, size)


def read_batches(
    data: TrajectoryDataset, size: int, whole_games: bool, seed: int | None = None, epoch: int = 0
) -> Iterator[Batch]:
    """Batches of `size` decisions; with `whole_games` of as many games as have about `size` decisions."""
    if whole_games:
        return data.sequences(max(1, round(size * data.num_games / len(data))), seed=seed, epoch=epoch)
    return data.batches(size, seed=seed, epoch=epoch)


def first_samples(batches: Iterator[Batch], count: int | None) -> Iterator[Batch]:
    """Batches up to `count` decisions in all; the last batch is cut, unless it holds whole games."""
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
    """Every `world`-th batch, from `rank` on; an incomplete last round is dropped, so that all processes make the same number of steps."""
    while len(group := list(islice(batches, world))) == world:
        yield group[rank]


def num_decisions(batch: Batch) -> int:
    """Decisions in a batch, without padding."""
    return int(batch.valid.sum()) if isinstance(batch, Sequences) else len(batch.actions)


def ask(policy: Policy, batch: Batch, moves: slice | None = None, seq_len: int | None = None) -> Predictions:
    """Run the policy over a batch; sequences start from an empty memory, and padding is left out of the result.

    Args:
        policy: the network.
        batch: decisions.
        moves: columns of `Decisions.extras` with the last moves of all seats, for policies that take them as input.
        seq_len: decisions after which the memory is reset; None: only at the start of a game.
    """
    decisions = batch.decisions if isinstance(batch, Sequences) else batch
    told: tuple[Tensor, ...] = ()
    if policy.uses_previous and moves is not None:
        told = (from_seat(decisions.extras[..., moves].long(), decisions.seats),)
    recorded = [
        getattr(decisions, name)
        for name in ("masks", "actions", "returns", "weights", "games", "seats", "extras", "observations")
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
    return Predictions(logits, values, unpack(masks, sum(policy.head_sizes)).bool(), *rest)


def distribution(policy: Policy, predicted: Predictions) -> MaskedHeads:
    """The distribution over actions."""
    found: MaskedHeads = policy.distribution(
        predicted.logits, predicted.masks
    )  # offline learners refuse continuous actions
    return found


def weighted_mean(rows: Tensor, weights: Tensor) -> Tensor:
    """Mean of rows (m,) by weights (m,); 0 where all weights are 0."""
    return (rows * weights).sum() / weights.sum().clamp(min=torch.finfo(weights.dtype).tiny)


IDS = ("action_blueprint", LAST_MOVES)
"""Extra columns that hold actions; other values (none, unknown) do not change."""
BY_ACTION = ("q", "q_stderr")
"""Extra columns with a value for each action."""


def rename(
    decisions: Decisions, symmetry: Symmetry, facts: GameFacts, layout: Mapping[str, slice] | None = None
) -> Decisions:
    """The decisions under a symmetry.

    Args:
        decisions: any number of them.
        symmetry: permutations of actions and observation.
        facts: of the game.
        layout: places of the extra columns, if there are any.
    """
    known = {name: getattr(decisions, name) for name in ("observations", "masks", "actions")}
    extras = decisions.extras
    if layout and any(name in layout for name in (*IDS, *BY_ACTION)):
        extras = extras.clone()
        for name in IDS:
            if name in layout:
                extras[..., layout[name]] = _renamed_ids(extras[..., layout[name]], symmetry.actions)
        # the inverse: the value of an action moves to its new id
        sources = np.argsort(symmetry.actions)
        for name in BY_ACTION:
            if name in layout:
                extras[..., layout[name]] = extras[..., layout[name]][..., torch.from_numpy(sources)]
    return decisions._replace(**renamed_columns(known, symmetry, facts.head_sizes), extras=extras)


def renamed_batches(
    batches: Iterator[Batch], game: Game, place: tuple[int, ...], first: int, rank: int, layout: Mapping[str, slice]
) -> Iterator[Batch]:
    """Every batch under its own symmetry, which depends only on `place`, its number (from `first` on) and the process."""
    for number, batch in zip(count(first), batches, strict=False):
        yield renamed(batch, game, (*place, number, rank), layout)


def renamed(batch: Batch, game: Game, place: tuple[int, ...], layout: Mapping[str, slice]) -> Batch:
    """A batch under the symmetry drawn with the seed `place`."""
    assert game.analysis.symmetry is not None
    symmetry = game.analysis.symmetry(np.random.default_rng(place))
    if isinstance(batch, Sequences):
        return batch._replace(decisions=rename(batch.decisions, symmetry, game.facts, layout))
    return rename(batch, symmetry, game.facts, layout)


def _renamed_ids(ids: Tensor, actions: NDArray[Any]) -> Tensor:
    is_action = (ids >= 0) & (ids < len(actions))  # NaN is neither
    # what is no action is looked up as well, and put back below
    new = torch.from_numpy(actions).to(ids.dtype)[ids.nan_to_num().clamp(0, len(actions) - 1).long()]
    return torch.where(is_action, new, ids)
