"""IGGI, Piers and CheatBot in plain Python, rule by rule as written down: slow, obvious, and sharing nothing with the kernels."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

from ludory.envs.hanabi import HanabiOptions

COLOR, RANK = 1, 2


class Position:
    """One game as the seat to move finds it; cards are (colour, rank) pairs."""

    def __init__(self, options: HanabiOptions, state: Any, i: int) -> None:
        self.options, self.me, ranks = options, int(state.to_move[i]), options.ranks
        self.heights = [int(height) for height in state.fireworks[i]]
        self.discards = {divmod(card, ranks): int(count) for card, count in enumerate(state.discards[i])}
        self.tokens, self.lives = int(state.tokens[i]), int(state.lives[i])
        self.deck_size = options.deck_size - int(state.deck_top[i])
        self.hands = [[divmod(int(c), ranks) for c in hand if c >= 0] for hand in state.hands[i]]
        self.flags = [[int(f) for f in hand] for hand in state.hinted[i]]
        self.plausible = [
            [
                [(c, r) for c, r in self.discards if state.colors[i, p, s] >> c & 1 and state.ranks[i, p, s] >> r & 1]
                for s in range(len(hand))
            ]
            for p, hand in enumerate(self.hands)
        ]
        self.others = [(offset, (self.me + offset) % options.players) for offset in range(1, options.players)]

    def gone(self, card: tuple[int, int]) -> int:
        return self.discards[card] + (card[1] < self.heights[card[0]])

    def playable(self, card: tuple[int, int]) -> bool:
        return card[1] == self.heights[card[0]]

    def worthless(self, card: tuple[int, int]) -> bool:
        color, rank = card
        between = range(self.heights[color], rank)
        return rank < self.heights[color] or any(self.gone((color, r)) == self.options.copies[r] for r in between)

    def possible(self, slot: int) -> Counter[tuple[int, int]]:
        seen = Counter(card for _, other in self.others for card in self.hands[other])
        left = {
            card: self.options.copies[card[1]] - self.gone(card) - seen[card] for card in self.plausible[self.me][slot]
        }
        return Counter({card: count for card, count in left.items() if count > 0})

    def chance(self, slot: int) -> Fraction:
        possible = self.possible(slot)
        return Fraction(sum(n for card, n in possible.items() if self.playable(card)), possible.total())

    @property
    def slots(self) -> range:
        return range(len(self.hands[self.me]))

    @property
    def can_discard(self) -> bool:
        return self.tokens < self.options.max_information_tokens

    def discard(self, slot: int) -> int:
        return slot

    def play(self, slot: int) -> int:
        return self.options.hand_size + slot

    def tell(self, offset: int, kind: int, card: tuple[int, int]) -> int:
        o = self.options
        if kind == COLOR:
            return 2 * o.hand_size + (offset - 1) * o.colors + card[0]
        return 2 * o.hand_size + (o.players - 1) * o.colors + (offset - 1) * o.ranks + card[1]


def play_if_certain(x: Position) -> int | None:
    for slot in x.slots:
        if x.flags[x.me][slot] == COLOR | RANK and x.playable(x.plausible[x.me][slot][0]):
            return x.play(slot)
    return None


def play_safe(x: Position) -> int | None:
    return next((x.play(slot) for slot in x.slots if x.chance(slot) == 1), None)


def play_probable(x: Position, least: Fraction) -> int | None:
    best = max(x.slots, key=x.chance)  # the first of the greatest
    return x.play(best) if x.chance(best) >= least else None


def tell_useful(x: Position) -> int | None:
    for offset, other in x.others if x.tokens else []:
        for card, flags in zip(x.hands[other], x.flags[other], strict=False):
            if x.playable(card) and not flags & RANK:
                return x.tell(offset, RANK, card)
            if x.playable(card) and not flags & COLOR:
                return x.tell(offset, COLOR, card)
    return None


def tell_dispensable(x: Position) -> int | None:
    for offset, other in x.others if x.tokens else []:
        for card, flags in zip(x.hands[other], x.flags[other], strict=False):
            color, rank = card
            if not flags & COLOR and x.heights[color] == x.options.ranks:
                return x.tell(offset, COLOR, card)
            if not flags & RANK and rank < min(x.heights):
                return x.tell(offset, RANK, card)
            if rank < x.heights[color] and flags in (COLOR, RANK):
                return x.tell(offset, RANK if flags == COLOR else COLOR, card)
    return None


def discard_or_tell(x: Position) -> int:
    if x.can_discard:
        return next((x.discard(slot) for slot in x.slots if all(map(x.worthless, x.possible(slot)))), x.discard(0))
    offset, following = x.others[0]
    return x.tell(offset, RANK, x.hands[following][0]) if x.tokens and x.hands[following] else x.play(0)


def first(*moves: int | None) -> int:
    return next(move for move in moves if move is not None)


def iggi(x: Position) -> int:
    return first(play_if_certain(x), play_safe(x), tell_useful(x), discard_or_tell(x))


def piers(x: Position) -> int:
    return first(
        play_probable(x, Fraction(1, 1000)) if x.deck_size == 0 and x.lives > 1 else None,
        play_safe(x),
        play_probable(x, Fraction(6, 10)) if x.lives > 1 else None,
        tell_useful(x),
        tell_dispensable(x) if x.tokens < 4 else None,
        discard_or_tell(x),
    )


def cheatbot(x: Position) -> int:
    mine, held = x.hands[x.me], Counter(card for hand in x.hands for card in hand)
    own = [(card[1], slot) for slot, card in enumerate(mine) if x.playable(card)]
    for _, other in x.others:
        opens = [(rank, slot) for rank, slot in own if (mine[slot][0], rank + 1) in x.hands[other]]
        if opens:
            return x.play(min(opens)[1])
    if own:
        return x.play(min(own)[1])

    def dispose() -> int | None:
        slot = next((s for s in x.slots if x.worthless(mine[s]) or mine.count(mine[s]) >= 2), None)
        if slot is None:
            return None
        return x.discard(slot) if x.can_discard else x.play(slot) if x.lives >= 2 else None

    def twin() -> int | None:
        return next((x.discard(s) for s in x.slots if held[mine[s]] >= 2), None) if x.can_discard else None

    def gap() -> int | None:
        spare = [s for s in x.slots if mine[s][1] < 4 and x.discards[mine[s]] != x.options.copies[mine[s][1]] - 1]
        far = max(spare, key=lambda s: mine[s][1] - x.heights[mine[s][0]], default=None)
        return x.discard(far) if x.can_discard and far is not None else None

    def wait() -> int | None:
        return x.tell(1, RANK, x.hands[x.others[0][1]][0]) if x.tokens else None

    rules = []
    if not any(map(x.playable, held)):
        stuck = not any(map(x.worthless, held)) and max(held.values()) < 2
        rules += [dispose, twin, *([gap] if stuck else [])]
    togo = 25 - sum(x.heights)
    hurry = togo >= x.deck_size + 1 or togo <= (0, 1, 2, 3, 4, 5, 8, 25, 25)[x.tokens]
    rules += [wait, dispose, twin, gap] if hurry else [dispose, twin, wait, gap]
    highest = max(x.slots, key=lambda s: mine[s][1])
    return first(*(rule() for rule in rules), x.discard(highest))


PLAIN = {"hanabi/iggi": iggi, "hanabi/piers": piers, "hanabi/cheatbot": cheatbot}
