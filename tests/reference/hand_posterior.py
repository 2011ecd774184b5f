"""What a seat may hold, counted out: every hand it could have, each replayed as a whole game from the first deal."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np

from ludory.agents.agent import Agent
from ludory.agents.seat import SeatMove
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.game import Game
from ludory.envs.hanabi.rules import copies_of


class OwnDraws:
    """Which places of the deck a seat's cards came from, followed through the game."""

    def __init__(self, engine: KernelEngine, seat: int, i: int) -> None:
        hand = engine.state.hands.shape[2]
        self.seat, self.places = seat, list(range(seat * hand, (seat + 1) * hand))

    def watch(self, engine: KernelEngine, i: int, action: int) -> None:
        """Before the move `action` of this seat."""
        hand = engine.state.hands.shape[2]
        if action < 2 * hand:
            del self.places[action % hand]
            top = int(engine.state.deck_top[i])
            if top < engine.state.deck.shape[1]:
                self.places.append(top)


def posterior(
    game: Game, bot: Agent, engine: KernelEngine, i: int, draws: OwnDraws, history: list[SeatMove]
) -> dict[tuple[int, ...], int]:
    """Number of deals with each hand of the seat that agree with all it has seen, when the others play `bot`."""
    state, seat = engine.state, draws.seat
    deck, held = state.deck[i].tolist(), len(draws.places)
    unseen = seen_by_nobody(state, i, seat)
    deals = Counter(permutations(unseen, held))
    decks = np.array([with_hand(deck, unseen, draws.places, hand, int(state.deck_top[i])) for hand in deals], np.uint8)
    agree = agreeing(game, bot, engine, i, seat, decks, history)
    return {hand: count for (hand, count), fits in zip(deals.items(), agree, strict=True) if fits}


def seen_by_nobody(state: Any, i: int, seat: int) -> list[int]:
    """All copies that are neither on a stack, nor discarded, nor in another hand."""
    ranks = state.discards.shape[1] // state.fireworks.shape[1]
    left = Counter({card: copies_of.py_func(card % ranks, ranks) for card in range(state.discards.shape[1])})
    left.subtract({card: int(n) for card, n in enumerate(state.discards[i])})
    left.subtract(color * ranks + rank for color, height in enumerate(state.fireworks[i]) for rank in range(height))
    for other, hand in enumerate(state.hands[i].tolist()):
        left.subtract(card for card in hand if card >= 0 and other != seat)
    return sorted(left.elements())


def with_hand(deck: list[int], unseen: list[int], places: list[int], hand: tuple[int, ...], top: int) -> list[int]:
    """The deck from which the game would have been dealt with this hand."""
    rest = list((Counter(unseen) - Counter(hand)).elements())
    changed = list(deck)
    for place, card in zip(places, hand, strict=True):
        changed[place] = card
    changed[top:] = rest
    return changed


def agreeing(
    game: Game, bot: Agent, engine: KernelEngine, i: int, seat: int, decks: np.ndarray, history: list[SeatMove]
) -> np.ndarray:
    """Which decks lead through the same moves of the others, and show the seat the same."""
    replayed = KernelEngine(game, len(decks), seed=0)
    replayed.reset(options={"deck": decks})
    memories = [bot.initial_memory(len(decks)) for _ in range(game.facts.players)]
    agree = np.ones(len(decks), bool)
    for mover, action in history:
        agree &= replayed.legal()[:, action]
        rows = np.flatnonzero(agree)
        if mover != seat and len(rows):
            rows = rows[bot.choose(replayed, mover, rows, memories[mover]) == action]
            agree[:] = False
            agree[rows] = True
        actions = np.full(len(rows), action)
        for observer, memory in enumerate(memories):
            bot.notice(replayed, observer, rows, actions, memory)
        replayed.step(actions, rows=rows)
    for told in ("colors", "ranks"):
        agree &= (getattr(replayed.state, told)[:, seat] == getattr(engine.state, told)[i, seat]).all(axis=1)
    return agree
