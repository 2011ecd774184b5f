"""The games that Ludory itself registers, as far as tests go through all of them."""

from __future__ import annotations

from unittest.mock import patch

from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.plugins import games
from ludory.testing import check_game, conformance
from ludory.testing.kernels import interpreted_and_compiled

LIKE_OTHERS = ("Arena-v0", "Arena3P-v0", "Arena5P-v0", "Arena6P-v0", "Arena7P-v0")
"""Arenas whose kernels are those of 2, 4 and 8 players; each would be compiled anew, for half a minute."""
OWN = [
    id
    for id in games.ids()
    if games.get(id).distribution == "ludory" and id not in LIKE_OTHERS and not id.startswith("Pokemon")
]

ONE_OF_EACH = (
    "HanabiSmall3P-v0",
    "Arena2P-v0",
    "FrozenLakeRagen1-v0",
    "Sudoku4-v0",
    "TicTacToe-v0",
    "ConnectFour-v0",
    "Go9-v0",
    "KuhnPoker-v0",
    "LeducPoker-v0",
    "Texas42-v0",
    "Texas42Play-v0",
    "Sokoban-v0",
    "SokobanGym-v0",
)
"""One of the games that have their kernels in common, and differ in their numbers only; the shorter ones."""


def has_the_kernels_of_another(id: str) -> bool:
    """Whether another game, which is in `ONE_OF_EACH`, has the kernels of `id`."""
    kernels = make_game(id).rules.kernels
    return id not in ONE_OF_EACH and any(make_game(one).rules.kernels == kernels for one in ONE_OF_EACH)


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
