"""`Texas42Sight`: what one seat may see of a game of Texas 42, as plain values. Both pictures are drawn from it alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ludory.envs import State
from ludory.envs.texas42.pictures.wording import action_name, contract_words, last_move

from .state import FORMAT, TARGET, WHOLE_MATCH
from .tiles import CALLED, COUNT, FOLLOW, LED, NELLO_HIGH, NELLO_LOW, RANK, SEVENS, SUIT_NAMES


@dataclass(frozen=True, slots=True)
class PastTrick:
    """A finished trick."""

    plays: tuple[tuple[int, int], ...]
    """(seat, tile) in the order played."""
    winner: int
    points: int


@dataclass(frozen=True, slots=True)
class Texas42Sight:
    """A game as `seat` sees it; None: all hands are face up."""

    seat: int | None
    to_move: int | None
    """None when the game is over."""
    title: str
    scores: tuple[str, ...]
    """Points and marks, in words."""
    contract: str
    led: str
    """The suit led, in words; "" between tricks."""
    hands: tuple[int | None, ...]
    """Mask of the tiles held, None if face down."""
    sizes: tuple[int, ...]
    bids: tuple[str, ...]
    """The bid of each seat, "" if it has not bid yet."""
    shaker: int
    """-1: nobody."""
    sits_out: int
    """-1: nobody."""
    voids: tuple[tuple[str, ...], ...]
    """Suits of which each seat is known to have no tiles."""
    trick: dict[int, int]
    """Tiles of the current trick by seat, in the order played."""
    past: tuple[PastTrick, ...]
    last: str
    """The last move in words, "" before the first."""

    def relation(self, chair: int) -> str:
        """Relation of a chair to the seat that looks."""
        if self.seat is None:
            return ""
        return (" you", " left", " mate", " right")[(chair - self.seat) % 4]


def look(state: State, i: int, seat: int | None) -> Texas42Sight:
    """Game `i` as `seat` sees it."""
    held = [int(mask) for mask in state.held[i]]
    decl, bidder = int(state.decl[i]), int(state.bidder[i])
    over = bool(state.terminated[i]) or bool(state.truncated[i])
    out = (bidder + 2) % 4 if NELLO_HIGH <= decl <= NELLO_LOW else -1
    played = int(state.plays[i]) - int(state.trick_len[i])
    return Texas42Sight(
        seat=seat,
        to_move=None if over else int(state.to_move[i]),
        title="Texas 42",
        scores=_scores(state, i),
        contract=contract_words(state, i),
        led=_led(state, i, decl),
        hands=tuple(mask if seat in (None, chair) else None for chair, mask in enumerate(held)),
        sizes=tuple(mask.bit_count() for mask in held),
        bids=tuple(_bid(state, i, chair) for chair in range(4)),
        shaker=int(state.shaker[i]),
        sits_out=out,
        voids=tuple(_voids(decl, int(mask)) for mask in state.cannot[i]),
        trick=_trick(state, i),
        past=past_tricks(
            decl, state.tiles[i, :played].tolist(), state.seats[i, :played].tolist(), 3 if out >= 0 else 4
        ),
        last=last_move(state, i),
    )


def _scores(state: State, i: int) -> tuple[str, ...]:
    points = f"points {int(state.points[i, 0])}-{int(state.points[i, 1])}"
    tricks = f"tricks {int(state.tricks[i, 0])}-{int(state.tricks[i, 1])}"
    if int(state.setup[i, FORMAT]) != WHOLE_MATCH:
        return points, tricks
    target = int(state.setup[i, TARGET])
    return points, tricks, f"marks {int(state.marks[i, 0])}-{int(state.marks[i, 1])} of {target}"


def _bid(state: State, i: int, chair: int) -> str:
    action = int(state.bids[i, chair])
    return action_name(0, action) if action >= 0 else ""


def suit_name(decl: int, suit: int) -> str:
    """Name of a suit under a declaration."""
    if suit < CALLED:
        return SUIT_NAMES[suit]
    return f"trumps ({SUIT_NAMES[decl]})" if decl < CALLED else "doubles" if decl != SEVENS else "nearest to seven"


def _led(state: State, i: int, decl: int) -> str:
    return suit_name(decl, int(LED[decl, int(state.trick[i, 0])])) if int(state.trick_len[i]) else ""


def _voids(decl: int, cannot: int) -> tuple[str, ...]:
    """Names of the suits whose tiles a seat cannot hold; none under sevens."""
    if decl < 0 or decl == SEVENS or not cannot:
        return ()
    suits = (suit for suit in range(8) if FOLLOW[decl, suit])
    return tuple(suit_name(decl, suit) for suit in suits if int(FOLLOW[decl, suit]) & ~cannot == 0)


def _trick(state: State, i: int) -> dict[int, int]:
    plays, length = int(state.plays[i]), int(state.trick_len[i])
    return {int(state.seats[i, k]): int(state.tiles[i, k]) for k in range(plays - length, plays)}


def past_tricks(decl: int, tiles: Sequence[int], seats: Sequence[int], size: int = 4) -> tuple[PastTrick, ...]:
    """The complete tricks of `size` tiles each among `tiles` played by `seats` in order; -1 ends them."""
    tricks = []
    for start in range(0, sum(tile >= 0 for tile in tiles) // size * size, size):
        plays = tuple((int(seats[k]), int(tiles[k])) for k in range(start, start + size))
        led = int(LED[decl, plays[0][1]])
        winner = max(plays, key=lambda play: int(RANK[decl, led, play[1]]))[0]  # the first of equals
        tricks.append(PastTrick(plays, winner, 1 + sum(int(COUNT[tile]) for _, tile in plays)))
    return tuple(tricks)
