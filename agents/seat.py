"""`Seat`: what a search agent receives instead of the game. `SeatAgent`: an agent that receives nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ludory.envs import Array, Engine, Game, GameFacts, Memory, on_host
from ludory.errors import OptionError

from .agent import Agent

Action: TypeAlias = "int | NDArray[np.int64]"
"""int, or int64 (H,) in games with several heads."""


class SeatMove(NamedTuple):
    """A seat and the action it chose."""

    seat: int
    action: Any  # an `Action`; whoever reads it knows how many heads the game has


class Seat:
    """What one seat of one running game may know, and nothing else.

    The game itself stays hidden. A seat offers its observation, the moves that everybody saw, and *worlds*: copies of the
    game in which everything that the seat does not know is drawn again.
    """

    def __init__(self, engine: Engine, number: int, row: int, history: Sequence[SeatMove] = ()) -> None:
        self._engine, self._row = engine, row
        self.number = number
        """Number of the seat, 0..P-1."""
        self.history = tuple(history)
        """All moves of this game so far, oldest first."""

    @property
    def facts(self) -> GameFacts:
        """The game's facts."""
        return self._engine.facts

    @property
    def observation(self) -> NDArray[Any]:
        """`(*shape)`: what the seat sees."""
        seen: NDArray[Any] = on_host(self._engine.observe(self.number, [self._row]))[0]
        return seen

    @property
    def mask(self) -> NDArray[np.bool_]:
        """(A,) bool, the legal actions; all False while another seat is to move."""
        if self.to_move != self.number:
            return np.zeros(self.facts.num_actions, bool)
        mask: NDArray[np.bool_] = on_host(self._engine.legal())[self._row]
        return mask

    @property
    def to_move(self) -> int:
        """The seat to move, -1 when the game is over."""
        return int(self._engine.to_move[self._row])

    def worlds(self, count: int, seed: int) -> Engine:
        """`count` copies of the game, drawn from all states that the rules and the seat's knowledge allow; a function of `seed`.

        Each is an independent game that can be stepped, copied and observed from any seat. Nothing is inferred from the
        choices of others.

        Raises:
            OptionError: the game cannot redraw what a seat does not know.
        """
        worlds = self._engine.gather(np.full(count, self._row))
        worlds.redeal(self.number, seed)
        return worlds


@dataclass
class SeatNotes:
    """What a `SeatAgent` remembers of one game."""

    history: list[SeatMove] = field(default_factory=list)
    own: Any = None
    """What `SeatAgent.begin` returned; for the agent's own use."""


class SeatAgent(Agent):
    """Decides game by game from a `Seat`; for sequential games. Subclasses implement `decide`.

    Memory: object (rows,), one `SeatNotes` per game.
    """

    def __init__(self, game: Game) -> None:
        if game.facts.simultaneous:
            raise OptionError(
                f"{self.name} plays games in which seats move one after another; in {game.id or game.facts.name} all move at once"
            )
        self.game = game

    def begin(self) -> Any:
        """Memory of a new game, made before its first move."""
        return None

    # What an agent remembers has a type of its own: `own` is Any so that subclasses can name it.
    def decide(self, seat: Seat, own: Any) -> Action:
        """The action of `seat`, which is to move; `own` is what `begin` returned."""
        raise NotImplementedError(f"{type(self).__name__} needs decide()")

    def watch(self, seat: Seat, move: SeatMove, own: Any) -> None:
        """Called with every move, also the agent's own, before it is applied; `seat` shows the game before it."""

    def initial_memory(self, rows: int) -> Memory:
        """Empty notes, object (rows,)."""
        memory = np.empty(rows, object)
        for row in range(rows):
            memory[row] = SeatNotes(own=self.begin())
        return memory

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) or (m, H) of `seat` in the games `rows`, decided one after another."""
        notes = [memory[int(row)] for row in rows]
        chosen = [
            self.decide(Seat(engine, seat, int(row), note.history), note.own)
            for row, note in zip(rows, notes, strict=True)
        ]
        return np.array(chosen, np.int64)

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Pass the moves about to be made in the games `rows` to `watch`, and record them."""
        movers = on_host(engine.to_move)
        for row, action in zip(on_host(rows), on_host(actions), strict=True):
            note = memory[int(row)]
            move = SeatMove(int(movers[row]), action.copy() if action.ndim else int(action))
            self.watch(Seat(engine, seat, int(row), note.history), move, note.own)
            note.history.append(move)
