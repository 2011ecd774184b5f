"""Agents at tables of hanab.live: messages of the site in, actions of an agent out.

The site does not tell a player its own cards. They stand in the engine as some cards that the hints allow and that are left over: what a
seat observes does not depend on them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ludory.agents import Agent, make_agent
from ludory.checkpoints import read_header
from ludory.data.formats.hanabi.moves import COLOR_CLUE, DISCARD, PLAY, RANK_CLUE, RANKS, Hands, SiteMove
from ludory.data.formats.hanabi.site_game import COPIES, OtherRulesError, read_options
from ludory.data.formats.json_fields import FieldError, count, inner, items, mapping
from ludory.envs import make_engine, make_game, memory_of_new_games
from ludory.errors import DataError, IllegalActionError, LudoryError, OptionError
from ludory.plugins import agents
from ludory.plugins.spec import parse_spec
from ludory.reading import JsonError, parse_json, shown

__all__ = ["LiveClient", "LiveSeat"]

ONLY = np.zeros(1, np.int64)
"""The row of the only game of an engine."""


class LiveSeat:
    """An agent in one seat of a table.

    Args:
        agent: id with arguments, checkpoint or agent, as for `make_agent`.
        init: the site's message `init`.
        options: of the game, such as `observation="tactical"`.

    Raises:
        OptionError: the table is of other rules than ours, or the agent looks at its own cards.
        DataError: the message lacks something.
    """

    def __init__(self, agent: str | Agent, init: Mapping[str, Any], **options: Any) -> None:
        try:
            self.table = count(inner(init, "tableID"), "tableID")
            players = len(items(inner(init, "playerNames"), "playerNames"))
            self.sizes, self._first = read_options(mapping(init.get("options") or {}, "options"), players)
            self.seat = count(inner(init, "ourPlayerIndex"), "ourPlayerIndex", players - 1)
        except OtherRulesError as error:
            raise OptionError(
                f"table with {error.field} {error.got}: must be {error.wanted}; take another table"
            ) from error
        except FieldError as error:
            raise _refusal("init", error) from error
        id, own = self.sizes.game
        game = make_game(id, **own, **options)
        self.agent = make_agent(agent, game)
        if self.agent.privileged:
            raise OptionError(
                f"{self.agent.name} looks at its own cards, which the site does not tell; name another agent"
            )
        self.engine = make_engine(game, seed=self.table)
        self.over = False
        """Whether the site said that the game is over."""
        self._hands, self._memory = Hands(self.sizes), None
        self._known: dict[int, int] = {}
        """Cards by their order: those of others, and those that were uncovered."""
        self._drawn = 0
        self._begun = False
        """Whether all hands are dealt."""
        self._used: SiteMove | None = None
        """A play or discard that waits for what is drawn after it."""
        self._choice: int | None = None
        """What the agent chose in this turn."""

    def hear(self, told: Mapping[str, Any]) -> dict[str, int] | None:
        """Follow one thing that happened, the content of `gameAction`; returns the action to send when it tells that it is this seat's turn.

        Raises:
            DataError: it does not fit what was told before; ask the site for all of it again.
        """
        try:
            self._follow(told)
        except (FieldError, IllegalActionError) as error:
            raise _refusal(f"gameAction {shown(told.get('type'))}", error) from error
        return self.action() if told.get("type") == "turn" else None

    def catch_up(self, told: Sequence[Mapping[str, Any]]) -> dict[str, int] | None:
        """Follow all that happened before, the content of `gameActionList`; returns the action to send if it is this seat's turn."""
        for one in told:
            self.hear(one)
        return self.action()

    def action(self) -> dict[str, int] | None:
        """The content of the message `action` for the site; None unless it is this seat's turn."""
        if self.over or not self._begun or self._used or int(self.engine.to_move[0]) != self.seat:
            return None
        move = self._hands.move(self._chosen(), self.seat)
        return {"tableID": self.table, "type": move.type, "target": move.target, "value": move.value}

    def _chosen(self) -> int:
        """What the agent does in this turn; it is asked once."""
        if self._choice is None:
            self._choice = int(self.agent.choose(self.engine, self.seat, ONLY, self._memory)[0])
        return self._choice

    def _follow(self, told: Mapping[str, Any]) -> None:
        kind = told.get("type")
        if kind == "draw":
            self._draw(told)
        elif kind in ("play", "discard", "clue") and (not self._begun or self._used is not None):
            raise FieldError("type", f"{kind} before all cards are drawn", "draw")
        elif kind in ("play", "discard"):
            self._use(told)
        elif kind == "clue":
            self._clue(told)
        elif kind == "turn" and self._begun:
            mover = told.get("currentPlayerIndex")
            # a turn of nobody is that after the last one
            if mover not in (-1, int(self.engine.to_move[0])) or self._used is not None:
                raise FieldError(
                    "currentPlayerIndex", shown(mover), f"{int(self.engine.to_move[0])} by what was told before"
                )
        elif kind == "gameOver":
            self.over = True

    def _card(self, told: Mapping[str, Any]) -> int:
        suit = count(inner(told, "suitIndex"), "suitIndex", self.sizes.colors - 1)
        rank = count(inner(told, "rank"), "rank", RANKS)
        if not rank:
            raise FieldError("rank", "0", f"1..{RANKS}")
        return RANKS * suit + rank - 1

    def _use(self, told: Mapping[str, Any]) -> None:
        """A card is played or discarded; what it is, all see now."""
        order, card = count(inner(told, "order"), "order"), self._card(told)
        # a card that was played in vain is told as a discard
        played = told["type"] == "play" or told.get("failed") is True
        used = SiteMove(PLAY if played else DISCARD, order)
        self._hands.action(used, int(self.engine.to_move[0]))  # refuses cards of other hands
        if self._known.setdefault(order, card) != card:
            raise FieldError("order", f"{order} as another card than before", "the card that was drawn")
        self._used = used
        if self._drawn == self.engine.state.deck.shape[1]:
            self._move(used, {})

    def _draw(self, told: Mapping[str, Any]) -> None:
        order, holder = count(inner(told, "order"), "order"), count(inner(told, "playerIndex"), "playerIndex")
        if order != self._drawn:
            raise FieldError("order", f"{order}", f"{self._drawn}, the next card")
        if self._begun and self._used is None:
            raise FieldError("type", "a card drawn before one is used", "a play, a discard or a clue")
        wanted = int(self.engine.to_move[0]) if self._begun else order // self.sizes.hand
        if holder != wanted:
            raise FieldError("playerIndex", f"{holder}", f"{wanted}, who draws")
        if holder != self.seat:
            self._known[order] = self._card(told)
        self._drawn += 1
        if self._used is not None:
            self._move(self._used, {})
        elif self._drawn == self._hands.dealt:
            # nothing is known yet of the own cards
            deck = self._deck([self._every] * self.sizes.hand)
            self.engine.reset(options={"deck": deck, "start_player": self._first})
            self._memory = memory_of_new_games(self.agent, self.engine, self.seat, ONLY)
            self._begun = True

    def _clue(self, told: Mapping[str, Any]) -> None:
        target = count(inner(told, "target"), "target", self.sizes.players - 1)
        clue, touched = mapping(inner(told, "clue"), "clue"), items(inner(told, "list"), "list")
        kind, value = (count(inner(clue, name), f"clue.{name}", RANKS) for name in ("type", "value"))
        matching = {card for card in self._every if (card % RANKS + 1 if kind else card // RANKS) == value}
        told_now = {
            order: matching if order in touched else self._every - matching for order in self._hands.orders[target]
        }
        others = target != self.seat and [order for order, cards in told_now.items() if self._known[order] not in cards]
        if others:
            raise FieldError("list", shown(touched), f"the cards of player {target} that match")
        self._move(SiteMove(RANK_CLUE if kind else COLOR_CLUE, target, value), told_now)

    @property
    def _every(self) -> set[int]:
        return set(range(RANKS * self.sizes.colors))

    def _move(self, move: SiteMove, told_now: Mapping[int, set[int]]) -> None:
        """Play a move of the seat to move in the engine; `told_now` are the cards that a clue leaves open, by order."""
        self._place_hidden(told_now)
        seat, top = int(self.engine.to_move[0]), int(self.engine.state.deck_top[0])
        action = self._hands.action(move, seat)
        if seat == self.seat:
            self._chosen()  # also where it moved before we came: its memory follows
        self.agent.notice(self.engine, self.seat, ONLY, np.array([action]), self._memory)
        self.engine.step(np.array([action]))
        self._hands.play(action, seat, int(self.engine.state.deck_top[0]) > top)
        self._used = self._choice = None

    def _place_hidden(self, told_now: Mapping[int, set[int]]) -> None:
        """Put cards that fit all that is known, also what comes with the move, where the engine holds cards that this seat does not see."""
        # the engine computes from the hand whom a clue touches, and what a play is worth
        own, state = self._hands.orders[self.seat], self.engine.state
        open_cards = []
        for slot, order in enumerate(own):
            colors, ranks = int(state.colors[0, self.seat, slot]), int(state.ranks[0, self.seat, slot])
            by_clues = {card for card in self._every if colors >> card // RANKS & 1 and ranks >> card % RANKS & 1}
            open_cards.append(by_clues & told_now.get(order, self._every))
        deck = self._deck(open_cards)
        fields = {name: values.copy() for name, values in self.engine.fields().items()}
        fields["deck"][0] = deck
        fields["hands"][0, self.seat, : len(own)] = [deck[order] for order in own]
        self.engine.load_fields(fields)  # also computes anew what is legal

    def _deck(self, open_cards: Sequence[set[int]]) -> list[int]:
        """A deck with all known cards in their places, and one of `open_cards` for each slot of the own hand."""
        copies = Counter({card: COPIES[card % RANKS] for card in self._every})
        copies.subtract(self._known.values())
        own = [order for order in self._hands.orders[self.seat] if order not in self._known]
        slots = [cards for order, cards in zip(self._hands.orders[self.seat], open_cards, strict=True) if order in own]
        chosen = _cards_for(slots, copies) if min(copies.values()) >= 0 else None
        if chosen is None:
            raise FieldError("type", "cards and clues that no deck has", "what happened at this table")
        deck = self._known | dict(zip(own, chosen, strict=True))
        left = (copies - Counter(chosen)).elements()
        return [
            deck[order] if order in deck else next(left) for order in range(len(self._every) // RANKS * sum(COPIES))
        ]


def _cards_for(slots: Sequence[set[int]], copies: Mapping[int, int]) -> list[int] | None:
    """A card for each slot, with no more of each than there are copies; None if there is no way."""
    if not slots:
        return []
    # the slot with the fewest choices first: a dead end is then found soon
    first = min(range(len(slots)), key=lambda slot: len(slots[slot]))
    # sorted, so that a table is followed in the same way every time
    for card in sorted(slots[first]):
        if copies[card] > 0:
            others = _cards_for([*slots[:first], *slots[first + 1 :]], {**copies, card: copies[card] - 1})
            if others is not None:
                return [*others[:first], card, *others[first:]]
    return None


class LiveClient:
    """An agent at the tables that a user of the site joins: websocket messages in, websocket messages out.

    A message is a command, a space, and JSON. Signing in, and joining a table, are left to the program that holds the connection.

    Args:
        agent: id with arguments, or checkpoint; a new one is made for each table.
        options: of the game, such as `observation="tactical"`.

    Raises:
        UnknownIdError: there is no such agent.
        CheckpointError: there is no such file, or it is damaged.
    """

    def __init__(self, agent: str, **options: Any) -> None:
        # a wrong name is not to be found at the first table, whose players wait
        spec = parse_spec(agent)
        if spec.checkpoint:
            read_header(spec.name)
        else:
            agents.load(spec.name)
        self._agent, self._options = agent, options
        self.seats: dict[int, LiveSeat] = {}
        """Seats by the number of their table."""

    def answer(self, message: str) -> list[str]:
        """The messages to send after a message of the site; most have none.

        Raises:
            DataError: the message cannot be read, or does not fit those before it; messages of its table are then passed over until `init`.
            OptionError: a table of other rules than ours.
        """
        command, _, rest = message.partition(" ")
        if command not in ("tableStart", "init", "gameActionList", "gameAction"):
            return []
        try:
            content = mapping(parse_json(rest), command)
            table = count(inner(content, "tableID"), "tableID")
        except (FieldError, JsonError) as error:
            raise _refusal(command, error) from error
        try:
            return self._answer(command, table, content)
        except LudoryError:
            self.seats.pop(table, None)  # what it knows of the table is wrong
            raise
        except FieldError as error:
            raise _refusal(command, error) from error

    def _answer(self, command: str, table: int, content: Mapping[str, Any]) -> list[str]:
        if command == "tableStart":
            return [_message("getGameInfo1", {"tableID": table})]
        if command == "init":
            if content.get("replay") or content.get("spectating"):
                return []
            self.seats[table] = LiveSeat(self._agent, content, **self._options)
            return [_message("getGameInfo2", {"tableID": table})]
        if table not in self.seats:
            return []
        if command == "gameAction":
            action, first = self.seats[table].hear(mapping(inner(content, "action"), "action")), []
        else:
            told = [mapping(one, "list") for one in items(inner(content, "list"), "list")]
            action, first = self.seats[table].catch_up(told), [_message("loaded", {"tableID": table})]
        return [*first, *([_message("action", action)] if action else [])]


def _message(command: str, content: Mapping[str, int]) -> str:
    return f"{command} {json.dumps(content)}"


def _refusal(message: str, error: Exception) -> DataError:
    what = (
        f"field {error.field!r}: got {error.got}, must be {error.wanted}"
        if isinstance(error, FieldError)
        else f"{error}"
    )
    return DataError(f"message {message}: {what}; send getGameInfo1 to begin anew with this table")
