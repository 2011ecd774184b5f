"""The conformance kit: `check_game` tests that a game keeps the contract that engines and views rely on."""

from ludory.errors import ConformanceError

from .check_game import check_game

__all__ = ["ConformanceError", "check_game"]
