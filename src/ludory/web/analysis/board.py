"""What the analysis board shows of a position before anything is computed: picture, moves in words, legal moves, and where links lead."""

from __future__ import annotations

from typing import Any, NamedTuple

from ludory.agents.analysis.positions import check_number, moves_text, parse_moves, positions, variation
from ludory.data.playthrough import Narrator
from ludory.data.replay import Replay
from ludory.envs.make import make_game
from ludory.envs.pictures import svg_picture
from ludory.errors import OptionError


class StudyBoard(NamedTuple):
    """A position of a game as one may see it."""

    game: str
    picture: str
    """SVG."""
    words: tuple[str, ...]
    """All moves."""
    number: int
    moves: int
    returns: tuple[float, ...]
    agents: tuple[str, ...]
    shared: bool
    over: bool
    legal: tuple[tuple[int, str], ...]
    """Actions and their names, where another move may be tried; empty elsewhere."""
    hidden: bool
    """Whether the game hides something."""
    together: bool
    """Whether all seats move at once."""


def study_board(replay: Replay, number: int, view: int | None) -> StudyBoard:
    """The position after `number` moves.

    Args:
        replay: the recorded game.
        number: of moves made.
        view: the seat whose knowledge may be shown; None: everything.

    Raises:
        OptionError: there is no such position or seat.
        ReplayError: the game does not go as recorded.
    """
    check_number(replay, number)
    game = make_game(replay.game, **replay.options)
    facts = game.facts
    if view is not None and not 0 <= view < facts.players:
        raise OptionError(f"view={view}: this game has the seats 0 to {facts.players - 1}")
    told, words, board = Narrator(game, view), list[str](), None
    for position in positions(replay, game):
        said = told(position.engine, replay.moves[position.number - 1] if position.number else None)
        if position.number:
            words.append(said)
        if position.number == number:
            tries = position.to_move is not None and may_vary(view, facts.hidden_information) and len(facts.heads) == 1
            legal = position.legal(position.to_move) if tries and position.to_move is not None else ()
            board = StudyBoard(
                replay.game,
                svg_picture(game, position.engine.state, 0, view),
                (),
                number,
                len(replay.moves),
                tuple(float(value) for value in position.returns),
                replay.agents,
                facts.reward == "shared",
                position.over,
                tuple((int(action), position.name(action)) for action in legal),
                facts.hidden_information,
                facts.simultaneous,
            )
    assert board is not None
    return board._replace(words=tuple(words))


def may_vary(view: int | None, hidden: bool) -> bool:
    """Whether other moves may be tried: they would show a seat what it cannot see, unless everything may be shown."""
    return view is None or not hidden


class Variation(NamedTuple):
    """Where a variation leaves the recorded game, and its moves."""

    at: int
    actions: tuple[Any, ...]

    def text(self) -> str:
        """As `read_variation` reads it."""
        return f"{self.at}:{moves_text(self.actions).replace(' ', ',')}"


def read_variation(replay: Replay, text: str) -> Variation | None:
    """The variation of an address, such as "20:3,17"; None for an empty text.

    Raises:
        OptionError: it is not one of the game.
    """
    if not text:
        return None
    at, colon, moves = text.partition(":")
    if not (colon and at.isascii() and at.isdecimal() and len(at) < 7):
        raise OptionError(f"line={text[:40]!r}: must be the number of a position and moves, such as 20:3,17")
    game = make_game(replay.game, **replay.options)
    return Variation(int(at), tuple(parse_moves(game, moves)))


def with_branch(replay: Replay, branch: Variation | None) -> Replay:
    """The recording, or its variation.

    Raises:
        OptionError: a move of the variation is not legal.
    """
    return replay if branch is None else variation(replay, branch.at, branch.actions)


def tried(replay: Replay, branch: Variation | None, number: int, action: int) -> tuple[Variation | None, int]:
    """The variation after `action` is played at a position, and the number of the position that follows.

    A move that was made there anyway leads on in the recording or in the variation that is shown.
    """
    shown = with_branch(replay, branch)
    check_number(shown, number)
    if number < len(shown.moves) and shown.moves[number].action == action:
        return branch, number + 1
    # a variation of a variation leaves the recording where the first one did, or earlier
    start = number if branch is None else min(branch.at, number)
    kept = tuple(move.action for move in shown.moves[start:number])
    made = Variation(start, (*kept, action))
    with_branch(replay, made)  # refuses what is not legal
    return made, number + 1
