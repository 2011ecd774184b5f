"""Options of CFR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ludory.limits import MAX_NODES, OneOf, PositiveInt


@dataclass(frozen=True, slots=True)
class CFRConfig:
    """Options of CFR."""

    variant: Annotated[str, OneOf("cfr", "cfr+")] = "cfr+"
    """"cfr", or "cfr+": no negative regrets, seats in turns, and averages that weigh iteration t by t."""
    report_every: PositiveInt = 10
    """Iterations between two computations of the exploitability."""
    max_nodes: PositiveInt = MAX_NODES
    """Most nodes of the game tree."""
