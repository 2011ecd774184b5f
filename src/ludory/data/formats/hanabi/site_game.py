"""One game of hanab.live: the JSON object of the site with each of its fields checked, also as older versions of the site wrote it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ludory.data.formats.json_fields import FieldError, count, inner, is_count, items, mapping, text
from ludory.reading import shown

from .moves import COLOR_CLUE, DISCARD, PLAY, RANK_CLUE, RANKS, VARIANTS, SiteMove, TableSize

END, END_BY_VOTE = 4, 5
"""Types of actions that are no moves."""
ENDS = {3: "timeout", 4: "terminated", 5: "speedrun failed", 6: "idle", 10: "vote"}
"""Ends before the end by the rules, by the site's numbers."""
CUT = "cut"
"""The end of a game whose moves stop, without a reason."""
NOBODY = -1
"""In the place of a player."""
PLAIN_OPTIONS = (
    "variant",
    "variantName",
    "startingPlayer",
    "timed",
    "timeBase",
    "timePerTurn",
    "speedrun",
    "tableName",
    "numPlayers",
    "maxPlayers",
    "variantID",
)
"""Options under which the rules are ours."""
COPIES = (3, 2, 2, 2, 1)
MOST_NAME = 1000
MOST_TARGET = 1000
"""More than any order or player; what is allowed depends on the table."""
# types before April 2020, when clues were objects
OLD_CLUE, OLD_PLAY, OLD_DISCARD, OLD_DECK_PLAY, OLD_TIMEOUT, OLD_IDLE = range(6)
OLD_NAMES = {"clue": OLD_CLUE, "play": OLD_PLAY, "discard": OLD_DISCARD, "deckPlay": OLD_DECK_PLAY}


class OtherRulesError(FieldError):
    """A game of other rules than ours: not damaged, but never to be played by ours."""


@dataclass(frozen=True)
class SiteGame:
    """A game as it was recorded; its moves are not checked yet."""

    place: str
    """File, line and id, for errors."""
    sizes: TableSize
    deck: tuple[int, ...]
    """Cards in dealing order, 5 * suit + rank - 1."""
    moves: Sequence[SiteMove | int]
    """Moves of the site, or action ids of Ludory."""
    id: int | None = None
    names: tuple[str, ...] = ()
    first: int = 0
    """The seat that moves first."""
    end: str = CUT
    """One of `ENDS`; `CUT` also for a game that goes on to its end by the rules."""
    score: int | None = None
    """The score that was recorded, if any."""
    ended_by: int = NOBODY
    """The player who ended it, or whose time was up; `NOBODY`: none is named."""


def read_game(content: Mapping[str, Any], place: str) -> SiteGame:
    """Check a JSON object.

    Raises:
        OtherRulesError: a variant or an option under which the rules are not ours.
        FieldError: a field is wrong.
    """
    names = [text(name, f"players[{k}]") for k, name in enumerate(items(inner(content, "players"), "players"))]
    if not all(len(name) <= MOST_NAME for name in names):
        raise FieldError("players", f"a name of more than {MOST_NAME} letters", "shorter names")
    # the name of the variant, and who begins, stood elsewhere before December 2019 and April 2020
    old = {
        new: content[name]
        for name, new in (("variant", "variant"), ("firstPlayer", "startingPlayer"))
        if name in content
    }
    if content.get("characters"):
        raise OtherRulesError("characters", "detrimental characters", "left out: the rules are others with them")
    sizes, first = read_options(old | mapping(content.get("options") or {}, "options"), len(names))
    id, score = (content.get(name) for name in ("id", "score"))
    for name, wanted in (("notes", list), ("seed", str)):
        if not isinstance(content.get(name) or wanted(), wanted):
            raise FieldError(name, shown(content[name]), "a list" if wanted is list else "a text")
    moves, end, ended_by = _actions(content, sizes)
    return SiteGame(
        place,
        sizes,
        read_deck(items(inner(content, "deck"), "deck"), sizes),
        moves,
        None if id is None else count(id, "id"),
        tuple(names),
        first,
        end,
        None if score is None else count(score, "score", sizes.colors * RANKS),
        ended_by,
    )


def read_options(options: Mapping[str, Any], players: int) -> tuple[TableSize, int]:
    """The sizes of a table, and the seat that moves first.

    Raises:
        OtherRulesError: a variant or an option under which the rules are not ours.
        FieldError: an option has a wrong value.
    """
    # an option that is off changes no rule, also one that we do not know
    for name, value in options.items():
        if name not in PLAIN_OPTIONS and value:
            raise OtherRulesError(f"options.{name}", shown(value), "left out: the rules are others with it")
    if not 2 <= players <= 5:
        raise OtherRulesError("players", f"{players} players", "2 to 5")
    variant = text(options.get("variant", options.get("variantName", "No Variant")), "options.variant")
    if variant not in VARIANTS:
        raise OtherRulesError("options.variant", shown(variant), f"one of {', '.join(VARIANTS)}")
    first = options.get("startingPlayer", 0)
    if not is_count(first, players - 1):
        raise FieldError("startingPlayer", shown(first), f"a player 0..{players - 1}")
    return TableSize(players, VARIANTS[variant]), first


