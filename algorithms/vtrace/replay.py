"""`SequenceReplay`: sequences, how often each was used, and the version of the weights that sampled it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ludory.algorithms.sampling.rollout import Rollout


@dataclass
class _Stored:
    rollout: Rollout | None  # None: used up; its place is kept, since it counts among those that are held
    uses: Tensor  # (B,) int64, on the CPU
    version: int


class ReplaySample(NamedTuple):
    """Columns of one rollout, and the version of the weights that sampled them."""

    rollout: Rollout
    version: int


class SequenceReplay:
    """The newest rollouts; every column is drawn `reuse` times, unless it gets too old.

    Args:
        rollouts: how many are kept.
        reuse: draws of each column.
        max_lag: versions that a rollout may be behind.
    """

    def __init__(self, rollouts: int, reuse: int, max_lag: int) -> None:
        self.rollouts, self.reuse, self.max_lag = rollouts, reuse, max_lag
        self.dropped = 0
        """Columns that were too old, or pushed out, before they had been used `reuse` times."""
        self._stored: list[_Stored] = []

    def add(self, rollout: Rollout, version: int) -> None:
        """Add a rollout; the oldest is removed when there are too many."""
        self._stored.append(_Stored(rollout, torch.zeros(rollout.starts.shape[1], dtype=torch.int64), version))
        while len(self._stored) > self.rollouts:
            self._leave(self._stored.pop(0))

    def draw(self, columns: int, version: int, generator: torch.Generator) -> ReplaySample | None:
        """Up to `columns` columns of one rollout, the least used first, at random among equals; None when all are used up."""
        for stored in [stored for stored in self._stored if version - stored.version > self.max_lag]:
            self._stored.remove(stored)
            self._leave(stored)
        left = [stored for stored in self._stored if (stored.uses < self.reuse).any()]
        if not left:
            return None
        which = int(torch.randint(len(left), (1,), generator=generator, device=generator.device))
        stored = left[which]
        noise = torch.rand(len(stored.uses), generator=generator, device=generator.device).cpu()
        order = (stored.uses + noise).argsort()
        chosen = order[: min(columns, int((stored.uses < self.reuse).sum()))]
        stored.uses[chosen] += 1
        assert stored.rollout is not None
        drawn = columns_of(stored.rollout, chosen.to(stored.rollout.starts.device))
        if (stored.uses >= self.reuse).all():
            stored.rollout = None
        return ReplaySample(drawn, stored.version)

    @property
    def full(self) -> bool:
        """Whether it holds as many rollouts as it keeps."""
        return len(self._stored) >= self.rollouts

    def state(self) -> dict[str, Tensor]:
        """Tensors of every rollout that still has columns to draw, and the use counts of the others."""
        state: dict[str, Tensor] = {}
        for k, stored in enumerate(self._stored):
            parts: dict[str, Tensor | None] = {"uses": stored.uses, "version": torch.tensor(stored.version)}
            parts |= {} if stored.rollout is None else stored.rollout._asdict()
            state |= {f"replay/{k}/{name}": part for name, part in parts.items() if part is not None}
        return state

    def restore(self, state: dict[str, Tensor], device: torch.device) -> None:
        """Restore what `state` returned."""
        self._stored = []
        while parts := {
            key.split("/")[2]: part for key, part in state.items() if key.startswith(f"replay/{len(self._stored)}/")
        }:
            uses, version = parts.pop("uses"), int(parts.pop("version"))
            rollout = Rollout(**{name: part.to(device) for name, part in parts.items()}) if parts else None
            self._stored.append(_Stored(rollout, uses, version))

    def uses(self) -> list[list[int]]:
        """Number of draws of each column of each rollout."""
        return [stored.uses.tolist() for stored in self._stored]

    def _leave(self, stored: _Stored) -> None:
        self.dropped += int((stored.uses < self.reuse).sum())


def columns_of(rollout: Rollout, columns: Tensor) -> Rollout:
    """Some columns of a rollout."""

    def part(name: str, value: Tensor | None) -> Tensor | None:
        return None if value is None else value[columns] if name == "memory" else value[:, columns]

    return Rollout(**{name: part(name, value) for name, value in rollout._asdict().items()})  # type: ignore[arg-type]
