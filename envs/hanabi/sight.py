"""`HanabiSight`: what one seat may see of a game, as plain values. Both pictures are drawn from it alone."""

from __future__ import annotations

from dataclasses import dataclass

from ludory.envs import State

from . import state as at
from .variants import HanabiOptions

LETTERS = "RYGWB"
COLOR_NAMES = ("red", "yellow", "green", "white", "blue")
END_WORDS = {at.BOMB: "all lives are lost", at.PERFECT: "all stacks are complete", at.DECK_OUT: "the deck ran out"}


@dataclass(frozen=True, slots=True)
class SeenCard:
    """A card in a hand, and what its holder knows from hints. `card` is (colour, rank), 0-based, None if face down."""

    card: tuple[int, int] | None
    colors: tuple[bool, ...]
    """Which colours are possible according to the hints."""
    ranks: tuple[bool, ...]
    told_color: int | None
    """The colour that a hint named."""
    told_rank: int | None
    touched: bool
    """True if the last move was a hint about this card."""

    @property
    def told(self) -> str:
        """What hints have named: "R3", "R?", "?3" or "??"."""
        color = "?" if self.told_color is None else LETTERS[self.told_color]
        return color + ("?" if self.told_rank is None else str(self.told_rank + 1))


@dataclass(frozen=True, slots=True)
class HanabiSight:
    """A game as `seat` sees it; None: all cards are face up."""

    seat: int | None
    to_move: int | None
    """None when the game is over."""
    hands: tuple[tuple[SeenCard, ...], ...]
    fireworks: tuple[int, ...]
    discards: tuple[tuple[int, ...], ...]
    """Discarded copies by colour and rank."""
    tokens: int
    lives: int
    deck: int
    turns_left: int | None
    """Moves left once the deck is empty."""
    turn: int
    score: int
    last: str
    """The last move in words, "" before the first."""
    end: str
    """Why the game is over, "" while it runs."""


def look(options: HanabiOptions, state: State, i: int, seat: int | None) -> HanabiSight:
    """Game `i` as `seat` sees it."""
    fireworks = tuple(int(height) for height in state.fireworks[i])
    deck, over = options.deck_size - int(state.deck_top[i]), bool(state.terminated[i])
    bombed = int(state.lives[i]) == 0 and options.bomb == "zero"
    return HanabiSight(
        seat=seat,
        to_move=None if over else int(state.to_move[i]),
        hands=tuple(_hand(options, state, i, holder, holder == seat) for holder in range(options.players)),
        fireworks=fireworks,
        discards=tuple(
            tuple(int(state.discards[i, color * options.ranks + rank]) for rank in range(options.ranks))
            for color in range(options.colors)
        ),
        tokens=int(state.tokens[i]),
        lives=int(state.lives[i]),
        deck=deck,
        turns_left=int(state.turns_left[i]) if deck == 0 and not over else None,
        turn=int(state.turn[i]),
        score=0 if bombed else sum(fireworks),
        last=last_move(options, state, i),
        end=END_WORDS[int(state.end[i])] if over else "",
    )


def _hand(options: HanabiOptions, state: State, i: int, holder: int, hidden: bool) -> tuple[SeenCard, ...]:
    last = [int(value) for value in state.last[i]]
    hinted = last[at.KIND] in (at.HINT_COLOR, at.HINT_RANK) and last[at.TARGET] == holder
    touched = last[at.TOUCHED] if hinted else 0
    return tuple(
        _card(options, state, i, holder, slot, hidden, bool(touched >> slot & 1))
        for slot in range(int(state.held[i, holder]))
    )


def _card(
    options: HanabiOptions, state: State, i: int, holder: int, slot: int, hidden: bool, touched: bool
) -> SeenCard:
    colors = _members(int(state.colors[i, holder, slot]), options.colors)
    ranks = _members(int(state.ranks[i, holder, slot]), options.ranks)
    flags = int(state.hinted[i, holder, slot])
    return SeenCard(
        card=None if hidden else divmod(int(state.hands[i, holder, slot]), options.ranks),
        colors=colors,
        ranks=ranks,
        told_color=colors.index(True) if flags & at.COLOR_KNOWN else None,
        told_rank=ranks.index(True) if flags & at.RANK_KNOWN else None,
        touched=touched,
    )


def _members(bits: int, size: int) -> tuple[bool, ...]:
    return tuple(bool(bits >> k & 1) for k in range(size))


def last_move(options: HanabiOptions, state: State, i: int) -> str:
    """The last move of game `i` in words, with the card that it revealed; "" before the first."""
    last = [int(value) for value in state.last[i]]
    if last[at.KIND] == at.NO_MOVE:
        return ""
    who = f"seat {last[at.ACTOR]}"
    if last[at.KIND] in (at.PLAY, at.DISCARD):
        color, rank = divmod(last[at.CARD], options.ranks)
        verb = "discarded" if last[at.KIND] == at.DISCARD else "played" if last[at.SCORED] else "misplayed"
        result = ", a hint is back" if last[at.TOKEN] else ", a life is lost" if verb == "misplayed" else ""
        return f"{who} {verb} {LETTERS[color]}{rank + 1} from slot {last[at.SLOT] + 1}{result}"
    value = COLOR_NAMES[last[at.VALUE]] if last[at.KIND] == at.HINT_COLOR else f"rank {last[at.VALUE] + 1}"
    slots = [str(slot + 1) for slot in range(options.hand_size) if last[at.TOUCHED] >> slot & 1]
    return f"{who} told seat {last[at.TARGET]} {value}: slot{'s' if len(slots) > 1 else ''} {', '.join(slots)}"
