"""`RankedSampler`: each of the processes of a learner plays a share of the games, and all of them get what all have played."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ludory.agents import Policy
from ludory.algorithms.running.ranks import Ranks

from .rollout import Rollout
from .sampler import EpisodeStats, Played, Sampler, assembled, stats_of
from .shares import DividedSampler, Share, games_of, rows_of, share_sampler, tensors_of

SETTLE, GO_ON, DROP, END = "settle", "go on", "drop", "end"
"""What the first process says beside orders: send your games; learn from this rollout; do not; there is nothing more to do."""


class RankedSampler(DividedSampler):
    """A sampler of all games in each of several processes, each of which plays its own share of them, with the numbers of one process.

    Args:
        sampler: of this process, which stands for all games.
        ranks: the processes.
        share: this one's games.
        device: where they are played.
    """

    def __init__(self, sampler: Sampler, ranks: Ranks, share: Share, device: str) -> None:
        super().__init__(sampler)
        self._ranks, self._share, self._device = ranks, share, device
        self._own: Any = None
        self.order: Callable[[], Any] = lambda: None
        """In the first process: what the others need to know to begin a rollout with it."""

    def collect(
        self,
        policy: Policy,
        steps: int,
        generator: torch.Generator,
        on_step: Callable[[], bool] | None = None,
        teacher: Policy | None = None,
        version: int = 0,
    ) -> tuple[Rollout | None, EpisodeStats]:
        """As `Sampler.collect`, in all processes at once; `on_step` is called for every step when all have been played."""
        if self._ranks.rank == 0:
            self._ranks.said(self.order())
        if self._own is None:
            self._divide(policy, teacher)
        self.version = version
        played = self._together(self._own.play(policy, steps, generator, None, teacher))
        self._own.given = self._ranks.joined(self._own.lanes.observe(), 0)
        goes_on = on_step is None or self._tell(played, on_step)
        if self._ranks.rank == 0:
            self._ranks.said(GO_ON if goes_on else DROP)
        else:
            goes_on = self.hear() == GO_ON
        return (assembled(played, self.lanes) if goes_on else None), stats_of(played)

    def hear(self) -> Any:
        """What the first process says next to the others, which send their games when it asks for them."""
        while (said := self._ranks.said()) == SETTLE:
            self._ranks.objects(games_of(self._own))
        return said

    def settle(self) -> None:
        """Copy the games of all processes into the first one, which calls this."""
        if self._own is not None and self._ranks.rank == 0:
            self._ranks.said(SETTLE)
            self._games = self._ranks.objects(games_of(self._own))
            super().settle()

    def _divide(self, policy: Policy, teacher: Policy | None) -> None:
        """Take the own share of the games of all."""
        self._inner.begin(policy, teacher)
        self.started = True
        typical = self.lanes.observe()
        own = self._own = share_sampler(self._share, self._device)
        own.critic, own.lockstep, own.given = self.critic, True, typical
        fields, state = (
            rows_of(part, self._share.start, self._share.stop, self.engine.num_games) for part in games_of(self._inner)
        )
        own.engine.load_fields(fields, check=False)
        own.player.expect(policy)
        if teacher is not None:
            own.teacher.expect(teacher)
        device = torch.as_tensor(typical).device
        own.restore({name: part.to(device) for name, part in tensors_of(state).items()})

    def _together(self, played: Played) -> Played:
        """What all have played, side by side."""
        joined = self._ranks.joined
        columns = {name: None if part is None else joined(part, 1) for name, part in played.columns.items()}
        starts = self._ranks.objects((self._share.start, played.ended))
        ended: list[Any] = []
        for step in range(len(played.ended)):
            parts = [(start + one[step][0], *one[step][1:]) for start, one in starts]
            ended.append(tuple(np.concatenate(part) for part in zip(*parts, strict=True)))
        memory = None if played.memory is None else joined(played.memory, 0)
        return Played(columns, joined(played.last, 0), memory, ended)
