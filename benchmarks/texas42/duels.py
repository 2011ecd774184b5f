"""Duels of Texas 42: the same contracts declared by each of two players against the other's defence, kept deal by deal."""

from __future__ import annotations

import json
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from ludory.agents.agent import Agent
from ludory.agents.make import make_agent
from ludory.agents.texas42.bidding.contracts import standard_contracts
from ludory.algorithms.running.folder_lock import FileLock
from ludory.envs.engine.protocol import Array, Engine
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game
from ludory.envs.seats.player import Memory
from ludory.envs.seats.table import Table
from ludory.envs.texas42.state import MADE, SETTLED
from ludory.errors import DataError
from ludory.written import lost

GAME = "Texas42Play-v0"


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
    """What the players are made of beside their names; see `player_files`."""

    @property
    def file_name(self) -> str:
        """Tells the players, and differs for every duel."""
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
        """Let the agent take note."""
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
    """Deal number `deal`, declared by each player in turn; it follows from the duel and the number alone."""
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
    """What is known of a duel, by deal; an unfinished last line is left out.

    Raises:
        DataError: the file is of another duel, or damaged.
    """
    if not file.exists():
        return {}
    whole = file.read_text(encoding="utf-8").rpartition("\n")[0]
    try:
        rows = [json.loads(line) for line in whole.splitlines()]
        if rows and rows[0] != asdict(duel):
            raise DataError(f"{file} is of another duel, {rows[0]}; name another folder with --out")
        return {row["deal"]: Outcome(**row) for row in rows[1:]}
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(f"{file} holds what is no outcome ({error}); move it away to play anew") from error


def play_duel(
    duel: Duel, file: Path, deals: range, processes: int = 1, done: Callable[[int], None] | None = None
) -> list[Outcome]:
    """Outcomes of all `deals`, in order; those in `file` are not played again, and each new one is appended at once.

    Args:
        duel: who plays.
        file: JSON lines, the duel and then outcomes in the order in which they came.
        deals: numbers.
        processes: that share the deals.
        done: told how many outcomes there are, after each.

    Raises:
        DataError: as `read_outcomes`.
        OutputError: another process plays it, or the file was deleted or changed while it was written.
    """
    with FileLock(file, "duel"):
        return _continued(duel, file, deals, processes, done)


def _continued(
    duel: Duel, file: Path, deals: range, processes: int, done: Callable[[int], None] | None
) -> list[Outcome]:
    known = read_outcomes(file, duel)
    missing = [deal for deal in deals if deal not in known]
    if missing:
        kept = file.read_text(encoding="utf-8").rpartition("\n")[0] if file.exists() else ""
        with file.open("w" if not kept else "r+", encoding="utf-8") as handle:
            if kept:
                handle.truncate(len((kept + "\n").encode()))  # an unfinished last line
                handle.seek(0, 2)
            else:
                handle.write(json.dumps(asdict(duel)) + "\n")
            for outcome in _played(duel, missing, processes):
                handle.write(json.dumps(asdict(outcome)) + "\n")
                handle.flush()
                known[outcome.deal] = outcome
                if done:
                    done(len(known))
            ours = os.fstat(handle.fileno())
        if not file.exists() or not os.path.samestat(ours, file.stat()):
            raise lost([f"{file} is gone or has been replaced"])
    return [known[deal] for deal in deals]


def _played(duel: Duel, deals: list[int], processes: int) -> Iterator[Outcome]:
    if processes == 1:
        yield from (play_deal(duel, deal) for deal in deals)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(play_deal, [duel] * len(deals), deals)


def columns(outcomes: list[Outcome]) -> dict[str, np.ndarray[Any, Any]]:
    """One array (n,) for each field."""
    return {field.name: np.array([getattr(one, field.name) for one in outcomes]) for field in fields(Outcome)}
