"""The conformance kit: `check_game` tests that a game keeps the contract that engines and views rely on."""

from ludory.envs.engine.binding.plain_kernels import plain_rules
from ludory.errors import ConformanceError

from .check_game import check_game

__all__ = ["ConformanceError", "check_game", "plain_rules"]
