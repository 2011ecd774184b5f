"""A turn of a league at a worker: a function of the league's state, which writes nothing.

The worker gets the state, the learner's last checkpoint and the networks of the others, and returns the events of the turn and a new
checkpoint. A worker that is lost leaves nothing behind, and its turn is played again elsewhere.
"""

from __future__ import annotations

import dataclasses
import pickle
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ludory.agents import Policy, policy_of
from ludory.algorithms import one_thread
from ludory.algorithms.league.log.events import LeagueEvent
from ludory.algorithms.league.log.state import LeagueState
from ludory.checkpoints import read_checkpoint
from ludory.cluster import Lent
from ludory.envs import Game, make_game

from .config import START, TEACHER, LeagueConfig, with_copies
from .coordinator import Coordinator
from .evaluator import Evaluator
from .learner import ActivePlayer
from .messages import EvaluationOrder, PairResult, SliceResult
from .player_files import Pool

LIVE = "live"
"""Folder of the learners' networks in a worker's copy of the league's folder."""


class FilesSent(NamedTuple):
    """What a worker knows of a league."""

    config: LeagueConfig
    state: bytes
    """A pickled `LeagueState`: a copy, which the worker may change."""
    files: Mapping[str, Lent]
    """Bytes of the files that players are made from, by their paths in the league's folder."""


class LeagueTurn(NamedTuple):
    """A turn of a learner."""

    known: FilesSent
    player: str
    number: int
    resets: int
    numbering: tuple[int, int]
    """Of its matches, see `Coordinator`."""
    first: str
    """Path of its initial weights in the league's folder."""
    first_at_home: str
    """Their path in the league's process, which checkpoints name."""
    checkpoint: Lent | None
    """Bytes of its last checkpoint; None: it begins with the initial weights."""
    env_steps: int
    updates: int
    steps: int
    """Decisions to learn from; 0: only make the learner."""


class PlayedTurn(NamedTuple):
    """The outcome of a turn."""

    events: list[tuple[str, Mapping[str, Any]]]
    """Types and bodies of the events, in order."""
    result: SliceResult
    checkpoint: bytes
    policy: bytes
    """The network alone, as `ActivePlayer.save_policy` writes it."""


class Heard:
    """Events in memory, in place of a log."""

    def __init__(self) -> None:
        self.events: list[LeagueEvent] = []

    def append(self, type: str, **body: Any) -> LeagueEvent:
        """As `Log.append`."""
        self.events.append(LeagueEvent(len(self.events), type, 0.0, body))
        return self.events[-1]

    def commit(self, seconds: float) -> LeagueEvent:
        """As `Log.commit`."""
        return self.append("committed", seconds=seconds)


class _FolderCopy:
    """The files of a league that this worker asked for, in a folder of its own."""

    def __init__(self, folder: Path, known: FilesSent) -> None:
        self.folder, self._files = folder, known.files
        self._live: dict[str, Policy] = {}
        self.config = with_copies(known.config, folder)
        self.state: LeagueState = pickle.loads(known.state)
        self.game: Game = make_game(self.config.env, **self.config.options)
        for name, used in ((TEACHER, self.config.teacher), (START, self.config.init_from)):
            if used:
                self.file(name)

    def file(self, name: str) -> Path:
        """A file by its path in the league's folder."""
        target = self.folder / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self._files[name].get())
        return target

    def live(self, player: str) -> Policy:
        """The network of a learner as it was when the turn began."""
        if player not in self._live:
            file = self.file(f"{LIVE}/{player}")
            policy = policy_of(file, *read_checkpoint(file), self.game)
            self._live[player] = policy.eval().requires_grad_(False)
        return self._live[player]


class _PoolOfCopies(Pool):
    """A pool that fetches the files of frozen players when it needs them."""

    def __init__(self, copies: _FolderCopy, live: Callable[[str], Policy]) -> None:
        super().__init__(copies.folder, copies.game, copies.state.player, live)
        self._copies = copies

    def file(self, id: str) -> Path:
        """As `Pool.file`."""
        record = self._record(id)
        if record.frozen and record.file is not None:
            self._copies.file(record.file)
        return super().file(id)


def play_turn(turn: LeagueTurn) -> PlayedTurn:
    """Play a turn in a worker."""
    with tempfile.TemporaryDirectory(prefix="ludory-league-") as folder, one_thread():
        copies, heard = _FolderCopy(Path(folder), turn.known), Heard()
        coordinator = Coordinator(copies.config, heard, copies.state, turn.numbering)
        pool = _PoolOfCopies(copies, lambda id: learner.policy if id == turn.player else copies.live(id))
        first = str(copies.file(turn.first))
        role = copies.state.player(turn.player).role
        learner = ActivePlayer(
            turn.player,
            turn.number,
            copies.config,
            copies.game,
            lambda: coordinator.next_assignment(turn.player),
            coordinator.take_result,
            pool.opponent,
            start=lambda _: first,
            teacher=copies.config.teacher,
            kl=None if role == "main" else copies.config.exploiter_kl,
            resets=turn.resets,
            planned=copies.config.planned_steps(role),
        )
        if turn.checkpoint is not None:
            file = copies.folder / "checkpoint"
            file.write_bytes(turn.checkpoint.get())
            learner.restore(file, turn.env_steps, turn.updates, turn.resets)
        learner.env_steps, learner.updates = turn.env_steps, turn.updates
        result = learner.run_slice(turn.steps) if turn.steps else SliceResult(turn.player, 0, 0, {})
        at_home: dict[str, str | None] = {"init_from": turn.first_at_home}
        if learner.algorithm.teacher_weight is not None:
            at_home["teacher"] = turn.known.config.teacher
        learner.algorithm.config = dataclasses.replace(learner.algorithm.config, **at_home)
        saved = [copies.folder / name for name in ("checkpoint", "policy")]
        learner.save(saved[0])
        learner.save_policy(saved[1])
        events = [(event.type, event.body) for event in heard.events]
        return PlayedTurn(events, result, *(file.read_bytes() for file in saved))


class EvaluationBatch(NamedTuple):
    """Evaluation orders whose games all run at once."""

    known: FilesSent
    orders: tuple[EvaluationOrder, ...]


def play_evaluations(batch: EvaluationBatch) -> list[PairResult]:
    """Play a batch of evaluation orders in a worker."""
    with tempfile.TemporaryDirectory(prefix="ludory-league-") as folder, one_thread():
        copies = _FolderCopy(Path(folder), batch.known)
        return Evaluator(copies.game, _PoolOfCopies(copies, copies.live).opponent, copies.config.seed).play(
            batch.orders
        )
