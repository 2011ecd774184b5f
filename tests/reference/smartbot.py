"""SmartBot in plain Python sets, sentence by sentence as written down: slow, obvious, and sharing nothing with the kernels."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from reference.hanabi_bots import COLOR, RANK, Position

Card = tuple[int, int]
YES, NO, MAYBE = "yes", "no", "maybe"


def answer(beliefs: set[Card], about: set[Card]) -> str:
    if not beliefs:
        return MAYBE
    return YES if beliefs <= about else NO if beliefs.isdisjoint(about) else MAYBE


def fraction(beliefs: set[Card], about: set[Card]) -> Fraction:
    return Fraction(len(beliefs & about), len(beliefs)) if beliefs else Fraction(1, 2)


def size(beliefs: set[Card]) -> int:
    return len(beliefs) or 10


def only_rank(beliefs: set[Card]) -> int | None:
    ranks = {rank for _, rank in beliefs}
    return ranks.pop() if len(ranks) == 1 else None


def newest_first(hand: list[Card]) -> range:
    return range(len(hand) - 1, -1, -1)


class Table:
    """A position, with the sets of cards that everybody sees."""

    def __init__(self, position: Position) -> None:
        self.at, options = position, position.options
        self.cards = set(position.discards)
        self.play = {card for card in self.cards if position.playable(card)}
        self.worth = {card for card in self.cards if position.worthless(card)}
        self.left = {card: options.copies[card[1]] - position.gone(card) for card in self.cards}
        self.val = {card for card in self.cards - self.worth if self.left[card] == 1}
        self.mover, self.players = position.me, options.players

    def after(self, seat: int, places: int = 1) -> int:
        return (seat + places) % self.players

    def hints(self) -> dict[int, tuple[int, int, int]]:
        """(target, COLOR or RANK, value) by action id."""
        found = {}
        for offset in range(1, self.players):
            for color in range(self.at.options.colors):
                found[self.at.tell(offset, COLOR, (color, 0))] = (self.after(self.mover, offset), COLOR, color)
            for rank in range(self.at.options.ranks):
                found[self.at.tell(offset, RANK, (0, rank))] = (self.after(self.mover, offset), RANK, rank)
        return found

    def named(self, kind: int, value: int) -> set[Card]:
        return {card for card in self.cards if card[0 if kind == COLOR else 1] == value}


class PlainSmartBot:
    """What one seat has in mind: for every slot at the table the cards that it may be."""

    def __init__(self, seat: int, position: Position) -> None:
        self.me = seat
        self.minds = [[set(position.discards) for _ in hand] for hand in position.hands]

    def settle(self, t: Table) -> None:
        while True:
            located = Counter(next(iter(k)) for hand in self.minds for k in hand if len(k) == 1)
            full = {card for card in t.cards if located[card] >= t.left[card]}
            changed = [k for hand in self.minds for k in hand if len(k) > 1 and k & full]
            for k in changed:
                k -= full
            if not changed:
                return

    def view(self, t: Table) -> list[set[Card]]:
        seen = Counter(card for p, hand in enumerate(t.at.hands) if p != self.me for card in hand)
        seen.update(next(iter(k)) for k in self.minds[self.me] if len(k) == 1)
        placed = {card for card in t.cards if seen[card] >= t.left[card]}
        return [k if len(k) == 1 else k - placed for k in self.minds[self.me]]

    def next_discard(self, t: Table, seat: int) -> int | None:
        hand = self.minds[seat]
        if any(answer(k, t.play) == YES or answer(k, t.worth) == YES for k in hand):
            return None
        spare = [slot for slot, k in enumerate(hand) if answer(k, t.val) != YES]
        return max(spare, key=lambda slot: fraction(hand[slot], t.worth), default=None)

    def may_be_valuable_as(self, t: Table, k: set[Card], rank: int) -> bool:
        return answer(k, t.val) == MAYBE and any(card[1] == rank for card in k & t.val)

    def best_hint(self, t: Table, target: int) -> tuple[int, int]:
        hand, minds = t.at.hands[target], self.minds[target]
        expected = self.next_discard(t, target) if target == t.after(self.me) else None
        barred = None
        if expected is not None and self.may_be_valuable_as(t, minds[expected], hand[expected][1]):
            barred = (RANK, hand[expected][1])
        best, best_fitness = -1, 0
        for action, (to, kind, value) in sorted(t.hints().items()):
            named = t.named(kind, value)
            if to != target or not named & set(hand) or (kind, value) == barred:
                continue
            after = [k & named if card in named else k - named for k, card in zip(minds, hand, strict=True)]
            open_slots = [s for s in newest_first(hand) if answer(minds[s], t.play) == MAYBE]
            reveals = any(answer(after[s], t.play) == YES for s in open_slots)
            verdicts = [hand[s] for s in open_slots if answer(after[s], t.play) == MAYBE and hand[s] in named]
            fitness = sum(map(size, minds)) - sum(map(size, after))
            if (reveals or (verdicts and verdicts[0] in t.play)) and fitness > best_fitness:
                best, best_fitness = action, fitness
        return best, best_fitness

    def to_play(self, t: Table) -> int | None:
        ranks, merits = t.at.options.ranks, {}
        for slot, (k, e) in enumerate(zip(self.minds[self.me], self.view(t), strict=True)):
            if answer(k, t.play) != NO and answer(e, t.play) == YES:
                rank = only_rank(e)
                merits[slot] = (ranks + 2 if rank is None else ranks - rank) + 100 * (answer(k, t.play) != YES)
        return max(merits, key=lambda slot: merits[slot], default=None)

    def to_gamble(self, t: Table) -> int | None:
        if t.at.deck_size > (3 if t.at.lives >= 3 else 1):
            return None
        chances = {s: fraction(e, t.play) for s, e in enumerate(self.view(t)) if answer(e, t.play) == MAYBE}
        return max(chances, key=lambda slot: (chances[slot], slot), default=None)

    def to_finesse(self, t: Table) -> int | None:
        for slot, k in enumerate(self.minds[self.me]):
            if len(k) == 1 and k <= t.play and not k <= t.val:
                others = [hand for p, hand in enumerate(t.at.hands) if p != self.me and hand]
                if sum({hand[-1]} == k for hand in others) == 1:
                    return slot
        return None

    def choose(self, t: Table) -> int:
        self.settle(t)
        x, following, mine = t.at, t.after(self.me), self.minds[self.me]
        for slot in (self.to_play(t), self.to_gamble(t)):
            if x.deck_size == 0 and slot is not None:
                return x.play(slot)
        expected = self.next_discard(t, following)
        if x.tokens and expected is not None and x.hands[following][expected] in t.val:
            hint, fitness = self.best_hint(t, following)
            return hint if fitness > 0 else x.tell(1, RANK, x.hands[following][expected])
        finesse = self.to_finesse(t)
        if x.can_discard and finesse is not None:
            return x.discard(finesse)
        if (surest := self.to_play(t)) is not None:
            return x.play(surest)
        hints = [self.best_hint(t, t.after(self.me, offset)) for offset in range(1, t.players)]
        best = max(hints, key=lambda hint: hint[1])
        if x.tokens and best[1] > 0:
            return best[0]
        if (gamble := self.to_gamble(t)) is not None:
            return x.play(gamble)
        if not x.can_discard:
            return self.tell_anything(t)
        eyes = self.view(t)
        dead = [
            s
            for s, k in enumerate(mine)
            if answer(k, t.worth) == YES or (answer(k, t.worth) == MAYBE and answer(eyes[s], t.worth) == YES)
        ]
        if dead:
            return x.discard(min(dead, key=lambda s: fraction(mine[s], t.worth)))
        if (own := self.next_discard(t, self.me)) is not None:
            return x.discard(own)
        if not mine:
            return self.tell_anything(t)
        return x.discard(max(range(len(mine)), key=lambda s: -1 if (r := only_rank(mine[s])) is None else r))

    def tell_anything(self, t: Table) -> int:
        """The seat before me first; where nothing can be told, play."""
        for offset in range(t.players - 1, 0, -1):
            hand = t.at.hands[t.after(self.me, offset)]
            if t.at.tokens and hand:
                return t.at.tell(offset, RANK, hand[0])
        return t.at.play(0)

    def notice(self, t: Table, action: int) -> None:
        self.settle(t)
        actor, following, h = t.mover, t.after(t.mover), t.at.options.hand_size
        if action >= 2 * h:
            self.notice_hint(t, *t.hints()[action])
            return
        self.not_warned(t, following)
        slot = action % h
        k = self.minds[actor][slot]
        if action < h and len(k) == 1 and k <= t.play:
            others = [p for p in range(t.players) if p not in (actor, self.me)]
            holders = [p for p in others if t.at.hands[p] and {t.at.hands[p][-1]} == k]
            holder = holders[0] if holders else self.me
            if holder != actor and self.minds[holder]:
                self.minds[holder][-1] &= k
        del self.minds[actor][slot]
        if t.at.deck_size:
            self.minds[actor].append(set(t.cards))

    def not_warned(self, t: Table, seat: int) -> None:
        expected = self.next_discard(t, seat)
        if t.at.deck_size > 0 and t.at.tokens > 0 and expected is not None:
            self.minds[seat][expected] -= t.val

    def notice_hint(self, t: Table, target: int, kind: int, value: int) -> None:
        following, hand, minds, named = t.after(t.mover), t.at.hands[target], self.minds[target], t.named(kind, value)
        explained = False
        if kind == RANK:
            d = self.next_discard(t, following)
            full = t.at.tokens == t.at.options.max_information_tokens
            explained = full and t.mover == t.after(target) and hand[0] in named
            warns = target == following and d is not None and hand[d] in named
            if not explained and warns and self.may_be_valuable_as(t, minds[d], value):
                minds[d] &= t.val
                explained = True
        identified, remembered = False, None
        for slot in newest_first(hand):
            was_open = answer(minds[slot], t.play) == MAYBE
            minds[slot] = minds[slot] & named if hand[slot] in named else minds[slot] - named
            now = answer(minds[slot], t.play)
            identified |= was_open and now == YES
            if was_open and now == MAYBE and hand[slot] in named and remembered is None:
                remembered = slot
        if not explained and not identified and remembered is not None:
            minds[remembered] &= t.play
        if target != following:
            self.not_warned(t, following)
