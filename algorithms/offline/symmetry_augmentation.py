"""Recorded decisions under a symmetry of the game, such as a permutation of Hanabi's colours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.algorithms.sampling.renaming import renamed_columns
from ludory.data.dataset import LAST_MOVES
from ludory.data.trajectories import Decisions, Sequences
from ludory.envs.facts import GameFacts
from ludory.envs.game import Game
from ludory.envs.parts import Symmetry

from .batches import Batch

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
