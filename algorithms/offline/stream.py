"""`GameStream`: games that a teacher plays while a learner learns from them. Nothing is written to disk, and no game comes twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from ludory.agents import Agent, make_agent
from ludory.data.columns import USED
from ludory.data.decisions import Arrays, Decisions, Sequences, as_decisions, as_sequences, decision_arrays
from ludory.data.header import TrajectoryHeader, header_of
from ludory.data.recording.decision_recorder import DecisionRecorder
from ludory.data.shuffle_pool import drawn
from ludory.envs import Array, Engine, Game, Memory, make_engine

GAMES = 1024
"""Games played at once."""
EPOCH_GAMES = 1 << 40
"""Numbers of games between the first ones of two epochs."""


class GameStream:
    """Decisions of a teacher, with the calls of a `TrajectoryDataset`.

    Equal seeds and epochs have equal games, unless a student plays, whose weights change while it learns.

    Args:
        game: the game to play; an agent in every seat.
        teacher: id of the agent whose decisions are learnt.
        decisions: of an epoch.
        seed: of the games.
        student: plays too: in the share `student_share` of all decisions its action is played, and the teacher's is learnt (DAgger,
            arXiv:1011.0686).
        student_share: 0 to 1.
    """

    def __init__(
        self,
        game: Game,
        teacher: str,
        decisions: int,
        seed: int,
        student: Agent | None = None,
        student_share: float = 0.0,
    ) -> None:
        game.need("learning from a stream of games", "heads")
        self._game, self._decisions, self._seed = game, decisions, seed
        self._teacher, self._student, self._share = make_agent(teacher, game), student, student_share
        self.path = teacher
        self.header: TrajectoryHeader = header_of(game, agents=(teacher,) * game.facts.players, seed=seed)
        self.layout = {USED: slice(0, len(game.facts.heads))} if game.tells_used else {}

    def __len__(self) -> int:
        """Decisions of an epoch."""
        return self._decisions

    @cached_property
    def num_games(self) -> int:
        """About how many games an epoch has, from the length of the first ones."""
        return max(1, round(self._decisions * GAMES / len(self._block(0, 0)[0])))

    def names_of(self, games: Sequence[int]) -> list[str]:
        """Numbers of games."""
        return [str(game) for game in games]

    def batches(self, size: int, *, seed: int | None = None, epoch: int = 0) -> Iterator[Decisions]:
        """As `TrajectoryDataset.batches`; without a seed in the order of the games."""
        for rows in drawn(self._blocks(epoch), size, _generator(seed, epoch), whole_games=False):
            yield as_decisions(rows)

    def sequences(self, games: int, *, seed: int | None = None, epoch: int = 0) -> Iterator[Sequences]:
        """As `TrajectoryDataset.sequences`."""
        for rows in drawn(self._blocks(epoch), games, _generator(seed, epoch), whole_games=True):
            yield as_sequences(rows, self.header.players)

    def _blocks(self, epoch: int) -> Iterator[Arrays]:
        """Whole games with about as many decisions as an epoch has; a last block of fewer games comes out closer."""
        made, block = 0, 0
        while made < self._decisions:
            rows = self._block(epoch, block)
            left = self._decisions - made
            if len(rows[0]) > left:
                games = rows[Decisions._fields.index("games")]
                end = int(np.searchsorted(games, games[left - 1], "right"))
                rows = tuple(column[:end] for column in rows)
            made, block = made + len(rows[0]), block + 1
            yield rows

    def _block(self, epoch: int, block: int) -> Arrays:
        first = epoch * EPOCH_GAMES + block * GAMES
        engine = make_engine(self._game, GAMES, seed=self._seed, first_game=first)
        player: Agent = self._teacher
        if self._student is not None and self._share > 0:
            draw = np.random.default_rng([self._seed, epoch, block])
            player = _Taught(self._teacher, self._student, self._share, draw)
        columns = DecisionRecorder(self._game, engine, [player] * self._game.facts.players).play(first, self._seed)
        if USED in columns.extras:
            columns.extras[USED] = np.asarray(columns.extras[USED], np.float32).reshape(len(columns.games), -1)
        return decision_arrays(columns, self._game.facts.players, tuple(self.layout))


def _generator(seed: int | None, epoch: int) -> np.random.Generator | None:
    return None if seed is None else np.random.default_rng([seed, epoch])


class _Taught(Agent):
    """A student that sometimes plays its own action; `labels` are the teacher's."""

    def __init__(self, teacher: Agent, student: Agent, share: float, draw: np.random.Generator) -> None:
        self.name = f"{student.name} taught by {teacher.name}"
        self._teacher, self._student, self._share, self._draw = teacher, student, share, draw
        self.labels: Array | None = None

    def initial_memory(self, rows: int) -> Memory:
        return self._teacher.initial_memory(rows), self._student.initial_memory(rows)

    def start_games(self, seat: int, keys: Array) -> Memory:
        return self._teacher.start_games(seat, keys), self._student.start_games(seat, keys)

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        self.labels = self._teacher.choose(engine, seat, rows, memory[0])
        played = np.asarray(self._student.choose(engine, seat, rows, memory[1]))
        own = self._draw.random(len(rows)) < self._share
        return np.where(own.reshape(-1, *[1] * (played.ndim - 1)), played, self.labels)

    def look_on(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> None:
        self._teacher.look_on(engine, seat, rows, memory[0])
        self._student.look_on(engine, seat, rows, memory[1])

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        self._teacher.notice(engine, seat, rows, actions, memory[0])
        self._student.notice(engine, seat, rows, actions, memory[1])
