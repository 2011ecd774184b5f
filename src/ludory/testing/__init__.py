"""The conformance kit: `check_game` proves that a game keeps the contract that every view of it relies on."""

from ludory.errors import ConformanceError

from .check_game import check_game

__all__ = ["ConformanceError", "check_game"]
