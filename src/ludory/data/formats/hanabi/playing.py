"""Games of hanab.live, played again by Ludory's rules: every move is checked, and the decisions become rows of trajectories."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.data import EARNED, START, UNKNOWN_SEED, Columns, ExtraColumn
from ludory.data.formats.json_fields import FieldError
from ludory.envs import Engine, Game, make_engine

from .moves import DISCARD, Hands, SiteMove
from .site_game import CUT, SiteGame

BATCH = 100
"""Games at once; larger batches are compiled for their game, which takes longer than the games of most files."""
SITE_ID = ExtraColumn("site_game", "int64")
"""The game's id on the site; -1 where unknown."""
END = ExtraColumn("end", "string")
"""How the game ended: bomb, perfect, deck, or one of `ENDS`, or cut."""
ENDED_BY = ExtraColumn("ended_by", "int32")
"""The player who ended the game; -1: the rules, a vote, or not known."""
SCORE = ExtraColumn("score", "int32")
"""The score at the end of the game, or where it stopped."""
NAMES = ExtraColumn("names", "string")
"""JSON list of the players' names."""
EXTRAS = (EARNED, START, SITE_ID, END, ENDED_BY, SCORE)


class WrongGame(NamedTuple):
    """A game that does not go by the rules."""

    place: str
    """File, line, id and number of the move."""
    error: FieldError


class PlayedGame(NamedTuple):
    """A game and its decisions."""

    game: SiteGame
    columns: Columns
    """Its rows; the number of the game is 0."""
    end: str
    score: int

    @property
    def finished(self) -> bool:
        """Whether it ended by the rules."""
        return bool(self.columns.terminated.any())


def play(games: Sequence[SiteGame], game: Game) -> Iterator[PlayedGame | WrongGame]:
    """Play games of one table; each in turn, or what is wrong with it.

    Args:
        games: of the sizes of `game`.
        game: Hanabi, with any observation.
    """
    for start in range(0, len(games), BATCH):
        yield from _play_batch(games[start : start + BATCH], game)


class _Course:
    """The moves of one game so far."""

    def __init__(self, game: SiteGame) -> None:
        self.hands = Hands(game.sizes)
        self.actions: list[int] = []
        self.seen: list[Any] = []
        self.masks: list[Any] = []
        self.scores = [0.0]
        """Sum of the rewards before every move, and at the end."""


def _play_batch(games: Sequence[SiteGame], game: Game) -> Iterator[PlayedGame | WrongGame]:
    engine = make_engine(game, len(games), seed=0)
    engine.reset(options={"deck": [one.deck for one in games], "start_player": [one.first for one in games]})
    courses, wrong = [_Course(one) for one in games], dict[int, WrongGame]()
    for step in range(max((len(one.moves) for one in games), default=0)):
        masks, chosen = engine.legal(), dict[int, int]()
        for row, one in enumerate(games):
            if row not in wrong and step < len(one.moves):
                try:
                    chosen[row] = _action(one, courses[row].hands, step, masks[row], engine, row)
                except FieldError as error:
                    wrong[row] = WrongGame(f"{one.place}, move {step + 1}", error)
        # games that are wrong or have no more moves stay as they are
        rows, actions = np.array(list(chosen), np.int64), np.array(list(chosen.values()), np.int64)
        if len(rows):
            _step(engine, rows, actions, masks, courses)
    for row, one in enumerate(games):
        yield wrong[row] if row in wrong else _played(one, courses[row], engine, row)


def _step(
    engine: Engine,
    rows: NDArray[np.int64],
    actions: NDArray[np.int64],
    masks: NDArray[np.bool_],
    courses: Sequence[_Course],
) -> None:
    """Record and play an action in each of `rows`."""
    bits, seats, dealt = engine.facts.observation.bits, engine.to_move[rows], engine.state.deck_top[rows]
    seen = engine.observe(seats, rows, packed=bits)
    engine.step(actions, rows)
    # only the engine knows when the deck is empty
    drew = engine.state.deck_top[rows] > dealt
    for k, row in enumerate(rows):
        course = courses[row]
        course.hands.play(int(actions[k]), int(seats[k]), bool(drew[k]))
        course.actions.append(int(actions[k]))
        course.seen.append(seen[k])
        course.masks.append(masks[row])
        course.scores.append(course.scores[-1] + float(engine.rewards[row, 0]))


def _action(one: SiteGame, hands: Hands, step: int, mask: NDArray[np.bool_], engine: Engine, row: int) -> int:
    """The action id of a move, which is legal.

    Raises:
        FieldError: it is not; says why.
    """
    move, seat = one.moves[step], int(engine.to_move[row])
    if seat < 0:
        end = engine.game.look.info(engine.state, row)["end"]
        raise FieldError("actions", f"a move after the end of the game ({end})", "left out")
    found = hands.action(move, seat) if isinstance(move, SiteMove) else move
    move = hands.move(found, seat)  # refuses ids that are none
    if mask[found]:
        return found
    # the mask says that the move is wrong, not why
    clues = int(engine.state.tokens[row])
    if move.type == DISCARD:
        raise FieldError("type", f"a discard with all {clues} clues", "a play or a clue")
    if not clues:
        raise FieldError("type", "a clue with no clue left", "a play or a discard")
    raise FieldError("value", f"a clue that touches no card of player {move.target}", "a clue that touches a card")


def _played(one: SiteGame, course: _Course, engine: Engine, row: int) -> PlayedGame | WrongGame:
    """The rows of a game. Rewards are those up to the seat's next decision, `players` moves later."""
    info, over = engine.game.look.info(engine.state, row), bool(engine.terminated[row])
    if over and one.end != CUT:
        return WrongGame(
            one.place, FieldError("actions", f"{one.end} after the end of the game ({info['end']})", "left out")
        )
    if over and one.score not in (None, info["score"]):
        return WrongGame(one.place, FieldError("score", f"{one.score}", f"{info['score']}, to which the moves lead"))
    length, players, scores = len(course.actions), one.sizes.players, np.array(course.scores, np.float32)
    steps = np.arange(length)
    # behind a seat's last decision no round is whole
    last, bits = steps + players >= length, engine.facts.observation.bits
    # with the deck a game can be watched, and written back
    start = {"deck": list(one.deck), "start_player": one.first}
    end = info["end"] if over else one.end
    extras = {
        START: json.dumps(start),
        SITE_ID: -1 if one.id is None else one.id,
        END: end,
        ENDED_BY: one.ended_by,
        SCORE: info["score"],
    }
    columns = Columns(
        games=np.zeros(length, np.int64),
        seeds=np.full(length, UNKNOWN_SEED),
        steps=steps,
        seats=(steps + one.first) % players,
        observations=np.array(course.seen, np.uint8 if bits else np.float32).reshape(length, -1),
        masks=np.packbits(np.array(course.masks, bool).reshape(length, -1), axis=1),
        actions=np.array(course.actions, np.int64)[:, None],
        log_probs=np.full((length, 1), np.nan, np.float32),
        rewards=scores[np.minimum(steps + players, length)] - scores[:-1],
        terminated=last & over,
        truncated=last & (not over),
        extras={EARNED.name: scores[:-1]}
        | {column.name: _constant(value, length) for column, value in extras.items()}
        | {NAMES.name: _constant(json.dumps(one.names), length)},
    )
    return PlayedGame(one, columns, end, int(info["score"]))


def _constant(value: str | int, length: int) -> Any:
    return np.full(length, value, object if isinstance(value, str) else np.int64)
