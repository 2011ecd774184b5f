"""The conformance kit: `check_game` proves that a game keeps the contract that every view of it relies on."""

from .check_game import check_game

__all__ = ["check_game"]
