"""`Playthrough`: plays one game move by move, for playing, watching and recording."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ludory.envs import Array, Engine, Game, Memory, Player, State, make_engine, memory_of_new_games
from ludory.errors import OptionError

ALL_SEATS = -1


class PlayedMove(NamedTuple):
    """The choice made at one decision.

    seat: the seat that moved, or `ALL_SEATS` in a simultaneous game.
    action: an int (one head), a tuple of H ints (several heads) or a tuple of P such tuples (simultaneous).
    """

    seat: int
    action: Any


class Playthrough:
    """One game between players; iterate to play it, one `PlayedMove` at a time.

    A move is yielded after it was made, so `engine` then holds the position after it.

    Args:
        game: the game to play.
        players: one for each seat.
        seed: of the game's random draws; None draws one from the operating system.
        game_index: index of the game in the sequence of games of the seed.
        start: reset options, such as Hanabi's `deck`.

    Raises:
        OptionError: the number of players is not the number of seats, or a reset option is not allowed.
    """

    def __init__(
        self,
        game: Game,
        players: Sequence[Player],
        seed: int | None = None,
        game_index: int = 0,
        start: Mapping[str, Any] | None = None,
    ) -> None:
        if len(players) != game.facts.players:
            raise OptionError(
                f"{game.id or game.facts.name} has {game.facts.players} seats, got {len(players)} players"
            )
        self.game, self.players = game, list(players)
        self.seed, self.game_index = secrets.randbits(31) if seed is None else seed, game_index
        self.start = dict(start or {})
        self.engine: Engine = make_engine(game, seed=self.seed, first_game=game_index)
        self.engine.reset(options=self.start)
        self.moves: list[PlayedMove] = []
        self.returns = np.zeros(game.facts.players, np.float64)
        self._rows = np.zeros(1, np.int64)
        self._memories: list[Memory] = [
            memory_of_new_games(player, self.engine, seat, self._rows) for seat, player in enumerate(players)
        ]

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return int(self.engine.to_move[0]) < 0

    def __iter__(self) -> Iterator[PlayedMove]:
        """Play to the end."""
        while not self.over:
            actions = self._choose_together() if self.game.facts.simultaneous else self._choose_in_turn()
            seat = ALL_SEATS if self.game.facts.simultaneous else int(self.engine.to_move[0])
            self.engine.step(actions)
            self.returns += np.asarray(self.engine.rewards[0])
            self.moves.append(PlayedMove(seat, as_tuples(actions[0])))
            yield self.moves[-1]

    def _choose_in_turn(self) -> Array:
        """Actions (1,) or (1, H) of the seat to move; all players are notified."""
        seat = int(self.engine.to_move[0])
        actions = self.players[seat].choose(self.engine, seat, self._rows, self._memories[seat])
        for other, (player, memory) in enumerate(zip(self.players, self._memories, strict=True)):
            player.notice(self.engine, other, self._rows, actions, memory)
        return actions

    def _choose_together(self) -> Array:
        """Actions (1, P, H)."""
        seats = enumerate(zip(self.players, self._memories, strict=True))
        chosen = [player.choose(self.engine, seat, self._rows, memory) for seat, (player, memory) in seats]
        return np.stack([np.asarray(part).reshape(1, -1) for part in chosen], axis=1)


def as_tuples(action: object) -> Any:
    """An action (array or lists) as nested tuples of int."""
    values: Any = action.tolist() if hasattr(action, "tolist") else action
    return tuple(as_tuples(value) for value in values) if isinstance(values, list | tuple) else int(values)


def move_words(game: Game, engine: Engine, move: PlayedMove) -> str:
    """The move that led to the position of `engine`, in the words of the game if it has any, else as seat and action."""
    if game.look.last_move is not None:
        return game.look.last_move(engine.state, 0)
    if not game.facts.simultaneous:
        return f"seat {move.seat}: {_action_name(game, move.action)}"
    return "; ".join(f"seat {seat}: {_action_name(game, action)}" for seat, action in enumerate(move.action))


class Narrator:
    """Tells the moves of one game, also what only a comparison with the position before shows.

    Call it with every position in order, beginning with the start, where the move is None.

    Args:
        game: the game.
        seat: tell only what this seat knows (None: everything).
    """

    def __init__(self, game: Game, seat: int | None = None) -> None:
        self._game, self._seat = game, seat
        self._before: State | None = None

    def __call__(self, engine: Engine, move: PlayedMove | None) -> str:
        """The move that led to the position of `engine`; "start" for None."""
        told, before = self._game.look.told_move, self._before
        if told is not None:
            self._before = engine.clone().state
        if move is None:
            return "start"
        if told is None or before is None:
            return move_words(self._game, engine, move)
        return told(before, engine.state, 0, self._seat)


def _action_name(game: Game, action: Any) -> str:
    if not isinstance(action, tuple):
        return game.look.action_name(0, action)
    names = [game.look.action_name(head, value) for head, value in enumerate(action)]
    if len(names) == 1:
        return names[0]
    return ", ".join(f"{head} {name}" for head, name in zip(game.facts.head_names, names, strict=True))
