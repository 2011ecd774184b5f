"""Analysis of positions: what moves are worth, and what a seat may think of what is hidden from it.

A package that analyses its own game registers a `GameAnalysis` in `ludory.analysts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .analyst import SAMPLES, Analyst, GameAnalysis, HiddenCards, analysis_of, key_at, mover
    from .positions import StudiedPosition
    from .searches import AgentAnalyst, BotAnalyst, TreeAnalyst, is_blueprint
    from .values import Difference, ExactSearch, Floats, MoveSearch, MoveValues, PairedSearch

__all__ = [
    "SAMPLES",
    "AgentAnalyst",
    "Analyst",
    "BotAnalyst",
    "Difference",
    "ExactSearch",
    "Floats",
    "GameAnalysis",
    "HiddenCards",
    "MoveSearch",
    "MoveValues",
    "PairedSearch",
    "StudiedPosition",
    "TreeAnalyst",
    "analysis_of",
    "is_blueprint",
    "key_at",
    "mover",
]

__getattr__, __dir__ = published_by(__name__)
