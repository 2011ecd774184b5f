"""Texas 42 for language models: what a seat may know in plain words, and the names of actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ludory.envs import State, TextCodec, decoder_of_names
from ludory.envs.texas42.sight import Texas42Sight, look

from .options import Texas42Rules
from .pictures.wording import PHASES
from .rules import legal
from .state import FIXED, FORMAT, PLAYING
from .tiles import COUNT, LED, TILE_NAMES, tiles_of
from .trick import playable

_playable = getattr(playable, "py_func", playable)
_legal = getattr(legal, "py_func", legal)

PLAY_RULES = (
    "You are playing Texas 42, a game of tricks with 28 dominoes for two teams: seats 0 and 2 against seats 1 and 3. "
    "Each player holds seven dominoes, named by their pips, such as 6-4. Seven tricks of four dominoes are played.\n"
    "The domino led decides the suit: its higher end, or trumps if it is a trump. You must follow suit if you can; otherwise play "
    "any domino. The highest trump wins the trick, else the highest domino of the suit led; the double is the highest of its suit. "
    "A trick is worth 1 point, and its dominoes 5-5 and 6-4 are worth 10, 5-0, 4-1 and 3-2 are worth 5: 42 points in all. "
    "The bidder's team makes the contract if it gets the points that were bid; a bid of marks needs all 42.\n"
    '"play 6-4" plays a domino.'
)
AUCTION_RULES = (
    "\nBefore that, each player once bids more than the highest bid so far, or passes: "
    '"pass", "bid 30" to "bid 41" points, "bid 1 mark", "bid 2 marks" and so on. '
    'The highest bidder names trumps: "declare sixes" (or fives, fours, treys, deuces, aces, blanks), "declare doubles" '
    '(doubles are trumps), "declare follow me" (no trumps), and leads. '
    "The team that makes its contract, or stops that of the others, wins the marks: one, or as many as were bid."
)


def codec(action_name: Callable[[int, int], str], actions: int, rules: Texas42Rules | None) -> TextCodec:
    """The game in words; `actions` is their number; rules: of a game with an auction, None for a fixed contract."""
    return TextCodec(
        instruction="".join([PLAY_RULES, *([AUCTION_RULES, *_house_rules(rules)] if rules else [])]),
        encode=lambda state, i, seat: write(state, i, seat, action_name, actions),
        decode=decoder_of_names(action_name, actions),
    )


def _house_rules(rules: Texas42Rules) -> Iterator[str]:
    """What `rules` add to straight 42, a line each."""
    if rules.nello:
        forms = " or ".join(f'"declare nello {form}"' for form in rules.nello)
        yield (
            f"\nAfter a bid of marks, {forms} is allowed: there are no trumps, the bidder's partner sits out, and the bidder has to "
            "lose every trick. Doubles are the highest of their suits (high), the lowest (low), or a suit of their own (suit)."
        )
    if rules.sevens:
        yield (
            '\nAfter a bid of marks, "declare sevens" is allowed: everybody plays the domino whose pips are nearest to seven in sum, '
            "and the nearest wins."
        )
    if rules.plunge:
        yield '\n"plunge" is a bid of marks with at least four doubles; the partner names trumps and leads.'
    if rules.splash:
        yield '\n"splash" is a bid of two or three marks with at least three doubles; the partner names trumps and leads.'


def write(state: State, i: int, seat: int | None, action_name: Callable[[int, int], str], actions: int) -> str:
    """Game `i` as `seat` sees it; None: all hands are face up."""
    sight = look(state, i, seat)
    lines = [
        f"Seats 0 and 2 against seats 1 and 3: {', '.join(sight.scores)}.",
        f"Phase: {PHASES[int(state.phase[i])]}. Contract: {sight.contract or 'none yet'}.",
        *_bids(state, i, sight),
        *(line for chair in range(4) for line in _hand(sight, chair)),
        *(
            f"Trick {number}: {_plays(trick.plays)}; seat {trick.winner} won it, {trick.points} points."
            for number, trick in enumerate(sight.past, 1)
        ),
        *([f"This trick: {_plays(tuple(sight.trick.items()))}. Suit led: {sight.led}."] if sight.trick else []),
        f"Last move: {sight.last or 'none yet'}.",
        _turn(state, i, sight, action_name, actions),
    ]
    return "\n".join(lines)


def _plays(plays: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"seat {chair} {TILE_NAMES[tile]}" for chair, tile in plays)


def _bids(state: State, i: int, sight: Texas42Sight) -> Iterator[str]:
    if int(state.setup[i, FORMAT]) != FIXED:
        said = [f"seat {chair} {words}" for chair, words in enumerate(sight.bids) if words]
        yield f"Seat {sight.shaker} bids last. Bids: {', '.join(said) or 'none yet'}."


def _hand(sight: Texas42Sight, chair: int) -> Iterator[str]:
    hand, sits_out = sight.hands[chair], " It sits out." if sight.sits_out == chair else ""
    lacks = f" It has no {', no '.join(sight.voids[chair])}." if sight.voids[chair] else ""
    if hand is None:
        relation = sight.relation(chair).strip()
        who = {"mate": "your partner", "left": "on your left", "right": "on your right"}[relation]
        yield f"Seat {chair} ({who}) holds {sight.sizes[chair]} dominoes.{lacks}{sits_out}"
        return
    tiles = ", ".join(
        f"{TILE_NAMES[tile]}{' (10)' if COUNT[tile] == 10 else ' (5)' if COUNT[tile] else ''}"
        for tile in tiles_of(hand)
    )
    holder = f"You are seat {chair} and hold" if sight.seat == chair else f"Seat {chair} holds"
    yield f"{holder}: {tiles or 'nothing'}."


def _turn(state: State, i: int, sight: Texas42Sight, action_name: Callable[[int, int], str], actions: int) -> str:
    if sight.to_move is None:
        return "The game is over."
    if sight.to_move != sight.seat:
        return f"Seat {sight.to_move} is to move."
    if int(state.phase[i]) != PLAYING:
        mask = np.zeros(actions, np.bool_)
        _legal(state, i, sight.seat, mask)
        names = [action_name(0, action) for action in np.flatnonzero(mask).tolist()]
        what = "bid" if PHASES[int(state.phase[i])] == "auction" else "declare"
        return f"It is your turn to {what}. You may: {', '.join(names)}."
    decl, held = int(state.decl[i]), int(state.held[i, sight.seat])
    led = int(LED[decl, int(state.trick[i, 0])]) if int(state.trick_len[i]) else -1
    tiles = tiles_of(int(_playable(decl, held, led)))
    return f"It is your turn. You may: {', '.join(f'play {TILE_NAMES[tile]}' for tile in tiles)}."
