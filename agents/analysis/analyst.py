"""`Analyst`: finds values of moves in one game. `GameAnalysis`: what a game adds to the analysis of its positions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ludory import plugins
from ludory.envs import Game, hash_rows
from ludory.errors import OptionError

from .positions import StudiedPosition
from .values import Floats, MoveSearch

SAMPLES = 2000
"""Worlds of a sampled belief: an error of at most 1.1 % of any probability."""


class Analyst(ABC):
    """Finds values of moves in one game. It is shown every position in order, before the move that was made there."""

    @abstractmethod
    def search(self, position: StudiedPosition, key: int) -> MoveSearch:
        """A search for the values of the moves at a position; `key` seeds its draws.

        Raises:
            OptionError: nobody has to move there, or the values cannot be found.
        """

    def follow(self, position: StudiedPosition) -> None:  # noqa: B027  # most remember nothing
        """Take note of the move made at `position`."""


def mover(position: StudiedPosition) -> int:
    """The seat to move.

    Raises:
        OptionError: the game is over.
    """
    if position.to_move is None:
        raise OptionError("the game is over here; go to an earlier position to see values of moves")
    return position.to_move


def key_at(position: StudiedPosition, seed: int) -> int:
    """The key of the draws at a position: a hash of the seed and of the moves that led there."""
    key = int(hash_rows(seed, position.number))
    for move in position.history:
        for part in np.ravel(move.action):
            key = int(hash_rows(key, int(part)))
    return key


class HiddenCards(NamedTuple):
    """R hidden things, C values that each may have."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    probabilities: Floats
    """(R, C); rows sum to 1."""
    truth: tuple[int, ...] | None
    """(R,): the true values; None where they may not be seen."""
    note: str
    """Where the probabilities come from, one sentence."""


class GameAnalysis:
    """What a game adds to the analysis of its positions; subclasses override what they know.

    `ludory.analysts` has functions `make(game) -> GameAnalysis | None` by family or id of the game, such as a subclass.
    """

    not_asked: Sequence[str] = ()
    """Agents of the game that are not asked for advice, such as those that need more than a moment."""

    def __init__(self, game: Game) -> None:
        self.game = game

    def analyst(self, agent: str | None, seats: Sequence[int] | None) -> Analyst | None:
        """Finds the values of moves. None: search trees or games played on, as in any game.

        Args:
            agent: plays on in rollouts; None: the best that the game has for it.
            seats: the seats whose moves are wanted; None: all.
        """
        return None

    def usual_agent(self, names: Sequence[str]) -> str | None:
        """The agent that plays on where none is named, in a game of the players `names`. None: that of `analyst`."""
        return None

    def hidden(
        self, position: StudiedPosition, seat: int, analyst: Analyst | None, key: int, shown: bool
    ) -> HiddenCards | None:
        """What `seat` may think of what is hidden from it in a game that is not over. None: nothing is, or there is no such table.

        Args:
            position: of the game.
            seat: who thinks.
            analyst: that of the game, which has followed it to this position; None: nothing is inferred from the moves of others.
            key: of draws.
            shown: whether the truth may be shown.
        """
        return None

    def remark(self, position: StudiedPosition) -> str:
        """What a review adds to the words of the move that led to `position`, such as ", the last red 5"."""
        return ""


def analysis_of(game: Game) -> GameAnalysis:
    """What a game adds to its analysis.

    Raises:
        PluginError: the package that offers it is broken.
    """
    return game.hook(plugins.analysts, GameAnalysis) or GameAnalysis(game)
