"""What Hanabi agents do with a hint of a rank that touches several cards: how often the next move plays the newest of them, the oldest, ...

Agents that answer such hints differently lose their games together, whatever they make of colours:

    python examples/hint_habits.py hanabi/ppo hanabi/smartbot hanabi/iggi
"""

from __future__ import annotations

import sys
from collections import Counter

import ludory
from ludory.data import Playthrough

HAND = RANKS = 5
FIRST_PLAY, FIRST_HINT_OF_RANK = 5, 15
"""Numbers of the actions of `Hanabi2P-v0`: 5 discards, 5 plays, 5 hints of a colour, 5 of a rank."""
ANSWERS = ("newest", "oldest", "another of them", "an untouched card", "no card")
"""What the next move plays."""


def habits(name: str, games: int, seed: int = 1) -> Counter[str]:
    """How often each of `ANSWERS` follows a hint of a rank that touches several cards, in games of the agent with itself."""
    game = ludory.make_game("Hanabi2P-v0")
    agent, found = ludory.make_agent(name, game), Counter[str]()
    for index in range(games):
        played, touched = Playthrough(game, [agent, agent], seed, index), list[int]()
        for move in played:
            if len(touched) > 1:
                found[answer(move.action, touched)] += 1
            # the oldest card lies first; a hint leaves all cards where they are
            rank, hand = move.action - FIRST_HINT_OF_RANK, played.engine.state.hands[0, 1 - move.seat]
            touched = [k for k, card in enumerate(hand) if card >= 0 and card % RANKS == rank]
    return found


def answer(action: int, touched: list[int]) -> str:
    """Which of `ANSWERS` an action is."""
    card = action - FIRST_PLAY
    if not 0 <= card < HAND:
        return "no card"
    if card not in touched:
        return "an untouched card"
    return "newest" if card == touched[-1] else "oldest" if card == touched[0] else "another of them"


def main(names: list[str], games: int = 200) -> None:
    """Print a line for each agent."""
    for name in names:
        found = habits(name, games)
        shares = ", ".join(f"{100 * found[what] / max(1, found.total()):.0f} % {what}" for what in ANSWERS)
        print(f"{name}: {found.total()} hints in {games} games: {shares}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["hanabi/ppo", "hanabi/smartbot", "hanabi/iggi"])