def read_deck(cards: Sequence[object], sizes: TableSize) -> tuple[int, ...]:
    """The cards, given as JSON objects with `suitIndex` (before July 2020 `suit`) and `rank`.

    Raises:
        FieldError: a card is wrong, or there are not the copies that a deck has.
    """
    deck = []  # as ids of ours: suits keep their order, whatever their colours are called
    for place, card in enumerate(cards):
        known = mapping(card, f"deck[{place}]")
        suit, rank = (known.get(name) for name in ("suitIndex", "rank"))
        suit = known.get("suit") if suit is None else suit
        if not is_count(suit, sizes.colors - 1) or not is_count(rank, RANKS) or not rank:
            got = f"suit {shown(suit)}, rank {shown(rank)}"
            raise FieldError(f"deck[{place}]", got, f"a suit 0..{sizes.colors - 1} and a rank 1..{RANKS}")
        deck.append(RANKS * suit + rank - 1)
    check_copies(deck, sizes)
    return tuple(deck)


def check_copies(deck: Sequence[int], sizes: TableSize) -> None:
    """Refuse a deck that is not whole.

    Raises:
        FieldError: names the first card of which there are too few or too many.
    """
    # the first card that is wrong says more than the number of all
    found = Counter(deck)
    for card in range(RANKS * sizes.colors):
        if found[card] != COPIES[card % RANKS]:
            suit, rank = divmod(card, RANKS)
            got = f"{len(deck)} cards, {found[card]} of them of suit {suit}, rank {rank + 1}"
            raise FieldError("deck", got, f"{sizes.colors * sum(COPIES)} cards, {COPIES[rank]} of them")


def _actions(content: Mapping[str, Any], sizes: TableSize) -> tuple[list[SiteMove | int], str, int]:
    """Moves, end, and who ended it."""
    listed = [
        mapping(one.get("action", one) if isinstance(one, dict) else one, f"actions[{place}]")
        for place, one in enumerate(items(inner(content, "actions"), "actions"))
    ]
    # clues of the two numberings cannot be confused; a game without one would say so by its starting player
    old = "firstPlayer" in content or any("clue" in one or isinstance(one.get("type"), str) for one in listed)
    moves: list[SiteMove | int] = []
    end, ended_by = CUT, NOBODY
    for place, one in enumerate(listed):
        field = f"actions[{place}]"
        if end != CUT:
            raise FieldError(field, f"an action after the end of the game ({end})", "left out")
        found = _old_action(one, field) if old else _action(one, field)
        if isinstance(found, str):
            end, player = found, one.get("target")
            # before April 2020 nobody was named
            ended_by = player if is_count(player, sizes.players - 1) and not old else NOBODY
        else:
            moves.append(found)
    return moves, end, ended_by


def _action(one: Mapping[str, Any], field: str) -> SiteMove | str:
    """A move, or why the game ends."""
    type = one.get("type")
    if not is_count(type, END_BY_VOTE):
        raise FieldError(f"{field}.type", shown(type), "0 play, 1 discard, 2 colour clue, 3 rank clue, 4 or 5 end")
    value = one.get("value")
    if type in (END, END_BY_VOTE):
        if not is_count(value) or value not in ENDS:
            known = ", ".join(f"{number} {name}" for number, name in ENDS.items())
            raise FieldError(f"{field}.value", shown(value), f"the reason of the end: {known}")
        return ENDS[value]
    target = count(inner(one, "target"), f"{field}.target", MOST_TARGET)
    if type in (PLAY, DISCARD):
        return SiteMove(type, target)
    return SiteMove(type, target, count(inner(one, "value"), f"{field}.value", MOST_TARGET))


def _old_action(one: Mapping[str, Any], field: str) -> SiteMove | str:
    type = one.get("type")
    number = OLD_NAMES.get(type) if isinstance(type, str) else type
    if not is_count(number, OLD_IDLE):
        raise FieldError(f"{field}.type", shown(type), "0 clue, 1 play, 2 discard, 4 or 5 end, as before April 2020")
    if number == OLD_DECK_PLAY:
        raise OtherRulesError(f"{field}.type", "a play from the deck", "left out: the rules are others with it")
    if number in (OLD_TIMEOUT, OLD_IDLE):
        return ENDS[3 if number == OLD_TIMEOUT else 6]
    target = count(inner(one, "target"), f"{field}.target", MOST_TARGET)
    if number != OLD_CLUE:
        return SiteMove(PLAY if number == OLD_PLAY else DISCARD, target)
    clue = mapping(inner(one, "clue"), f"{field}.clue")
    if not is_count(kind := clue.get("type"), 1):
        raise FieldError(f"{field}.clue.type", shown(kind), "0 rank or 1 colour, as before April 2020")
    value = count(inner(clue, "value"), f"{field}.clue.value", MOST_TARGET)
    return SiteMove(COLOR_CLUE if kind else RANK_CLUE, target, value)
