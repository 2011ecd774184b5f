"""The conformance kit: `check_game` tests that a game keeps the contract that engines and views rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from ludory.envs.engine.binding.plain_kernels import plain_rules
    from ludory.errors import ConformanceError

    from .conformance import check_game

__all__ = [
    "ConformanceError",
    "check_game",
    "plain_rules",
]

__getattr__, __dir__ = published_by(__name__)
