"""`DominoMlp`: hidden layers over what the rules say of a state of Texas 42 with open hands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor, nn

from ludory.agents.texas42.play.tokens import VERSIONS
from ludory.envs import GameFacts
from ludory.envs.texas42.tiles import TILES
from ludory.errors import OptionError

from .open_hands import OpenHandNetwork, OpenValues
from .state_reader import FEW, HAND, NUM_FEATURES, StateReader


class DominoMlp(OpenHandNetwork):
    """Hidden layers; each of the mover's tiles is answered as the tile that it is, and as the place that it has in the hand.

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
        self.by_tile, self.by_place = nn.Linear(width, TILES), nn.Linear(width, FEW)
        self.value_head = nn.Linear(width, 1)

    def forward(self, tokens: Tensor, mask: Tensor, player: Tensor | None = None) -> OpenValues:  # type: ignore[override]
        """As `OpenHandNetwork.forward`."""
        self.check_version(tokens, player)
        seen = self.reader(tokens, mask)
        x = self.torso(seen.features.to(self.value_head.weight.dtype))
        # a tile is learnt of by its name and, for what no name says, by its place among the tiles of the hand
        own = seen.places[:, 0]
        by_place = self.by_place(x) * seen.there[:, 0].to(x.dtype)
        q = self.by_tile(x).gather(1, seen.renamed[:, :HAND])
        # heads are near 1 in size, points are not
        return OpenValues(42 * q.scatter_add(1, own, by_place.to(q.dtype)), self.value_head(x).squeeze(-1))
