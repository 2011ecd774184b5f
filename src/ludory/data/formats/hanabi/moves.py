"""Moves as hanab.live writes them, by the orders of cards, and as action ids of Ludory, by slots."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ludory.data.formats.json_fields import FieldError
from ludory.envs import Game
from ludory.errors import OptionError

__all__ = [
    "COLOR_CLUE",
    "DISCARD",
    "PLAY",
    "RANKS",
    "RANK_CLUE",
    "VARIANTS",
    "Hands",
    "SiteMove",
    "TableSize",
    "sizes_of",
]

PLAY, DISCARD, COLOR_CLUE, RANK_CLUE = range(4)
"""Types of moves."""
RANKS, CLUES, LIVES = 5, 8, 3
VARIANTS = {"No Variant": 5, "4 Suits": 4, "3 Suits": 3}
"""Number of suits of the variants of the site that have our rules."""


class SiteMove(NamedTuple):
    """A move of the site. The order of a card is its place in the deck, counted from 0 at the top."""

    type: int
    target: int
    """Order of the card that is played or discarded; seat that gets the clue."""
    value: int = 0
    """Of a clue: the colour's index, or the rank from 1."""


class TableSize(NamedTuple):
    """What tells one table of the site from another."""

    players: int
    colors: int

    @property
    def hand(self) -> int:
        """Cards in a hand."""
        return 5 if self.players <= 3 else 4

    @property
    def variant(self) -> str:
        """The name of the variant."""
        return next(name for name, colors in VARIANTS.items() if colors == self.colors)

    @property
    def game(self) -> tuple[str, dict[str, int]]:
        """Id and options of our game."""
        if self.colors == 5:
            return f"Hanabi{self.players}P-v0", {}
        return "Hanabi-v0", {"players": self.players, "colors": self.colors}

    def __str__(self) -> str:
        return f"{self.players} players, {self.colors} suits"


def sizes_of(game: Game) -> TableSize:
    """The sizes of one of our games that the site can show.

    Raises:
        OptionError: the game is not Hanabi, or has other numbers than the site.
    """
    if game.family != "hanabi":
        raise OptionError(
            f"games of hanab.live are of Hanabi, got {game.id or game.facts.name}; name Hanabi2P-v0 or another"
        )
    # an id fixes options without naming them: the fields of its state tell
    fields = game.rules.fields
    (players, hand), (colors,) = fields["hands"].shape, fields["fireworks"].shape
    sizes = TableSize(players, colors)
    clues, lives = list(fields["setup"].fill)[:2]
    found = (fields["discards"].shape[0] // colors, hand, clues, lives)
    wanted = (RANKS, sizes.hand, CLUES, LIVES)
    if found != wanted or colors not in VARIANTS.values():
        have = "{} ranks, hands of {}, {} hint tokens, {} lives"
        raise OptionError(
            f"{game.id or game.facts.name} has {colors} colours, {have.format(*found)}; hanab.live plays with "
            f"{players} players {', '.join(map(str, sorted(VARIANTS.values())))} colours, {have.format(*wanted)}"
        )
    return sizes


class Hands:
    """The orders of the cards in all hands, oldest first, and what a move of the site is as an action of ours.

    Args:
        sizes: of the table.
    """

    def __init__(self, sizes: TableSize) -> None:
        self.sizes, self.dealt = sizes, sizes.players * sizes.hand
        self.orders = [list(range(seat * sizes.hand, (seat + 1) * sizes.hand)) for seat in range(sizes.players)]

    def action(self, move: SiteMove, seat: int) -> int:
        """The action id of a move of `seat`.

        Raises:
            FieldError: the card is in another hand, or the clue goes to nobody else.
        """
        players, colors, hand = *self.sizes, self.sizes.hand
        if move.type in (PLAY, DISCARD):
            held = self.orders[seat]  # oldest first, as our slots
            if move.target not in held:
                got = f"card {move.target}, which is not in the hand of player {seat}"
                raise FieldError("target", got, f"one of {_listed(held)}")
            return hand * (move.type == PLAY) + held.index(move.target)
        # our hints name a seat by how far it sits ahead, the site by its number
        ahead = (move.target - seat) % players
        if not ahead or not 0 <= move.target < players:
            got = f"{move.target}, the player that gives the clue" if move.target == seat else f"{move.target}"
            raise FieldError(
                "target", got, f"another player, one of {_listed(one for one in range(players) if one != seat)}"
            )
        count, first = (colors, 0) if move.type == COLOR_CLUE else (RANKS, 1)
        if not first <= move.value < first + count:
            raise FieldError("value", f"{move.value}", f"a {('colour', 'rank')[first]}, {first}..{first + count - 1}")
        before = 2 * hand + (players - 1) * colors * first
        return before + (ahead - 1) * count + move.value - first

    def move(self, action: int, seat: int) -> SiteMove:
        """The inverse of `action`.

        Raises:
            FieldError: there is no such action, or no card in its slot.
        """
        players, colors, hand = *self.sizes, self.sizes.hand
        most = 2 * hand + (players - 1) * (colors + RANKS) - 1
        if not 0 <= action <= most:
            raise FieldError("actions", f"{action}", f"an action 0..{most}")
        if action < 2 * hand:
            played, slot = divmod(action, hand)
            if slot >= len(self.orders[seat]):
                raise FieldError("actions", f"{action}, slot {slot}", f"a slot 0..{len(self.orders[seat]) - 1}")
            return SiteMove(PLAY if played else DISCARD, self.orders[seat][slot])
        of_rank, clue = divmod(action - 2 * hand, (players - 1) * colors)
        if of_rank:  # all ranks together are not a multiple of the colours
            ahead, rank = divmod(action - 2 * hand - (players - 1) * colors, RANKS)
            return SiteMove(RANK_CLUE, (seat + ahead + 1) % players, rank + 1)
        ahead, color = divmod(clue, colors)
        return SiteMove(COLOR_CLUE, (seat + ahead + 1) % players, color)

    def play(self, action: int, seat: int, drew: bool) -> None:
        """Follow an action of `seat`, after which it drew a card or did not."""
        if action < 2 * self.sizes.hand:
            del self.orders[seat][action % self.sizes.hand]
        if drew:
            self.orders[seat].append(self.dealt)
            self.dealt += 1


def _listed(values: Iterable[int]) -> str:
    return ", ".join(map(str, values))
