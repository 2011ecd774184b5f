"""The contract of variants of games that `test_all_games.py` checks in full."""

from __future__ import annotations

from unittest.mock import patch

from ludory.envs.game import Game
from ludory.testing import check_game, conformance
from ludory.testing.kernels import interpreted_and_compiled

WITHOUT_NUMBERS = (
    "fresh arrays",
    "seeds repeat",
    "alone",
    "clone",
    "gather",
    "copies of engines",
    "copies of views",
    "save and restore",
    "stepping rows",
    "resetting rows",
    "given arrays",
    "Gymnasium env",
    "Gymnasium vector",
    "PettingZoo AEC",
    "PettingZoo parallel",
)
"""Properties of engines and views, which a variant of a game does not change."""


def check_variant(game: Game, games: int, compiled: bool = True) -> None:
    """`check_game` for what depends on the numbers and options of a game."""
    asked = dict(conformance.PROPERTIES)
    for name in WITHOUT_NUMBERS:
        del asked[name]
    with patch.object(conformance, "PROPERTIES", asked), patch.object(interpreted_and_compiled, "POSITIONS", 4):
        check_game(game, games=games, cuda="skip", compiled=compiled)
