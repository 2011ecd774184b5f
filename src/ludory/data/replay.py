"""`Replay`: one recorded game as a value and as a JSON file; its positions are found by playing it again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.envs import Engine, Game, Player, make_engine, make_game
from ludory.errors import IllegalActionError, ReplayError
from ludory.reading import read_json, shown

from .playthrough import ALL_SEATS, PlayedMove, Playthrough

FORMAT = "ludory replay 1"
HEADER = ("game", "options", "seed", "game_index", "start", "agents", "returns", "finished")
"""Entries of a file besides the moves."""
KINDS = {
    "game": str,
    "options": dict,
    "seed": int,
    "game_index": int,
    "start": dict,
    "agents": list,
    "returns": list,
    "finished": bool,
    "seats": list,
    "actions": list,
}
CURE = "record one with `ludory watch GAME AGENT --replay FILE`"
MOST_PICTURES = 1000
"""Most pictures in a notebook's cell; of longer games it shows only the view of everything."""
MOST, MOST_ACTION = (1 << 63) - 1, (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Replay:
    """A game as seed, start and moves. The positions follow from the rules."""

    game: str
    """Id of the game."""
    options: Mapping[str, Any]
    """Keyword options of `make_game`."""
    seed: int
    game_index: int
    """Index of the game in the sequence of games of the seed."""
    start: Mapping[str, Any]
    """Reset options, such as a deck."""
    agents: tuple[str, ...]
    """Names of the players, by seat."""
    moves: tuple[PlayedMove, ...]
    returns: tuple[float, ...]
    """Sum of the rewards of each seat up to the last recorded move."""
    finished: bool = True
    """False if the game was abandoned before its end."""

    def html(self, seat: int | None = None) -> str:
        """A page to step through the game, see `replay_html`. A notebook shows it for a replay at the end of a cell."""
        from .viewing.replay_page import replay_html

        return replay_html(self, seat)

    def video(
        self, file: str | Path, seat: int | None = None, speed: float | None = None, width: int | None = None
    ) -> None:
        """Write the game to `file`, which ends in .gif or .mp4, see `replay_video`."""
        from .viewing.replay_video import replay_video

        replay_video(file, self, seat, speed, width)

    def __repr__(self) -> str:
        ending = f"returns {', '.join(f'{value:g}' for value in self.returns)}"
        left = "" if self.finished else ", not finished"
        players = ", ".join(self.agents) if len(set(self.agents)) > 1 else f"{len(self.agents)} x {self.agents[0]}"
        return f"<Replay of {self.game}, seed {self.seed}: {players}; {len(self.moves)} moves, {ending}{left}>"

    def _repr_html_(self) -> str:
        from .viewing.replay_page import framed_page, replay_html

        small = len(self.moves) * len(self.agents) <= MOST_PICTURES
        return framed_page(replay_html(self, every_view=small))


def record_replay(
    game: str | Game,
    agents: Sequence[Player],
    seed: int,
    game_index: int = 0,
    start: Mapping[str, Any] | None = None,
) -> Replay:
    """Play one game and record it.

    Args:
        game: id, or a `Game` from `make_game`.
        agents: one for each seat.
        seed: of the game's random draws; agents have their own.
        game_index: index of the game in the sequence of games of the seed.
        start: reset options.

    Raises:
        OptionError: the number of agents is wrong, or a reset option is not allowed.
    """
    playthrough = Playthrough(make_game(game), agents, seed, game_index, start)
    for _ in playthrough:
        pass
    return as_replay(playthrough)


def as_replay(playthrough: Playthrough, agents: Sequence[str] | None = None) -> Replay:
    """The game played so far; `agents`: names to record instead of the players' own."""
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
    """Yield the positions of a replay, beginning with the start: always the same engine (clone it to keep a position).

    Args:
        replay: the recorded game.
        game: the game itself, if its id is not registered.

    Raises:
        ReplayError: a move is not legal, or the game does not end as recorded: the rules have changed.
    """
    played = game or make_game(replay.game, **replay.options)
    # the seed's game of this number, alone
    engine = make_engine(played, seed=replay.seed, first_game=replay.game_index)
    engine.reset(options=replay.start)
    returns = np.zeros(engine.facts.players)
    yield engine
    for number, move in enumerate(replay.moves, 1):
        seat = ALL_SEATS if engine.facts.simultaneous else int(engine.to_move[0])
        if move.seat != seat:
            raise ReplayError(
                f"move {number} of the replay is of seat {move.seat}, under the rules it is of seat {seat}"
            )
        try:
            engine.step(_as_array(move.action, engine, number))
        except IllegalActionError as error:
            raise ReplayError(f"move {number} of the replay does not fit the rules of this version: {error}") from error
        returns += engine.rewards[0]
        yield engine
    over = int(engine.to_move[0]) < 0
    # exact: returns are sums of the same rewards in the same order
    if over != replay.finished or tuple(returns.tolist()) != replay.returns:
        recorded = _ending(replay.finished, replay.returns)
        raise ReplayError(
            f"the replay ends {recorded} as recorded, but {_ending(over, returns.tolist())} when played again"
        )


def _as_array(action: Any, engine: Engine, number: int) -> NDArray[np.int64]:
    """The action in the shape that an engine with one game expects."""
    facts = engine.facts
    heads = () if len(facts.heads) == 1 and not facts.simultaneous else (len(facts.heads),)
    shape = (facts.players, *heads) if facts.simultaneous else heads
    try:
        found = np.array(action, np.int64)
    except ValueError:
        found = None
    if found is None or found.shape != shape:
        raise ReplayError(f"move {number} of the replay is {shown(action)}, must be integers of shape {shape}")
    return found[None]


def _ending(over: bool, returns: Sequence[float]) -> str:
    return f"{'finished' if over else 'unfinished'} with returns {', '.join(f'{value:g}' for value in returns)}"


def write_replay(file: str | Path, replay: Replay) -> None:
    """Write a replay as JSON, atomically.

    Raises:
        OutputError: the file cannot be written.
    """
    with atomic_file(file, "w") as handle:
        handle.write(replay_json(replay))


def replay_json(replay: Replay) -> str:
    """The text of a replay's file."""
    header = {name: getattr(replay, name) for name in HEADER}
    moves = {"seats": [move.seat for move in replay.moves], "actions": [move.action for move in replay.moves]}
    return json.dumps({"format": FORMAT, **header, **moves}, default=_as_list) + "\n"


def _as_list(value: Any) -> Any:
    # actions may be arrays or NumPy numbers
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written in a replay")


def is_replay(file: str | Path) -> bool:
    """Whether a file begins like a replay."""
    try:
        with open(file, "rb") as handle:
            # the format is the first entry that is written
            return FORMAT.encode() in handle.read(200)
    except OSError:
        return False


def read_replay(file: str | Path) -> Replay:
    """Read a replay.

    Raises:
        ReplayError: the file is missing, damaged or not a replay.
    """
    try:
        content = read_json(file)
    except (OSError, ValueError) as error:
        raise ReplayError(f"{file} cannot be read as a replay ({error}); {CURE}") from error
    return replay_of_json(content, file)


def replay_of_json(content: object, name: str | Path) -> Replay:
    """The replay that the JSON value of a file describes; `name` is that of the file, for errors.

    Raises:
        ReplayError: it is damaged or not a replay.
    """
    found = content.get("format") if isinstance(content, dict) else None
    if not isinstance(content, dict) or found != FORMAT:
        raise ReplayError(f"{name} is not a replay: its format is {found!r}, must be {FORMAT!r}; {CURE}")
    try:
        return _replay(content)
    except (KeyError, TypeError, ValueError) as error:
        raise ReplayError(f"{name} is a damaged replay ({type(error).__name__}: {error}); {CURE}") from error


def _replay(content: Mapping[str, Any]) -> Replay:
    for name, kind in KINDS.items():
        # not `isinstance`: True is an int
        if type(content[name]) is not kind:
            raise TypeError(f"{name} is {shown(content[name])}, must be a {kind.__name__}")
    for name in ("seed", "game_index"):
        if not 0 <= content[name] <= MOST:
            raise ValueError(f"{name} is {shown(content[name])}, must lie in 0..{MOST}")
    for name, kinds in (("agents", (str,)), ("returns", (int, float)), ("seats", (int,))):
        wrong = [one for one in content[name] if type(one) not in kinds or (kinds != (str,) and not abs(one) <= MOST)]
        if wrong:
            raise ValueError(f"{name} holds {shown(wrong[0])}")
    moves = zip(content["seats"], content["actions"], strict=True)
    return Replay(
        game=content["game"],
        options=content["options"],
        seed=content["seed"],
        game_index=content["game_index"],
        start=content["start"],
        agents=tuple(content["agents"]),
        moves=tuple(PlayedMove(seat, _action(action)) for seat, action in moves),
        returns=tuple(map(float, content["returns"])),
        finished=content["finished"],
    )


def _action(value: Any) -> Any:
    """An int, or nested tuples of int."""
    if isinstance(value, list):
        return tuple(map(_action, value))
    if type(value) is not int or abs(value) > MOST_ACTION:
        raise ValueError(f"actions holds {shown(value)}, must be integers")
    return value
