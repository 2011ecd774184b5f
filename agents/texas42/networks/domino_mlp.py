"""`DominoMlp`: hidden layers over what the rules say of a state of Texas 42 with open hands after each tile that may be played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from ludory.agents.texas42.play.tokens import VERSIONS
from ludory.envs import GameFacts
from ludory.envs.texas42.tiles import POINTS
from ludory.errors import OptionError

from .open_hands import OpenHandNetwork, OpenOdds
from .open_states import OpenStates, open_states
from .state_reader import NUM_FEATURES, StateReader


class DominoMlp(OpenHandNetwork):
    """Looks at what a state is after each legal tile, and tells the odds of each number of points that are won from there.

    A tile's worth by a network that sees the state before it needs one answer for each tile; after it, one answer does, and the rules
    have done a step of the search.

    Args:
        facts: of Texas 42.
        hidden: width of each hidden layer.

    Raises:
        OptionError: no hidden layer, or one without units.
    """

    id: ClassVar[str] = "domino_mlp"
    tokens_version = VERSIONS[-1]

    def __init__(self, facts: GameFacts, hidden: Sequence[int] = (512, 512, 512)) -> None:
        super().__init__(facts)
        if not hidden or min(hidden) < 1:
            raise OptionError(f"hidden={tuple(hidden)}: must be the widths of hidden layers, such as (512, 512)")
        self.reader = StateReader()
        width, layers = NUM_FEATURES, list[nn.Module]()
        for wide in hidden:
            layers += [nn.Linear(width, wide), nn.ReLU()]
            width = wide
        self.torso = nn.Sequential(*layers)
        self.points_head = nn.Linear(width, POINTS + 1)

    def forward(self, tokens: Tensor, mask: Tensor, player: Tensor | None = None) -> OpenOdds:  # type: ignore[override]
        """As `OpenHandNetwork.forward`."""
        self.check_version(tokens, player)
        states = open_states(tokens, mask)
        legal = self.reader.rules.legal(states)
        rows, places = legal.nonzero(as_tuple=True)
        worth = torch.arange(-POINTS, POINTS + 1, device=tokens.device)
        odds = torch.full((*legal.shape, len(worth)), -torch.inf, device=tokens.device)
        odds[rows, places] = self._odds(OpenStates(*(part[rows] for part in states)), places, worth)
        q = odds.exp() @ worth.float()
        return OpenOdds(q, q.masked_fill(~legal, -torch.inf).amax(1) / POINTS, odds)

    def _odds(self, states: OpenStates, places: Tensor, worth: Tensor) -> Tensor:
        """(m, 85) log-probabilities that the mover's tile at `places` (m,) is worth `worth` (85,) points."""
        after, left = self.reader.rules.after(states, places), self.reader.rules.points_left(states)[:, None]
        x = self.torso(self.reader(after.states).to(self.points_head.weight.dtype))
        remaining = left - after.gain.abs()[:, None]
        points = torch.arange(POINTS + 1, device=x.device)
        log_probs: Tensor = self.points_head(x).float().masked_fill(points > remaining, -torch.inf).log_softmax(1)
        # what the mover's team wins from now on, what of it comes after this tile, and that as the next mover sees it
        own = (worth + left) // 2
        later = own - after.gain.clamp(min=0)[:, None]
        seen = torch.where(after.side[:, None] > 0, later, remaining - later)
        possible = ((worth + left) % 2 == 0) & (later >= 0) & (later <= remaining)
        return log_probs.gather(1, seen.clamp(0, POINTS)).masked_fill(~possible, -torch.inf)
