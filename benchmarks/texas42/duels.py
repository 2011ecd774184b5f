"""Duels of Texas 42: each of two players declares the same contracts against the other's defence; results are kept deal by deal."""

from __future__ import annotations

import hashlib
import json
import re
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ludory.agents import texas42
from ludory.agents.agent import Agent
from ludory.agents.make import make_agent
from ludory.agents.texas42.bidding.contracts import standard_contracts
from ludory.benchmarks.harness.parts import in_processes, kept_lines, read_lines
from ludory.data.recording.record import checkpoint_hashes
from ludory.envs.engine.protocol import Array, Engine
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game
from ludory.envs.seats.player import Memory
from ludory.envs.seats.table import Table
from ludory.envs.texas42.state import MADE, SETTLED
from ludory.errors import DataError

GAME = "Texas42Play-v0"
DIGITS = 12
"""Of the hash of players."""


def player_files(specs: Sequence[str]) -> str:
    """A hash of what players of Texas 42 consist of besides their code: checkpoints that are named, and tables that come with Ludory."""
    found = checkpoint_hashes(specs)
    for file in sorted(Path(texas42.__path__[0]).rglob("*.json")):
        found[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:DIGITS]


@dataclass(frozen=True, slots=True)
class Duel:
    """Who plays whom, on which contracts."""

    first: str
    """Spec of an agent."""
    second: str
    seed: int = 0
    """Of the deals and of what agents draw."""
    worlds: int = 16
    """Solved for each declaration when the bidder chooses."""
    files: str = ""
    """Hash of what the players consist of, by `player_files`."""

    @property
    def file_name(self) -> str:
        """Contains the players, and differs for every duel."""
        words = re.sub(r"[^a-z0-9=.]+", "-", f"{self.first} v {self.second}".lower().replace("texas42/", "")).strip("-")
        return f"{words[:80]}-{zlib.crc32(json.dumps(asdict(self)).encode()):08x}.jsonl"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One deal, played twice."""

    deal: int
    first_made: bool
    """The first player declared."""
    second_made: bool
    """The second player declared."""
    first_seconds: float
    """Of processor time, in both hands."""
    first_moves: int
    """Decisions in which there was a choice, in both hands."""
    second_seconds: float
    second_moves: int


class Timed(Agent):
    """Another agent, with the processor time that it takes."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.seconds, self.moves = 0.0, 0

    def initial_memory(self, rows: int) -> Memory:
        """The agent's."""
        return self._agent.initial_memory(rows)

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """The agent's actions."""
        started = time.process_time()
        actions = self._agent.choose(engine, seat, rows, memory)
        self.seconds += time.process_time() - started
        self.moves += int((engine.legal()[rows].sum(axis=1) > 1).sum())
        return actions

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Pass the actions on to the agent."""
        started = time.process_time()
        self._agent.notice(engine, seat, rows, actions, memory)
        self.seconds += time.process_time() - started


@cache
def _game() -> Game:
    return make_game(GAME, reward="make", early_stop=True)


@cache
def _agents(duel: Duel) -> tuple[Agent, Agent]:
    return make_agent(duel.first, _game()), make_agent(duel.second, _game())


def play_deal(duel: Duel, deal: int) -> Outcome:
    """Deal number `deal`, declared by each player in turn; it depends on the duel and the number alone."""
    options = standard_contracts(deal, 1, duel.seed, duel.worlds).options
    agents = _agents(duel)
    timed = [Timed(agent) for agent in agents]
    made = []
    for declarer in (0, 1):
        for k, agent in enumerate(agents):
            stream = np.random.SeedSequence([42, duel.seed, deal, k, declarer])
            agent.seed(int(stream.generate_state(1)[0]))
        engine = make_engine(_game(), 1, seed=duel.seed, first_game=deal)
        table = Table(engine, [timed[declarer], timed[1 - declarer]] * 2)
        table.start(options=options)
        table.run()
        made.append(int(engine.state.last[0, SETTLED]) == MADE)
    a, b = timed
    return Outcome(deal, made[0], made[1], round(a.seconds, 4), a.moves, round(b.seconds, 4), b.moves)


def read_outcomes(file: Path, duel: Duel) -> dict[int, Outcome]:
    """Outcomes of a duel by deal; an unfinished last line is ignored.

    Raises:
        DataError: the file is of another duel, or damaged.
    """
    return _outcomes(file, read_lines(file), duel)


def _outcomes(file: Path, rows: list[Any], duel: Duel) -> dict[int, Outcome]:
    if rows and rows[0] != asdict(duel):
        raise DataError(f"{file} is of another duel, {rows[0]}; name another folder with --out")
    try:
        return {row["deal"]: Outcome(**row) for row in rows[1:]}
    except (TypeError, KeyError) as error:
        raise DataError(f"{file} holds what is no outcome ({error}); move it away to play again") from error


def play_duel(
    duel: Duel, file: Path, deals: range, processes: int = 1, done: Callable[[int], None] | None = None
) -> list[Outcome]:
    """Outcomes of all `deals`, in order; those in `file` are not played again, and each new one is appended at once.

    Args:
        duel: who plays.
        file: JSON lines, the duel and then outcomes in the order in which they came.
        deals: numbers.
        processes: that share the deals.
        done: called with the number of outcomes, after each.

    Raises:
        DataError: as `read_outcomes`.
        OutputError: another process plays it, or the file was deleted or changed while it was written.
    """
    with kept_lines(file, "duel") as (rows, append):
        known = _outcomes(file, rows, duel)
        if not rows:
            append(asdict(duel))
        missing, play = [deal for deal in deals if deal not in known], partial(play_deal, duel)
        for outcome in map(play, missing) if processes == 1 else in_processes(play, missing, processes):
            append(asdict(outcome))
            known[outcome.deal] = outcome
            if done:
                done(len(known))
    return [known[deal] for deal in deals]


def columns(outcomes: list[Outcome]) -> dict[str, np.ndarray[Any, Any]]:
    """One array (n,) for each field."""
    return {field.name: np.array([getattr(one, field.name) for one in outcomes]) for field in fields(Outcome)}
