"""Options of Hanabi, and the numbers that follow from them. `plugins/builtin.py` says which ids fix which options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ludory.envs import check_choice, check_flag, check_range

ObservationName = Literal["card_knowledge", "conventions", "minimal", "seer", "tactical", "v0_belief"]


@dataclass(frozen=True, slots=True)
class HanabiOptions:
    """A variant of Hanabi. Options are named as in hanabi-learning-environment where it has them. Invalid values raise an OptionError."""

    players: int = 2
    """Number of seats, 2 to 5."""
    colors: int = 5
    """Number of colours, 1 to 5: red, yellow, green, white, blue."""
    ranks: int = 5
    """Number of ranks, 1 to 5."""
    hand_size: int = 0
    """Cards in a hand; 0: 5 for two or three players, 4 for four or five."""
    max_information_tokens: int = 8
    """Information tokens at the start, and their cap."""
    max_life_tokens: int = 3
    """Lives at the start."""
    random_start_player: bool = False
    """Draw the seat that starts; otherwise seat 0 starts."""
    observation: ObservationName = "card_knowledge"
    """What a seat sees: card_knowledge, conventions, minimal, seer, tactical or v0_belief."""
    bomb: Literal["zero", "keep"] = "zero"
    """Score when all lives are lost: "zero", or "keep" the cards played so far."""
    terminal_deal: bool = True
    """Deal the replacement card after the move that ends the game."""

    def __post_init__(self) -> None:
        check_range("players", self.players, 2, 5)
        check_range("colors", self.colors, 1, 5)
        check_range("ranks", self.ranks, 1, 5)
        if self.hand_size == 0:
            object.__setattr__(self, "hand_size", 5 if self.players <= 3 else 4)
        check_range("hand_size", self.hand_size, 1, self.deck_size // self.players)
        check_range("max_information_tokens", self.max_information_tokens, 0, 100)
        check_range("max_life_tokens", self.max_life_tokens, 1, 100)
        check_choice("observation", self.observation, get_args(ObservationName))
        check_choice("bomb", self.bomb, ("zero", "keep"))
        for name in ("random_start_player", "terminal_deal"):
            check_flag(name, getattr(self, name))

    @property
    def copies(self) -> tuple[int, ...]:
        """Copies of each rank: the lowest has 3, the highest 1, others 2."""
        return tuple(3 if rank == 0 else 1 if rank == self.ranks - 1 else 2 for rank in range(self.ranks))

    @property
    def deck_size(self) -> int:
        """D, number of cards in the deck."""
        return self.colors * sum(self.copies)

    @property
    def num_actions(self) -> int:
        """A, number of action ids."""
        return 2 * self.hand_size + (self.players - 1) * (self.colors + self.ranks)

    @property
    def longest_game(self) -> int:
        """Upper bound on the number of moves: hint whenever possible, else discard."""
        left = self.deck_size - self.players * self.hand_size
        return 2 * left + self.max_information_tokens + self.players - 1 if left else self.players
