"""Positions of a recorded game, and recordings made from a list of moves or by leaving the game for a variation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.seat import Seat, SeatMove
from ludory.data.playthrough import ALL_SEATS, PlayedMove
from ludory.data.replay import Replay, frames
from ludory.envs import Engine, Game, make_engine, make_game, on_host
from ludory.errors import IllegalActionError, OptionError
from ludory.reading import shown

LONGEST = 20_000
"""Most moves of a pasted game."""


class StudiedPosition(NamedTuple):
    """A position of a recorded game, before move `number` + 1."""

    game: Game
    number: int
    """Number of moves made."""
    engine: Engine
    """The game; it moves on with the iteration. Clone it to keep it."""
    history: tuple[SeatMove, ...]
    """All moves so far; empty in games in which all seats move at once."""
    returns: NDArray[np.float64]
    """(P,): sum of rewards so far."""
    move: PlayedMove | None
    """What was played here; None at the end of the recording."""

    @property
    def to_move(self) -> int | None:
        """The seat to move; None if the game is over or all seats move at once."""
        seat = int(self.engine.to_move[0])
        return None if seat < 0 or self.game.facts.simultaneous else seat

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return int(self.engine.to_move[0]) < 0

    def seat(self, number: int) -> Seat:
        """What one seat may know here."""
        return Seat(self.engine, number, 0, self.history)

    def legal(self, seat: int) -> NDArray[np.int64]:
        """Legal actions of `seat`, ascending; for games of one head."""
        mask = on_host(self.engine.legal())[0]
        return np.flatnonzero(mask[seat] if mask.ndim == 2 else mask)

    def name(self, action: int | tuple[int, ...]) -> str:
        """An action in words."""
        if isinstance(action, tuple):
            return ", ".join(self.game.look.action_name(head, int(value)) for head, value in enumerate(action))
        return self.game.look.action_name(0, int(action))


def positions(replay: Replay, game: Game | None = None) -> Iterator[StudiedPosition]:
    """Yield all positions of a recording in order, beginning with the start.

    Raises:
        ReplayError: a move is not legal, or the game does not end as recorded.
    """
    game = game or make_game(replay.game, **replay.options)
    returns, history = np.zeros(game.facts.players), list[SeatMove]()
    moves = [*replay.moves, None]
    for number, (engine, move) in enumerate(zip(frames(replay, game), moves, strict=True)):
        if number:
            returns = returns + np.asarray(on_host(engine.rewards)[0], np.float64)
        yield StudiedPosition(game, number, engine, tuple(history), returns, move)
        # only games in which seats take turns have a history
        if move is not None and move.seat != ALL_SEATS:
            history.append(SeatMove(move.seat, move.action))


def position_at(replay: Replay, number: int, game: Game | None = None) -> StudiedPosition:
    """The position after `number` moves.

    Raises:
        OptionError: the recording has no such position.
    """
    check_number(replay, number)
    return next(islice(positions(replay, game), number, None))


def check_number(replay: Replay, number: int) -> None:
    """Check that a recording has a position after `number` moves.

    Raises:
        OptionError: it has none.
    """
    if not 0 <= number <= len(replay.moves):
        raise OptionError(f"move={number}: this game has the positions 0 to {len(replay.moves)}")


def replay_of_moves(
    game: str | Game,
    seed: int,
    actions: Sequence[Any],
    options: Mapping[str, Any] | None = None,
    start: Mapping[str, Any] | None = None,
    game_index: int = 0,
    agents: Sequence[str] | None = None,
) -> Replay:
    """The recording of a game given by its seed and its moves, played by the rules.

    Args:
        game: id or game.
        seed: of the game's draws.
        actions: one per decision, as in `PlayedMove`.
        options: of the game, if it is given by id.
        start: reset options.
        game_index: index of the game in the sequence of games of the seed.
        agents: names of the players; None: "unknown".

    Raises:
        OptionError: there are too many moves, or a move is not legal; names it.
    """
    made = make_game(game, **dict(options or {}))
    if len(actions) > LONGEST:
        raise OptionError(f"got {len(actions)} moves, at most {LONGEST} are read")
    engine = make_engine(made, seed=seed, first_game=game_index)
    engine.reset(options=start)
    returns, moves = np.zeros(made.facts.players), list[PlayedMove]()
    for number, action in enumerate(actions, 1):
        seat = int(engine.to_move[0])
        if seat < 0:
            raise OptionError(f"the game is over after {number - 1} moves, but {len(actions)} were given")
        try:
            engine.step(np.array([action], np.int64))
        except (IllegalActionError, ValueError, OverflowError) as error:
            raise OptionError(f"move {number} is {shown(action)}: {error}") from error
        returns += np.asarray(on_host(engine.rewards)[0])
        moves.append(PlayedMove(ALL_SEATS if made.facts.simultaneous else seat, action))
    names = tuple(agents or ["unknown"] * made.facts.players)
    over = int(engine.to_move[0]) < 0
    return Replay(
        made.id, dict(made.options), seed, game_index, dict(start or {}), names, tuple(moves), tuple(returns), over
    )


def variation(replay: Replay, number: int, actions: Sequence[Any]) -> Replay:
    """The recording left after `number` moves and continued with other ones.

    Raises:
        OptionError: there is no such position, or an action is not legal.
    """
    check_number(replay, number)
    kept = [move.action for move in replay.moves[:number]]
    return replay_of_moves(
        replay.game, replay.seed, [*kept, *actions], replay.options, replay.start, replay.game_index, replay.agents
    )


def parse_moves(game: Game, text: str) -> list[Any]:
    """The actions in a text such as "3 17 4": one per decision, separated by spaces or commas.

    In games of several heads the values of an action are joined by dots, in games in which all seats move at once the seats by slashes:
    "1.0.2/0.0.1".

    Raises:
        OptionError: a part is not an action; says what is expected.
    """
    facts, words = game.facts, text.replace(",", " ").split()
    form = ".".join("0" * facts.action_size)
    if facts.simultaneous:
        form = "/".join([form] * facts.players)
    actions = []
    for number, word in enumerate(words, 1):
        try:
            parts = [tuple(map(int, part.split("."))) for part in word.split("/")]
        except ValueError:
            parts = []
        if len(parts) != word.count("/") + 1 or not _fits(game, parts):
            raise OptionError(f"move {number} is {shown(word)}, must have the form {form}, as numbers of actions")
        each = [part[0] if facts.action_size == 1 and not facts.simultaneous else part for part in parts]
        actions.append(tuple(each) if facts.simultaneous else each[0])
    return actions


def _fits(game: Game, parts: Sequence[tuple[int, ...]]) -> bool:
    facts = game.facts
    seats = facts.players if facts.simultaneous else 1
    return len(parts) == seats and all(len(part) == facts.action_size for part in parts)


def moves_text(actions: Sequence[Any]) -> str:
    """Actions as `parse_moves` reads them."""
    return " ".join(_word(action) for action in actions)


def _word(action: Any) -> str:
    if not isinstance(action, tuple):
        return str(action)
    if action and isinstance(action[0], tuple):
        return "/".join(_word(part) for part in action)
    return ".".join(map(str, action))
