"""`MixedTrajectories`: several sets of recorded games that are learnt from at once, each with its share of the decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from ludory.data import TrajectoryDataset
from ludory.data.decisions import Decisions, Sequences
from ludory.data.header import TrajectoryHeader
from ludory.errors import DataError

from .batches import Batch, num_decisions

B = TypeVar("B", bound=Batch)


class MixedPart(NamedTuple):
    """A further set of a mixture."""

    data: TrajectoryDataset
    share: float
    """Of all decisions that are learnt from."""


class MixedTrajectories:
    """Games of a first set and of others, with the calls of a `TrajectoryDataset`.

    Every batch is of one set, and the sets take turns so that each keeps its share of the decisions. An epoch is one pass over the
    first set; the others begin anew as often as that takes. Header, names and validation games are those of the first set.

    Args:
        first: the set whose game is learnt.
        others: further sets, whose observations and heads have the same sizes, whatever they mean.

    Raises:
        DataError: a set has other sizes than the first.
    """

    def __init__(self, first: TrajectoryDataset, others: Sequence[MixedPart]) -> None:
        self.path, self.header, self.layout = first.path, first.header, first.layout
        self._first, self._others = first, others
        self._first_share = 1 - sum(part.share for part in others)
        for part in others:
            _check_sizes(part.data, first)

    def __len__(self) -> int:
        """Decisions of an epoch, to about a batch of each set."""
        return round(len(self._first) / self._first_share)

    @cached_property
    def num_games(self) -> int:
        """About how many games an epoch has."""
        parts = [MixedPart(self._first, self._first_share), *self._others]
        return max(1, round(sum(len(self) * part.share * part.data.num_games / len(part.data) for part in parts)))

    def names_of(self, games: Sequence[int]) -> list[str]:
        """As `TrajectoryDataset.names_of`, by the first set."""
        return self._first.names_of(games)

    @cached_property
    def identities(self) -> dict[object, int]:
        """As `TrajectoryDataset.identities`, of all sets."""
        found: dict[object, int] = {}
        for part in self._others:
            found |= part.data.identities
        return found | self._first.identities

    def batches(self, size: int, *, seed: int | None = None, epoch: int = 0) -> Iterator[Decisions]:
        """As `TrajectoryDataset.batches`."""
        return self._taking_turns(lambda data, number: data.batches(size, seed=seed, epoch=number), epoch)

    def sequences(self, games: int, *, seed: int | None = None, epoch: int = 0) -> Iterator[Sequences]:
        """As `TrajectoryDataset.sequences`."""
        return self._taking_turns(lambda data, number: data.sequences(games, seed=seed, epoch=number), epoch)

    def _taking_turns(self, read: Callable[[TrajectoryDataset, int], Iterator[B]], epoch: int) -> Iterator[B]:
        given, first = [0] * len(self._others), 0
        endless = [self._endless(part.data, read, epoch) for part in self._others]
        for batch in read(self._first, epoch):
            yield batch
            first += num_decisions(batch)
            for k, part in enumerate(self._others):
                while given[k] * self._first_share < first * part.share:
                    more = next(endless[k])
                    given[k] += num_decisions(more)
                    yield more

    def _endless(
        self, data: TrajectoryDataset, read: Callable[[TrajectoryDataset, int], Iterator[B]], epoch: int
    ) -> Iterator[B]:
        """The batches of a further set again and again, each pass in another order than those of this and of other epochs."""
        number = epoch << 32
        while True:
            for batch in read(data, number):
                yield self._with_extras(batch, data.layout)
            number += 1

    def _with_extras(self, batch: Any, layout: dict[str, slice]) -> Any:
        """The batch with the extra columns of the first set; 1 where its own set has none, so that every head counts as used."""
        if layout == self.layout:
            return batch
        decisions = batch.decisions if isinstance(batch, Sequences) else batch
        own = decisions.extras
        extras: Tensor = torch.ones(*own.shape[:-1], max((one.stop for one in self.layout.values()), default=0))
        for name in layout.keys() & self.layout.keys():
            extras[..., self.layout[name]] = own[..., layout[name]]
        changed = decisions._replace(extras=extras)
        return batch._replace(decisions=changed) if isinstance(batch, Sequences) else changed


def _check_sizes(other: TrajectoryDataset, first: TrajectoryDataset) -> None:
    theirs, ours = ((_sizes(data.header)) for data in (other, first))
    if theirs != ours or other.header.players > first.header.players:
        raise DataError(
            f"{other.path}: observations, heads and seats {(*theirs, other.header.players)}, {first.path} has "
            f"{(*ours, first.header.players)}; sets of one size can be mixed: convert them with the same --bins"
        )


def _sizes(header: TrajectoryHeader) -> tuple[object, ...]:
    return header.observation.shape, header.observation.bits, header.head_sizes
