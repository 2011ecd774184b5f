"""A table of hanab.live in plain Python: its rules by orders of cards, the JSON of its games, and the messages that it sends to a player."""

from __future__ import annotations

from typing import Any

import numpy as np

VARIANTS = {5: "No Variant", 4: "4 Suits", 3: "3 Suits"}


class SiteTable:
    """A game that is played by actions as clients of the site send them: `{"type", "target", "value"}`.

    Args:
        players: their number.
        seed: of the deck.
        suits: 3 to 5.
        deck: (suit, rank) from the top; None draws one.
        first: the player that moves first.
    """

    def __init__(
        self, players: int, seed: int = 0, suits: int = 5, deck: list[tuple[int, int]] | None = None, first: int = 0
    ) -> None:
        whole = [
            (suit, rank)
            for suit in range(suits)
            for rank, many in zip(range(1, 6), (3, 2, 2, 2, 1), strict=True)
            for _ in range(many)
        ]
        self.players, self.suits, self.first = players, suits, first
        self.deck = deck or [whole[k] for k in np.random.default_rng(seed).permutation(len(whole))]
        self.hands: list[list[int]] = [[] for _ in range(players)]
        self.top, self.clues, self.strikes, self.stacks = 0, 8, 0, [0] * suits
        self.turn, self.last_turn, self.end = 0, None, 0
        self.actions: list[dict[str, int]] = []
        self.log: list[dict[str, Any]] = []
        """Messages of what happened, with all cards."""
        for hand in range(players):
            for _ in range(5 if players < 4 else 4):
                self._draw(hand)

    @property
    def mover(self) -> int:
        return (self.first + self.turn) % self.players

    @property
    def score(self) -> int:
        return 0 if self.strikes == 3 else sum(self.stacks)

    def legal(self) -> list[dict[str, int]]:
        """All actions of the player to move."""
        found = [{"type": 0, "target": order, "value": 0} for order in self.hands[self.mover]]
        if self.clues < 8:
            found += [{"type": 1, "target": order, "value": 0} for order in self.hands[self.mover]]
        if self.clues:
            for other in range(self.players):
                if other != self.mover:
                    cards = [self.deck[order] for order in self.hands[other]]
                    found += [
                        {"type": 2, "target": other, "value": suit} for suit in sorted({suit for suit, _ in cards})
                    ]
                    found += [
                        {"type": 3, "target": other, "value": rank} for rank in sorted({rank for _, rank in cards})
                    ]
        return found

    def act(self, action: dict[str, int]) -> None:
        """Play an action of the player to move."""
        assert not self.end
        action = {"type": action["type"], "target": action["target"], "value": action.get("value", 0)}
        assert action in self.legal(), action
        self.actions.append(action)
        mover = self.mover
        if action["type"] >= 2:
            self._clue(action)
        else:
            self._use(action)
            if self.top < len(self.deck):
                self._draw(mover)
                if self.top == len(self.deck):
                    self.last_turn = self.turn + self.players + 1
        self.turn += 1
        self._status()
        if self.strikes == 3:
            self.end = 2
        elif sum(self.stacks) == 5 * self.suits or self.turn == self.last_turn:
            self.end = 1
        if self.end:
            self.log.append({"type": "gameOver", "endCondition": self.end, "playerIndex": -1, "votes": None})
        self.log.append({"type": "turn", "num": self.turn, "currentPlayerIndex": -1 if self.end else self.mover})

    def as_json(self, **more: Any) -> dict[str, Any]:
        """The game as the site exports it."""
        return {
            "players": [f"player {seat}" for seat in range(self.players)],
            "deck": [{"suitIndex": suit, "rank": rank} for suit, rank in self.deck],
            "actions": list(self.actions),
            "options": {"variant": VARIANTS[self.suits], **({"startingPlayer": self.first} if self.first else {})},
            **more,
        }

    def messages(self, seat: int, since: int = 0) -> list[dict[str, Any]]:
        """What a player is told, from message `since` on: not the cards that it draws."""
        hidden = {"suitIndex": -1, "rank": -1}
        return [
            one | hidden if one["type"] == "draw" and one["playerIndex"] == seat else dict(one)
            for one in self.log[since:]
        ]

    def _card(self, order: int) -> dict[str, int]:
        return {"order": order, "suitIndex": self.deck[order][0], "rank": self.deck[order][1]}

    def _draw(self, hand: int) -> None:
        self.hands[hand].append(self.top)
        self.log.append({"type": "draw", "playerIndex": hand, **self._card(self.top)})
        self.top += 1

    def _use(self, action: dict[str, int]) -> None:
        order, told = action["target"], {"playerIndex": self.mover, **self._card(action["target"])}
        suit, rank = self.deck[order]
        self.hands[self.mover].remove(order)
        if action["type"] == 1:
            self.clues += 1
            self.log.append({"type": "discard", **told, "failed": False})
        elif self.stacks[suit] == rank - 1:
            self.stacks[suit] = rank
            self.clues = min(8, self.clues + (rank == 5))
            self.log.append({"type": "play", **told})
        else:
            self.strikes += 1
            self.log.append({"type": "strike", "num": self.strikes, "turn": self.turn, "order": order})
            self.log.append({"type": "discard", **told, "failed": True})

    def _clue(self, action: dict[str, int]) -> None:
        self.clues -= 1
        part = 0 if action["type"] == 2 else 1
        touched = [order for order in self.hands[action["target"]] if self.deck[order][part] == action["value"]]
        clue = {"type": action["type"] - 2, "value": action["value"]}
        told = {"giver": self.mover, "list": touched, "target": action["target"], "turn": self.turn}
        self.log.append({"type": "clue", "clue": clue, **told})

    def _status(self) -> None:
        self.log.append({"type": "status", "clues": self.clues, "score": self.score, "maxScore": 5 * self.suits})


def random_game(
    players: int, seed: int, suits: int = 5, careful: float = 0.97, moves: int | None = None, first: int = 0
) -> SiteTable:
    """A game of random moves, most of which lose no life, so that some games reach their last round.

    Args:
        careful: how often a card that cannot be played is not.
        moves: stop after so many; None plays to the end.
        players, seed, suits, first: as for `SiteTable`.
    """
    table, chance = SiteTable(players, seed, suits, first=first), np.random.default_rng([seed, players, suits])
    while not table.end and (moves is None or len(table.actions) < moves):
        options = table.legal()
        if chance.random() < careful:
            sound = [one for one in options if one["type"] or _fits(table, one["target"])]
            # cards that fit are played more often than there are such moves
            best = [one for one in sound if one["type"] == 0]
            options = best if best and chance.random() < 0.5 else sound or options
        table.act(options[chance.integers(len(options))])
    return table


def _fits(table: SiteTable, order: int) -> bool:
    suit, rank = table.deck[order]
    return table.stacks[suit] == rank - 1
