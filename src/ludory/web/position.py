"""`TablePosition`: the engine of a table, and what a seat sees of it: picture, moves in words, legal actions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.data.playthrough import ALL_SEATS, Narrator, PlayedMove
from ludory.envs import Engine, KernelEngine, first_legal, make_engine, make_game, on_host
from ludory.envs.pictures import svg_picture
from ludory.errors import OptionError

if TYPE_CHECKING:
    from .tables import GameTable

_DATA_ACTION = re.compile(r' data-action="([0-9a-z: ]*)"')


class LegalAction(NamedTuple):
    """A value of a head that is legal now."""

    head: int
    value: int
    name: str

    @property
    def code(self) -> str:
        """As in `data-action`: "HEAD:VALUE"."""
        return f"{self.head}:{self.value}"


def started_position(game: str, options: Mapping[str, Any], seed: int, plain_start: bool = False) -> TablePosition:
    """The first position of a game.

    Args:
        game: id of the game.
        options: of the game.
        seed: of its random draws.
        plain_start: whether it is played in plain Python until another process has compiled it; see `KernelEngine.plain_start`.

    Raises:
        OptionError: the game does not take these options, or its actions are continuous.
        UnknownIdError: the game is not installed.
    """
    engine = make_engine(make_game(game, **options), seed=seed, threads=1)
    if isinstance(engine, KernelEngine):
        engine.plain_start = plain_start
    engine.game.need("the browser", "heads")
    engine.reset()
    return TablePosition(engine)


class TablePosition:
    """A game at one position.

    Args:
        engine: one game that has just started.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine, self.game = engine, engine.game
        self.returns = np.zeros(self.game.facts.players)
        views: list[int | None] = [None, *range(self.game.facts.players)] if self.game.look.told_move else [None]
        self._narrators = {view: Narrator(self.game, view) for view in views}
        for narrator in self._narrators.values():
            narrator(self.engine, None)
        self._words: dict[int | None, list[str]] = {view: [] for view in views}
        self.last_action: dict[int, Any] = {}
        """The last action of each seat."""

    @property
    def ran_plain(self) -> bool:
        """Whether kernels of the game have run in plain Python, since they are not compiled yet."""
        return isinstance(self.engine, KernelEngine) and self.engine.ran_plain

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return int(on_host(self.engine.to_move)[0]) < 0

    def deciding(self) -> list[int]:
        """Seats that must choose now."""
        if self.over:
            return []
        if not self.game.facts.simultaneous:
            return [int(on_host(self.engine.to_move)[0])]
        return [int(seat) for seat in np.flatnonzero(on_host(self.engine.deciding)[0])]

    def play(self, seat: int, action: int | tuple[Any, ...]) -> None:
        """Play a move: seat and action as in `PlayedMove`."""
        self.engine.step(np.array(action, np.int64)[None])
        self.tell(seat, action)

    def tell(self, seat: int, action: int | tuple[Any, ...]) -> None:
        """Take in a move that the engine has made."""
        self.returns += on_host(self.engine.rewards)[0]
        move = PlayedMove(seat, action)
        for view, narrator in self._narrators.items():
            self._words[view].append(narrator(self.engine, move))
        if seat == ALL_SEATS and isinstance(action, tuple):
            self.last_action = dict(enumerate(action))
        else:
            self.last_action[seat] = action

    def follow(self, moves: Iterable[tuple[int, Any]]) -> None:
        """Play several moves."""
        for seat, action in moves:
            self.play(seat, action)

    def play_chosen(self, chosen: Mapping[int, Any]) -> tuple[int, Any]:
        """Play one move: what is `chosen` by the seats that decide, or the first legal move of a seat without a choice; returns it."""
        if self.game.facts.simultaneous:
            heads = {seat: action if isinstance(action, tuple) else (action,) for seat, action in chosen.items()}
            move: tuple[int, Any] = (ALL_SEATS, self.joint_action(heads))
        else:
            seat = self.deciding()[0]
            first = tuple(head[0].value for head in self.legal(seat))
            move = seat, chosen.get(seat, first if len(first) > 1 else first[0])
        self.play(*move)
        return move

    def words(self, view: int | None) -> list[str]:
        """All moves in words, as the seat `view` knows them."""
        return self._words.get(view, self._words[None])

    def mask(self, seat: int) -> NDArray[np.bool_]:
        """(A,) bool: what is legal for `seat`; all False if it does not have to choose."""
        masks = on_host(self.engine.legal())[0]
        if seat not in self.deciding():
            return np.zeros(self.game.facts.num_actions, bool)
        mask: NDArray[np.bool_] = masks[seat] if self.game.facts.simultaneous else masks
        return mask

    def legal(self, seat: int) -> list[list[LegalAction]]:
        """The legal values of each head."""
        parts = np.split(self.mask(seat), np.cumsum(self.game.facts.head_sizes)[:-1])
        named = self.game.look.action_name
        return [
            [LegalAction(head, int(value), named(head, int(value))) for value in np.flatnonzero(part)]
            for head, part in enumerate(parts)
        ]

    def illegal(self, seat: int, action: tuple[int, ...]) -> str:
        """Why `action` cannot be played; "" if it can."""
        sizes = self.game.facts.head_sizes
        if len(action) != len(sizes) or any(not 0 <= value < size for value, size in zip(action, sizes, strict=True)):
            return "That is no action of this game. Choose one of the buttons."
        mask, start = self.mask(seat), 0
        for head, (value, size) in enumerate(zip(action, sizes, strict=True)):
            if not mask[start + value]:
                return f"{self.game.look.action_name(head, value)} is not legal now. Choose one of the buttons."
            start += size
        return ""

    def joint_action(self, chosen: Mapping[int, tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
        """The action of all seats: seats that have nothing to choose play the only value of each head."""
        filled = first_legal(on_host(self.engine.legal())[0], self.game.facts)  # (P, H)
        for seat, action in chosen.items():
            filled[seat] = action
        return tuple(tuple(int(value) for value in row) for row in filled)

    def picture(self, view: int | None, legal: Iterable[LegalAction] = ()) -> str:
        """The SVG picture as the seat `view` sees it; elements that stand for a legal action can be clicked and focused."""
        return clickable(svg_picture(self.game, self.engine.state, 0, view), legal, len(self.game.facts.heads))


def clickable(picture: str, legal: Iterable[LegalAction], heads: int = 1) -> str:
    """An SVG picture in which only the elements that stand for a legal action can be clicked and focused."""
    names = {action.code: action.name for action in legal}
    joined = " or " if heads == 1 else " and "
    if names and heads > 1:
        names["send"] = "send"

    def marked(match: re.Match[str]) -> str:
        codes = [f"0:{code}" if code.isdecimal() else code for code in match[1].split()]
        allowed = [code for code in codes if code in names]
        if not allowed:
            return ""
        label = escape(joined.join(names[code] for code in allowed))
        return f' data-action="{" ".join(allowed)}" tabindex="0" role="button" aria-label="{label}"'

    drawn = _DATA_ACTION.sub(marked, picture)
    return drawn.replace('role="img"', 'role="group"', 1) if names else drawn  # an image has no buttons in it


def view_of(position: TablePosition, seat: int | None) -> int | None:
    """Whose view is shown to the person in `seat` (None: an onlooker): everything once the game is over or hides nothing.

    Raises:
        OptionError: an onlooker of a running game that hides something.
    """
    if position.over or not position.game.facts.hidden_information:
        return None
    if seat is None:
        raise OptionError(
            "This game hides cards, so only its players see it before its end. Open it by the link of your seat."
        )
    return seat


KEYS = "1234567890qwertyuiopasdfghjklzxcvbnm"
"""Keys of the first buttons."""
ARROWS = {"up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight"}


class MoveButton(NamedTuple):
    """A legal action as a button."""

    action: LegalAction
    key: str
    """Key that chooses it; "" if there are more actions than keys."""
    chosen: bool
    """In games with several heads: the value that is set at first."""


class HeadChoices(NamedTuple):
    """The legal values of one head."""

    name: str
    key: str
    """Key that goes to the next value."""
    axis: str
    """"x" or "y" if the arrow keys change this head, else ""."""
    choices: tuple[MoveButton, ...]


class TableBoard(NamedTuple):
    """What the page of a table shows to one seat, all of the same moment; the table itself may go on meanwhile."""

    version: int
    """That of the table."""
    problem: str
    taken_back: int
    """How often moves were taken back."""
    picture: str
    heads: tuple[HeadChoices, ...]
    """Empty if the seat has nothing to choose."""
    words: tuple[str, ...]
    """All moves."""
    turn: str
    scores: tuple[tuple[str, str], ...]
    """Name and return, by seat; one entry where all seats share."""
    over: bool
    everything: bool
    """Whether all cards may be seen, so that replays may be downloaded."""
    deciding: tuple[int, ...]


def board_of(position: TablePosition, table: GameTable, seat: int | None) -> TableBoard:
    """The board of `table` at `position` as the person in `seat` sees it; None: an onlooker. Whoever calls holds its lock."""
    view = view_of(position, seat)
    may_choose = seat is not None and seat not in table.chosen
    legal = position.legal(seat) if seat is not None and may_choose and seat in position.deciding() else []
    waiting = tuple(number for number in position.deciding() if number not in table.chosen)
    facts = position.game.facts
    return TableBoard(
        version=table.version,
        problem=table.problem,
        taken_back=len(table.taken_back),
        picture=position.picture(view, [action for head in legal for action in head]),
        heads=tuple(_head_choices(position, seat, legal)) if seat is not None else (),
        words=tuple(position.words(view)),
        turn=_turn(position, table, seat, waiting),
        scores=scores(position, seat),
        over=position.over,
        everything=position.over or not facts.hidden_information,
        deciding=waiting,
    )


def _head_choices(position: TablePosition, seat: int, legal: list[list[LegalAction]]) -> Iterable[HeadChoices]:
    facts = position.game.facts
    several, used = len(facts.heads) > 1, set[str]()
    for head, actions in enumerate(legal):
        name = facts.head_names[head]
        letter = next((letter for letter in name if letter.isalpha() and letter not in used), "") if several else ""
        used.add(letter)
        last = position.last_action.get(seat)
        held = last[head] if several and isinstance(last, tuple) and len(last) > head else None
        values = [action.value for action in actions]
        start = held if held in values else _middle(actions)
        axis = name[-1] if several and name.startswith("move") and name.endswith(("_x", "_y")) else ""
        choices = (
            MoveButton(action, "" if several else _key(number, action.name), several and action.value == start)
            for number, action in enumerate(actions)
        )
        yield HeadChoices(name.replace("_", " "), "" if axis else letter, axis, tuple(choices))


def _middle(actions: list[LegalAction]) -> int:
    """The value to begin with: the one called 0, such as no movement, else the first."""
    neutral = [action.value for action in actions if action.name.endswith(" 0")]
    return (neutral or [action.value for action in actions])[0]


def _key(number: int, name: str) -> str:
    return ARROWS.get(name.casefold()) or (KEYS[number] if number < len(KEYS) else "")


def _turn(position: TablePosition, table: GameTable, seat: int | None, waiting: tuple[int, ...]) -> str:
    if position.over:
        return "The game is over."
    if table.problem:
        return "The game waits."
    if seat in waiting:
        return "Your turn." if not position.game.facts.simultaneous else "Choose, then send."
    names = [table.seats[number].agent or f"seat {number}" for number in waiting]
    if not names:
        return "Everybody has chosen."
    return f"{' and '.join(names)} {'thinks' if len(names) == 1 else 'think'} ..."


def scores(position: TablePosition, seat: int | None) -> tuple[tuple[str, str], ...]:
    """Name and return, by seat; one entry where all seats share."""
    returns = [f"{value:g}" for value in position.returns]
    if position.game.facts.reward == "shared" or len(returns) == 1:
        return (("score", returns[0]),)
    return tuple(("you" if number == seat else f"seat {number}", value) for number, value in enumerate(returns))
