"""`Replay`: one recorded game as a value and as a JSON file, and its positions played again by the rules."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ludory.atomic import atomic_file
from ludory.envs.engine import Engine
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game
from ludory.envs.player import Player
from ludory.errors import IllegalActionError, ReplayError

from .playthrough import Move, Playthrough, as_tuples

FORMAT = "ludory replay 1"
HEADER = ("game", "options", "seed", "game_index", "start", "agents", "returns", "finished")
"""What a file holds beside the moves."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A game by what decides it: seed, start and moves. The positions follow from the rules."""

    game: str
    """Id of the game."""
    options: Mapping[str, Any]
    """Keyword options of `make_game`."""
    seed: int
    game_index: int
    """Index of the game in the sequence of games that the seed stands for."""
    start: Mapping[str, Any]
    """Reset options, such as a given deck."""
    agents: tuple[str, ...]
    """Names of the players, by seat."""
    moves: tuple[Move, ...]
    returns: tuple[float, ...]
    """Sum of the rewards of each seat up to the last recorded move."""
    finished: bool = True
    """False if the game was left before its end."""


def record_replay(
    game: str | Game,
    agents: Sequence[Player],
    seed: int,
    game_index: int = 0,
    start: Mapping[str, Any] | None = None,
) -> Replay:
    """Play one game and record it.

    Args:
        game: id, or a `Game` that `make_game` made.
        agents: one for each seat.
        seed: of the game's random draws; the agents bring their own.
        game_index: index of the game in the sequence of games that the seed stands for.
        start: reset options.

    Raises:
        OptionError: wrong number of agents, or a reset option is not allowed.
    """
    playthrough = Playthrough(make_game(game), agents, seed, game_index, start)
    for _ in playthrough:
        pass
    return as_replay(playthrough)


def as_replay(playthrough: Playthrough, agents: Sequence[str] | None = None) -> Replay:
    """What was played so far; `agents`: names to write down instead of the players' own."""
    names = agents or [str(getattr(player, "name", type(player).__name__)) for player in playthrough.players]
    return Replay(
        game=playthrough.game.id,
        options=dict(playthrough.game.options),
        seed=playthrough.seed,
        game_index=playthrough.game_index,
        start=playthrough.start,
        agents=tuple(names),
        moves=tuple(playthrough.moves),
        returns=tuple(float(value) for value in playthrough.returns),
        finished=playthrough.over,
    )


def frames(replay: Replay, game: Game | None = None) -> Iterator[Engine]:
    """The positions of a replay, the start first: one engine, moved on between them (clone it to keep a position).

    Args:
        replay: what was recorded.
        game: the game itself, where its id is not registered.

    Raises:
        ReplayError: a move is not legal, or the game does not end as recorded: the rules have changed.
    """
    played = game or make_game(replay.game, **replay.options)
    engine = make_engine(played, seed=replay.seed, first_game=replay.game_index)
    engine.reset(options=replay.start)
    returns = np.zeros(engine.facts.players)
    yield engine
    for number, move in enumerate(replay.moves, 1):
        try:
            engine.step(np.array([move.action]))
        except IllegalActionError as error:
            raise ReplayError(f"move {number} of the replay does not fit the rules of this version: {error}") from error
        returns += engine.rewards[0]
        yield engine
    over = int(engine.to_move[0]) < 0
    if over != replay.finished or tuple(returns.tolist()) != replay.returns:
        recorded = _ending(replay.finished, replay.returns)
        raise ReplayError(
            f"the replay ends {recorded} as recorded, but {_ending(over, returns.tolist())} when played again"
        )


def _ending(over: bool, returns: Sequence[float]) -> str:
    return f"{'finished' if over else 'unfinished'} with returns {', '.join(f'{value:g}' for value in returns)}"


def write_replay(file: str | Path, replay: Replay) -> None:
    """Write a replay as JSON, atomically.

    Raises:
        OutputError: the file can not be written.
    """
    header = {name: getattr(replay, name) for name in HEADER}
    moves = {"seats": [move.seat for move in replay.moves], "actions": [move.action for move in replay.moves]}
    content = {"format": FORMAT, **header, **moves}
    with atomic_file(file, "w") as handle:
        handle.write(json.dumps(content, default=_as_list) + "\n")


def _as_list(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} can not be written in a replay")


def read_replay(file: str | Path) -> Replay:
    """The replay that `write_replay` wrote.

    Raises:
        ReplayError: the file is missing or not a replay.
    """
    cure = "record one with `ludory watch GAME AGENT --replay FILE`"
    try:
        content = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReplayError(f"{file} can not be read as a replay ({error}); {cure}") from error
    found = content.get("format") if isinstance(content, dict) else None
    if found != FORMAT:
        raise ReplayError(f"{file} is not a replay: its format is {found!r}, must be {FORMAT!r}; {cure}")
    try:
        return _replay(content)
    except (KeyError, TypeError, ValueError) as error:
        raise ReplayError(f"{file} is a damaged replay ({type(error).__name__}: {error}); {cure}") from error


def _replay(content: Mapping[str, Any]) -> Replay:
    moves = zip(content["seats"], content["actions"], strict=True)
    return Replay(
        game=str(content["game"]),
        options=dict(content["options"]),
        seed=int(content["seed"]),
        game_index=int(content["game_index"]),
        start=dict(content["start"]),
        agents=tuple(map(str, content["agents"])),
        moves=tuple(Move(int(seat), as_tuples(action)) for seat, action in moves),
        returns=tuple(map(float, content["returns"])),
        finished=bool(content["finished"]),
    )
