"""Hanabi written a second time, slowly and obviously, from the rules: the reference for what the golden games do not cover."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from ludory.envs.hanabi import HanabiOptions


@dataclass
class Card:
    """A card in a hand, and what its owner was told."""

    color: int
    rank: int
    colors: set[int]
    ranks: set[int]
    color_told: bool = False
    rank_told: bool = False


@dataclass
class Move:
    """The last move, for the observation."""

    actor: int
    action: int
    kind: int  # 0 play, 1 discard, 2 hint colour, 3 hint rank
    target: int = -1
    value: int = -1
    touched: tuple[int, ...] = ()
    slot: int = -1
    card: int = -1
    scored: bool = False
    token: bool = False


@dataclass
class PlainHanabi:
    """One game from a given deck."""

    options: HanabiOptions
    deck: list[int]
    to_move: int = 0
    end: str = ""
    turns: int = 0
    last: Move | None = None
    hands: list[list[Card]] = field(default_factory=list)

    def __post_init__(self) -> None:
        o = self.options
        self.deck = list(self.deck)
        self.tokens, self.lives, self.turns_left = o.max_information_tokens, o.max_life_tokens, o.players
        self.stacks = [0] * o.colors
        self.discards = [0] * (o.colors * o.ranks)
        self.hands = [[] for _ in range(o.players)]
        for seat in range(o.players):
            for _ in range(o.hand_size):
                self.draw(seat)

    def draw(self, seat: int) -> None:
        o = self.options
        color, rank = divmod(self.deck.pop(0), o.ranks)
        self.hands[seat].append(Card(color, rank, set(range(o.colors)), set(range(o.ranks))))

    @property
    def score(self) -> int:
        bombed = self.lives == 0 and self.options.bomb == "zero"
        return 0 if bombed else sum(self.stacks)

    def hints(self) -> dict[int, tuple[int, bool, int]]:
        """(target, by colour, value) of every hint id."""
        o, at, found = self.options, 2 * self.options.hand_size, {}
        for by_color, size in ((True, o.colors), (False, o.ranks)):
            for offset in range(1, o.players):
                for value in range(size):
                    found[at] = ((self.to_move + offset) % o.players, by_color, value)
                    at += 1
        return found

    def matching(self, target: int, by_color: bool, value: int) -> tuple[int, ...]:
        hand = self.hands[target]
        return tuple(k for k, card in enumerate(hand) if (card.color if by_color else card.rank) == value)

    def legal(self) -> set[int]:
        o, held = self.options, len(self.hands[self.to_move])
        discards = set(range(held)) if self.tokens < o.max_information_tokens else set()
        plays = {o.hand_size + slot for slot in range(held)}
        hints = {a for a, hint in self.hints().items() if self.tokens > 0 and self.matching(*hint)}
        return discards | plays | hints

    def play(self, action: int) -> int:
        """Play a legal id; returns the reward."""
        o, seat, before = self.options, self.to_move, self.score
        if not self.deck:
            self.turns_left -= 1
        if action in (hints := self.hints()):
            self.hint(action, *hints[action])
        else:
            self.use_card(action)
        if self.lives == 0:
            self.end = "bomb"
        elif sum(self.stacks) == o.colors * o.ranks:
            self.end = "perfect"
        elif self.turns_left <= 0:
            self.end = "deck"
        if action < 2 * o.hand_size and self.deck and (not self.end or o.terminal_deal):
            self.draw(seat)
        self.turns += 1
        self.to_move = (seat + 1) % o.players
        return self.score - before

    def hint(self, action: int, target: int, by_color: bool, value: int) -> None:
        self.tokens -= 1
        touched = self.matching(target, by_color, value)
        for k, card in enumerate(self.hands[target]):
            plausible = card.colors if by_color else card.ranks
            if k not in touched:
                plausible.discard(value)
                continue
            plausible &= {value}
            card.color_told |= by_color
            card.rank_told |= not by_color
        self.last = Move(self.to_move, action, 2 if by_color else 3, target, value, touched)

    def use_card(self, action: int) -> None:
        o = self.options
        plays, slot = action >= o.hand_size, action % o.hand_size
        card = self.hands[self.to_move].pop(slot)
        number = card.color * o.ranks + card.rank
        self.last = Move(self.to_move, action, 0 if plays else 1, slot=slot, card=number)
        if plays and card.rank == self.stacks[card.color]:
            self.stacks[card.color] += 1
            self.last.scored = True
            self.last.token = card.rank == o.ranks - 1 and self.tokens < o.max_information_tokens
            self.tokens += self.last.token
            return
        self.discards[number] += 1
        if plays:
            self.lives -= 1
        elif self.tokens < o.max_information_tokens:
            self.tokens += 1

    def observation(self, seat: int) -> list[float]:
        """What `seat` sees, in the variant of the options."""
        o = self.options
        order = [(seat + offset) % o.players for offset in range(o.players)]
        parts = [self.shown(other) for other in order[1:]]
        parts.append([float(len(self.hands[other]) < o.hand_size) for other in order])
        parts.append(thermometer(len(self.deck), o.deck_size - o.players * o.hand_size))
        parts += [one_hot(height - 1, o.ranks) for height in self.stacks]
        parts.append(thermometer(self.tokens, o.max_information_tokens))
        parts.append(thermometer(self.lives, o.max_life_tokens))
        parts += [thermometer(gone, o.copies[card % o.ranks]) for card, gone in enumerate(self.discards)]
        parts.append(self.last_move(seat))
        if o.observation != "minimal":
            parts += [self.knowledge(other, slot) for other in order for slot in range(o.hand_size)]
        if o.observation == "tactical":
            parts.append(self.tactical(seat, order))
        return [entry for part in parts for entry in part]

    def shown(self, seat: int) -> list[float]:
        o = self.options
        cards = [card.color * o.ranks + card.rank for card in self.hands[seat]]
        slots = cards + [-1] * (o.hand_size - len(cards))
        return [entry for card in slots for entry in one_hot(card, o.colors * o.ranks)]

    def last_move(self, seat: int) -> list[float]:
        o, m = self.options, self.last or Move(-1, -1, -1)
        relative = [-1 if who < 0 else (who - seat) % o.players for who in (m.actor, m.target)]
        touched = [float(slot in m.touched) for slot in range(o.hand_size)]
        return [
            *one_hot(relative[0], o.players),
            *one_hot(m.kind, 4),
            *one_hot(relative[1], o.players),
            *one_hot(m.value if m.kind == 2 else -1, o.colors),
            *one_hot(m.value if m.kind == 3 else -1, o.ranks),
            *touched,
            *one_hot(m.slot, o.hand_size),
            *one_hot(m.card, o.colors * o.ranks),
            float(m.scored),
            float(m.token),
        ]

    def knowledge(self, seat: int, slot: int) -> list[float]:
        o = self.options
        if slot >= len(self.hands[seat]):
            return [0.0] * (o.colors * o.ranks + o.colors + o.ranks)
        card = self.hands[seat][slot]
        if o.observation == "seer":
            card = Card(card.color, card.rank, {card.color}, {card.rank}, True, True)
        plausible = [float(c in card.colors and r in card.ranks) for c in range(o.colors) for r in range(o.ranks)]
        if o.observation == "v0_belief":
            plausible = self.belief(plausible)
        told_color = one_hot(card.color if card.color_told else -1, o.colors)
        told_rank = one_hot(card.rank if card.rank_told else -1, o.ranks)
        return plausible + told_color + told_rank

    def tactical(self, seat: int, order: list[int]) -> list[float]:
        """What a player works out: the cards as sets and fractions, one at a time."""
        o = self.options
        every = [(color, rank) for color in range(o.colors) for rank in range(o.ranks)]
        left = {
            (color, rank): o.copies[rank] - self.discards[color * o.ranks + rank] - (self.stacks[color] > rank)
            for color, rank in every
        }
        playable = {(color, height) for color, height in enumerate(self.stacks)}
        worthless = {
            (color, rank)
            for color, rank in every
            if rank < self.stacks[color] or any(not left[color, lower] for lower in range(self.stacks[color], rank))
        }
        critical = {card for card in every if left[card] == 1 and card not in worthless}
        bits = [float(card in playable) for card in every] + [float(card in worthless) for card in every]
        seen = [(card.color, card.rank) for other in order[1:] for card in self.hands[other]]
        for slot in range(o.hand_size):
            if slot >= len(self.hands[seat]):
                bits += [0.0] * 12
                continue
            card = self.hands[seat][slot]
            weights = {(c, r): left[c, r] - seen.count((c, r)) for c in card.colors for r in card.ranks}
            play, waste, last = (
                Fraction(sum(weights.get(one, 0) for one in kind), sum(weights.values()))
                for kind in (playable, worthless, critical)
            )
            bits += [float(play > 0), *(float(play >= Fraction(k, 5)) for k in (1, 2, 3, 4)), float(play == 1)]
            bits += [float(waste > 0), float(waste > Fraction(3, 10)), float(waste > Fraction(3, 5)), float(waste == 1)]
            bits += [float(last > 0), float(last > Fraction(3, 10))]
        for other in order[1:]:
            for slot in range(o.hand_size):
                if slot >= len(self.hands[other]):
                    bits += [0.0] * 4
                    continue
                card = self.hands[other][slot]
                here = (card.color, card.rank)
                open_ = {(c, r) for c in card.colors for r in card.ranks if left[c, r]}
                bits += [float(here in playable), float(here in worthless), float(here in critical)]
                bits += [float(open_ <= playable)]
        return bits

    def belief(self, plausible: list[float]) -> list[float]:
        """Each plausible card weighted by its copies that are neither discarded nor played."""
        o = self.options
        left = [
            o.copies[card % o.ranks] - self.discards[card] - (self.stacks[card // o.ranks] > card % o.ranks)
            for card in range(o.colors * o.ranks)
        ]
        weights = [k * n for k, n in zip(plausible, left, strict=True)]
        return [weight / sum(weights) for weight in weights]


def one_hot(value: int, size: int) -> list[float]:
    """All 0 for a negative value."""
    return [float(k == value) for k in range(size)]


def thermometer(value: int, size: int) -> list[float]:
    """The first `value` entries are 1."""
    return [float(k < value) for k in range(size)]
