"""Texas 42 in words: action names, the last move, and public facts."""

from __future__ import annotations

from typing import Any

from ludory.envs import FactNames, State
from ludory.envs.texas42 import state as at
from ludory.envs.texas42.tiles import DECLARATIONS, TILE_NAMES

PHASES = ("auction", "declaration", "play")
MOST_IN_TRICK = 3
"""Tiles that lie in a trick when a seat is to move."""


def action_name(head: int, action: int) -> str:
    """An action id in words: "pass", "bid 31", "bid 2 marks", "plunge", "declare fives", "play 6-4"."""
    if action == at.PASS:
        return "pass"
    if action < at.ONE_MARK:
        return f"bid {action - at.BID_30 + 30}"
    if action < at.PLUNGE:
        return f"bid {marks(action - at.ONE_MARK + 1)}"
    if action in (at.PLUNGE, at.SPLASH):
        return "plunge" if action == at.PLUNGE else "splash"
    if action < at.PLAY_0:
        return f"declare {DECLARATIONS[action - at.DECLARE_0]}"
    return f"play {TILE_NAMES[action - at.PLAY_0]}"


def tile_action_name(head: int, tile: int) -> str:
    """An action id of a fixed contract in words: "play 6-4"."""
    return f"play {TILE_NAMES[tile]}"


def marks(number: int) -> str:
    """A number of marks: "1 mark", "2 marks"."""
    return f"{number} mark{'' if number == 1 else 's'}"


def bid_words(bid: int) -> str:
    """A bid in words: "31", "2 marks"."""
    return marks(bid // 42) if bid >= 42 else str(bid)


def contract_words(state: State, i: int) -> str:
    """The contract, or the highest bid so far; "" before the first bid."""
    bid, decl = int(state.bid[i]), int(state.decl[i])
    if not bid:
        return ""
    kind = ("", " (plunge)", " (splash)")[int(state.kind[i])]
    declared = f", {DECLARATIONS[decl]}" if decl >= 0 else ""
    return f"seat {int(state.bidder[i])}: {bid_words(bid)}{kind}{declared}"


def last_move(state: State, i: int) -> str:
    """The last move of game i in words, with the trick and hand that it ended; "" before the first."""
    last = [int(value) for value in state.last[i]]
    if last[at.ACTION] < 0:
        return ""
    name = action_name(0, last[at.ACTION])
    verb, _, rest = name.partition(" ")
    past = {"pass": "passed", "bid": "bid", "plunge": "plunged", "splash": "splashed", "play": "played"}
    words = f"seat {last[at.ACTOR]} {past.get(verb, 'declared')}" + (f" {rest}" if rest else "")
    if last[at.WINNER] >= 0:
        points = f"{last[at.TRICK_POINTS]} point{'' if last[at.TRICK_POINTS] == 1 else 's'}"
        words += f"; seat {last[at.WINNER]} won the trick, {points}"
    return words + (f"; {result_words(last)}" if last[at.SETTLED] != at.NOT_OVER else "")


def result_words(last: list[int]) -> str:
    """How the hand ended, from the columns of `last`."""
    if last[at.SETTLED] == at.ALL_PASSED:
        return "all have passed"
    made = last[at.SETTLED] == at.MADE
    winners = (last[at.HAND_BIDDER] & 1) ^ (not made)
    verb = "made" if made else "was set on"
    return (
        f"seat {last[at.HAND_BIDDER]} {verb} {bid_words(last[at.HAND_BID])}: {marks(last[at.STAKE])} to Team {winners}"
    )


FACT_NAMES = {
    "phase": FactNames(PHASES),
    "bids": FactNames(tuple(action_name(0, action) for action in range(at.SPLASH + 1)), 4),
    "declaration": FactNames(DECLARATIONS),
    "trick": FactNames(TILE_NAMES, MOST_IN_TRICK),
}
"""Of the facts of `public_info`."""


def public_info(state: State, i: int) -> dict[str, Any]:
    """Public facts of game i; `points`, `tricks` and `marks` are those of Team 0 and Team 1."""
    last = [int(value) for value in state.last[i]]
    decl = int(state.decl[i])
    info: dict[str, Any] = {
        "phase": PHASES[int(state.phase[i])],
        "shaker": int(state.shaker[i]),
        "bids": [action_name(0, int(bid)) if bid >= 0 else None for bid in state.bids[i]],
        "bid": int(state.bid[i]),
        "bidder": int(state.bidder[i]),
        "declaration": DECLARATIONS[decl] if decl >= 0 else None,
        "leader": int(state.leader[i]),
        "trick": [TILE_NAMES[int(tile)] for tile in state.trick[i][: int(state.trick_len[i])]],
        "points": state.points[i].tolist(),
        "tricks": state.tricks[i].tolist(),
    }
    if int(state.setup[i, at.FORMAT]) == at.WHOLE_MATCH:
        info["marks"] = state.marks[i].tolist()
        info["attempt"] = int(state.attempt[i])
    if last[at.ACTION] >= 0 and last[at.SETTLED] != at.NOT_OVER:
        info["result"] = result_words(last)
    return info
