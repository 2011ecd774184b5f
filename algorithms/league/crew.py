"""`Crew`: the learners and evaluations of a league at workers; the league's process logs and commits what they return."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ludory.algorithms.league.log.state import LeagueState
from ludory.atomic import atomic_file
from ludory.cluster import Lent, Pending, Workers
from ludory.errors import LostWorkerError

from .config import START, TEACHER, LeagueConfig
from .coordinator import Coordinator
from .evaluator import batches
from .messages import EvaluationOrder, PairResult, SliceResult
from .turns import LIVE, EvaluationBatch, FilesSent, LeagueTurn, PlayedTurn, play_evaluations, play_turn

LOG = logging.getLogger("ludory.league")
MOST_LOSSES = 20
"""Workers that one turn may lose before the league stops."""


@dataclass(frozen=True, slots=True)
class LeaguePlace:
    """Where the learners and the evaluations of a league run."""

    workers: Workers | None = None
    """Who plays; None: this process."""
    in_order: bool = True
    """The learners take turns, and the log is that of one process. False: all learn at once, and the log has their turns as they came."""

    @property
    def told(self) -> dict[str, str]:
        """What the log says of it."""
        return {"turns": "as they came"} if self.workers is not None and not self.in_order else {}


HERE = LeaguePlace()


class Crew:
    """The workers of a league, and what they are sent.

    Args:
        folder: of the league.
        config: of the league.
        state: of the league.
        coordinator: of the league; logs the events of turns.
        workers: who plays.
        in_order: turns follow one another as in one process; else all learners play at once.
    """

    def __init__(
        self,
        folder: Path,
        config: LeagueConfig,
        state: LeagueState,
        coordinator: Coordinator,
        workers: Workers,
        in_order: bool,
    ) -> None:
        self.folder, self.config, self._state, self.coordinator = folder, config, state, coordinator
        self.workers, self.in_order = workers, in_order
        self._files: dict[str, Lent] = {}
        self._playing: list[PlayerElsewhere] = []  # those that began first come first
        self.lost = 0
        """Workers lost so far."""

    def known(self) -> FilesSent:
        """What a worker is sent now."""
        named = [TEACHER] if self.config.teacher else []
        named += [START] if self.config.init_from else []
        named += [player.file for player in self._state.players if player.frozen and player.file is not None]
        for name in named:
            if name not in self._files:
                self.lend(name, (self.folder / name).read_bytes())
        return FilesSent(self.config, pickle.dumps(self._state), dict(self._files))

    def lend(self, name: str, content: bytes) -> None:
        """Offer the content of a file to the workers; what was there under its name is dropped."""
        self._files[name] = self.workers.lend(content)

    def evaluate(self, orders: Sequence[EvaluationOrder]) -> list[PairResult]:
        """As `Evaluator.play`."""
        if not orders:
            return []
        known = self.known()
        tasks = [EvaluationBatch(known, tuple(batch)) for batch in batches(orders)]
        return [result for results in self.workers.map(play_evaluations, tasks) for result in results]

    def first_slice(self, learners: Sequence[PlayerElsewhere], steps: int, most: int | None) -> SliceResult:
        """The first turn to be done or lost, while all `learners` play turns of `steps` decisions.

        Args:
            learners: of the league.
            steps: of a turn.
            most: decisions that the budget leaves for turns that are not logged yet; None: any number.
        """
        for learner in learners:
            if learner not in self._playing and (most is None or steps * len(self._playing) < most):
                learner.begin_slice(steps)
                self._playing.append(learner)
        waiting = [one.pending for one in self._playing if one.pending is not None]
        return self._playing.pop(self.workers.first(waiting)).take_slice()

    def drop(self) -> None:
        """Give up the turns that are being played."""
        for learner in self._playing:
            learner.drop()
        self._playing = []


class PlayerElsewhere:
    """A learner of a league whose turns are played by workers; in the league's process it is two files' bytes.

    Args:
        crew: who plays.
        player: its id.
        number: its index among the learners.
        learners: number of learners.
        start: returns the checkpoint of its initial weights after so many resets.
    """

    def __init__(self, crew: Crew, player: str, number: int, learners: int, start: Callable[[int], str]) -> None:
        self.player, self.number = player, number
        self.env_steps, self.updates, self.resets = 0, 0, 0
        self.pending: Pending | None = None
        """The turn that is being played."""
        self._crew, self._start = crew, start
        self._numbering = (0, 1) if crew.in_order else (number, learners)
        self._turn: LeagueTurn | None = None
        self._checkpoint, self._policy = b"", b""
        self._lent: Lent | None = None

    def make(self) -> None:
        """Begin to make the learner with its initial weights; `made` waits for it."""
        self._hand_out(0)

    def made(self) -> None:
        """Wait until the learner is made, restored or reset."""
        self._keep(self._outcome())

    def begin_slice(self, steps: int) -> None:
        """Begin a turn; `take_slice` waits for it."""
        self._hand_out(steps)

    def take_slice(self) -> SliceResult:
        """Wait for the turn, and log its events.

        Raises:
            LostWorkerError: it lost its worker again and again.
            TrainingError: as `ActivePlayer.run_slice`.
        """
        played = self._outcome()
        for type, body in played.events:
            self._crew.coordinator.emit(type, **body)
        self._keep(played)
        self.env_steps, self.updates = played.result.env_steps, played.result.updates
        return played.result

    def run_slice(self, steps: int) -> SliceResult:
        """As `ActivePlayer.run_slice`, with the events of the turn in the log."""
        self.begin_slice(steps)
        return self.take_slice()

    def drop(self) -> None:
        """Give up a turn that is being played."""
        if self.pending is not None:
            self.pending.cancel()
            self.pending = None

    def reset(self) -> None:
        """Return to the initial weights; running games are dropped."""
        self.resets += 1
        self._lent = None
        self.make()
        self.made()

    def save(self, file: Path) -> None:
        """Write a checkpoint for `restore`."""
        with atomic_file(file) as handle:
            handle.write(self._checkpoint)

    def save_policy(self, file: Path) -> None:
        """Write the network alone, for a frozen copy."""
        with atomic_file(file) as handle:
            handle.write(self._policy)

    def restore(self, file: Path, env_steps: int, updates: int, resets: int) -> None:
        """Restore a checkpoint."""
        self._lent = self._crew.workers.lend(file.read_bytes())
        self.env_steps, self.updates, self.resets = env_steps, updates, resets
        self.make()

    def _hand_out(self, steps: int) -> None:
        first = self._start(self.resets)
        self._turn = LeagueTurn(
            self._crew.known(),
            self.player,
            self.number,
            self.resets,
            self._numbering,
            str(Path(first).relative_to(self._crew.folder)),
            first,
            self._lent,
            self.env_steps,
            self.updates,
            steps,
        )
        self._begin()

    def _begin(self) -> None:
        assert self._turn is not None
        self.pending = self._crew.workers.start(play_turn, self._turn)

    def _outcome(self) -> PlayedTurn:
        for _ in range(MOST_LOSSES):
            assert self.pending is not None
            try:
                played: PlayedTurn = self.pending.result()
            except LostWorkerError as error:
                self._crew.lost += 1
                LOG.warning("the turn of %s lost its worker (%s) and is played again", self.player, error)
                self._begin()
                continue
            self.pending = None
            return played
        raise LostWorkerError(
            f"a turn of {self.player} lost {MOST_LOSSES} workers one after another; give shorter ones with --slice-steps, or see the logs of Ray"
        )

    def _keep(self, played: PlayedTurn) -> None:
        self._checkpoint, self._policy = played.checkpoint, played.policy
        self._lent = self._crew.workers.lend(self._checkpoint)
        self._crew.lend(f"{LIVE}/{self.player}", self._policy)
