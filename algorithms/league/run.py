"""`League`: all roles of a league in one process, in turn; what it does is in its event log, and a killed one goes on from there."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import torch
from typing_extensions import Self

from ludory.algorithms.league.log.events import FILE, EventLog, read_events, standing
from ludory.algorithms.league.log.recorded import START, TEACHER, recorded_config, with_copies
from ludory.algorithms.league.log.state import LeagueState
from ludory.algorithms.league.log.state_snapshots import folded, write_state
from ludory.algorithms.running.checkpoint import LIBRARIES, read_header
from ludory.algorithms.running.folder_lock import FolderLock
from ludory.algorithms.running.threads import one_thread
from ludory.algorithms.sampling.teacher import load_teacher
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.errors import CheckpointError, DataError, OptionError, OutputError
from ludory.paths import path_inside

from .config import LeagueConfig
from .coordinator import Coordinator
from .evaluator import Evaluator
from .learner import ActivePlayer, check_learner
from .messages import EvaluationOrder, Progress, ResetOrder
from .player_files import CHECKPOINTS, PLAYERS, Pool, check_file, file_hash, player_file

BEGINNING = ("created", "player_added", "snapshot", "evaluated")
"""Events before the first commit."""


class League:
    """A league that runs; made by `start_league` or `resume_league`.

    Args:
        folder: where everything is written.
        config: options; `teacher` is the copy in the folder.
        log: opened event log.
        state: of its events.
        lock: of the folder; given up by `close`, or at the end of a `with` block.
    """

    def __init__(self, folder: Path, config: LeagueConfig, log: EventLog, state: LeagueState, lock: FolderLock) -> None:
        self.folder, self.config, self.log, self.state, self._lock = folder, config, log, state, lock
        self.game: Game = make_game(config.env, **config.options)
        self.coordinator = Coordinator(config, log, state)
        self.pool = Pool(folder, self.game, state.player, lambda id: self.learners[id].policy)
        self.evaluator = Evaluator(self.game, self.pool.entrant, config.seed)
        self.learners: dict[str, ActivePlayer] = {}
        self._stopping = False
        self._now = process_time if config.processor_time else perf_counter
        self._clock = self._now()
        self._outdated: Path | None = None
        self._sizes: dict[Path, int] = {}  # of the files that the log names

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the log and let other processes have the folder."""
        self.log.close()
        self._lock.release()

    def make_learners(self) -> None:
        """A learner for every active player, with the weights that it starts from."""
        for number, player in enumerate(self.state.learners):
            self.learners[player.id] = ActivePlayer(
                player.id,
                number,
                self.config,
                self.game,
                lambda id=player.id: self.coordinator.next_assignment(id),  # type: ignore[misc]
                self.coordinator.take_result,
                self.pool.entrant,
                start=lambda resets, role=player.role: self._start(role, resets),  # type: ignore[misc]
                teacher=self.config.teacher,
                kl=None if player.role == "main" else self.config.exploiter_kl,
            )

    def _start(self, role: str, resets: int) -> str:
        """The checkpoint that a player of `role` starts from after so many resets."""
        copies = [player.id for player in self.state.players if player.frozen and player.role == "main"]
        if resets and role != "main" and self.config.exploiters_from == "main" and copies:
            return str(self.pool.file(copies[-1]))
        if self.config.init_from and not resets:
            return self.config.init_from
        return self.config.first_weights

    def restore_learners(self) -> None:
        """Put the learners where their last checkpoints left them.

        Raises:
            CheckpointError: a file that the log names is missing, was changed, or lies elsewhere.
        """
        self.check_files()
        for id, learner in self.learners.items():
            player = self.state.player(id)
            if player.file is not None:
                learner.restore(player_file(self.folder, player), player.env_steps, player.updates, player.resets)

    def check_files(self) -> None:
        """Compare all files that the log names with their hashes.

        Raises:
            CheckpointError: one is missing, was changed, or lies elsewhere.
        """
        for player in self.state.players:
            if player.file is not None:
                file = player_file(self.folder, player)
                check_file(file, player.sha256)
                self._sizes[file] = file.stat().st_size

    def _check_sizes(self) -> None:
        """As `check_files` by sizes alone, which is quick."""
        for file, size in self._sizes.items():
            try:
                found = file.stat().st_size
            except OSError as error:
                raise CheckpointError(
                    f"{file}: gone while the league ran ({error.strerror}); put it back, then `ludory league resume {self.folder}` goes on"
                ) from error
            if found != size:
                raise CheckpointError(
                    f"{file}: {found} bytes, the league wrote {size}; put the old file back, "
                    f"then `ludory league resume {self.folder}` goes on"
                )

    @property
    def finished(self) -> bool:
        """Whether the budget is used up."""
        config = self.config
        if config.budget_steps:
            return self.state.env_steps >= config.budget_steps
        return self.state.seconds >= 60 * config.minutes

    def stop(self) -> None:
        """End `run` after the current slice."""
        self._stopping = True

    def run(self, on_slice: Callable[[League], None] | None = None) -> bool:
        """Train until the budget is used up or `stop` is called; returns True when it is used up.

        At the end every main that has learnt for half a unit since it was last copied is copied once more. Before that the
        last copy stands for it: another would be the same player twice, and its games against itself a measure of nothing.

        Raises:
            OutputError: the log is gone, or is no longer the file that was written.
            CheckpointError: a file that the log names is gone, or is no longer what was written.
        """
        with one_thread():
            while not self.finished and not self._stopping:
                self.slice()
                if on_slice:
                    on_slice(self)
            self.finish()
        return self.finished

    def finish(self) -> None:
        """Close a league whose budget is used up, once; see that what was written is there.

        Raises:
            OutputError, CheckpointError: as `run`.
        """
        if self.finished and not self.state.closed:
            self._close()
        self.log.check_present()
        self.check_files()

    def begin(self) -> None:
        """Copy every main once, so that there are frozen players, and measure them against the anchors."""
        for player in self.state.learners:
            if player.role == "main":
                self._snapshot(player.id, "begin")
        self._measure(self.coordinator.matrix_orders())
        self._commit()

    def slice(self) -> Progress:
        """Let the player whose turn it is learn, measure it, copy it and commit what came of it."""
        player = self.coordinator.whose_turn.id
        learner = self.learners[player]
        progress = learner.run_slice(self.config.steps_of_slice)
        self.coordinator.take_progress(progress)
        self._measure(self.coordinator.strength_orders(player), learning=True)
        for order in self.coordinator.orders(player):
            if isinstance(order, ResetOrder):
                learner.reset()
                self.coordinator.reset_done(order)
            else:
                self._write_snapshot(order)
                if self.state.snapshots % self.config.evaluation_every == 0:
                    self._measure(self.coordinator.matrix_orders())
        self._checkpoint(player)
        self._commit()
        return progress

    def _snapshot(self, player: str, reason: str) -> None:
        self._write_snapshot(self.coordinator.snapshot_order(player, reason))

    def _write_snapshot(self, order: Any) -> None:
        """Weights first, then the event that names them."""
        file = f"{PLAYERS}/{order.id}.ludory"
        target = path_inside(self.folder, file, self.log.file)
        self.learners[order.player].algorithm.save_policy(target)
        self.coordinator.snapshot_written(order, file, file_hash(target))
        self._sizes[target] = target.stat().st_size

    def _measure(self, orders: list[EvaluationOrder], learning: bool = False) -> None:
        for played in self.evaluator.play(orders):
            self.coordinator.take_evaluation(played.result, played.outcomes, learning)

    def _checkpoint(self, player: str) -> None:
        """A file of a new name, so that the last one stands until the log names the new one."""
        file = f"{CHECKPOINTS}/{player}-{self.state.turn}.ludory"
        target, known = path_inside(self.folder, file, self.log.file), self.state.player(player)
        self._outdated = player_file(self.folder, known) if known.file else None
        learner = self.learners[player]
        learner.save(target)
        self.coordinator.checkpointed(player, file, file_hash(target), learner.env_steps)
        self._sizes[target] = target.stat().st_size

    def _commit(self) -> None:
        now = self._now()
        self.coordinator.commit(now - self._clock)
        self._clock = now
        write_state(self.folder, self.state, self.log.next_seq - 1)
        if self._outdated:
            self._outdated.unlink(missing_ok=True)
            self._sizes.pop(self._outdated, None)
            self._outdated = None
        self._check_sizes()

    def _close(self) -> None:
        for player in self.state.learners:
            grown = 2 * player.steps_since_snapshot >= self.config.unit_steps
            if player.role == "main" and (grown or player.copies <= 1):
                self._snapshot(player.id, "end")
        self._measure(self.coordinator.matrix_orders())
        self.coordinator.emit("closed")
        self._commit()


def start_league(config: LeagueConfig, folder: str | Path) -> League:
    """A new league in an empty folder, or in one whose league was stopped before its first commit.

    Raises:
        OptionError: the game is not one that leagues play.
        OutputError: the folder holds a league already, or cannot be written to.
        CheckpointError: the teacher is unreadable, or of another game.
    """
    target = Path(folder)
    _refuse_begun(target)
    game = make_game(config.env, **config.options)
    check_game(game)
    check_learner(config.learner)
    teacher = load_teacher(config.first_weights, game, torch.device("cpu"))
    if config.init_from:
        load_teacher(config.init_from, game, torch.device("cpu"))
    lock = FolderLock(target)
    try:
        _refuse_begun(target)  # by a process that held the lock until now
        (target / FILE).unlink(missing_ok=True)
        for name in (PLAYERS, CHECKPOINTS):
            (target / name).mkdir(parents=True, exist_ok=True)
        for name, file in ((TEACHER, config.teacher), (START, config.init_from)):
            if file and Path(file).resolve() != (target / name).resolve():
                shutil.copyfile(file, target / name)
        config = with_copies(
            dataclasses.replace(config, unit=config.unit_steps, slice_steps=config.steps_of_slice), target
        )
        league = League(target, config, EventLog(target), LeagueState(config.decay), lock)
        league.coordinator.emit(
            "created",
            config=with_copies(config, Path()).to_json(),
            teacher_sha256=teacher.sha256,
            teacher_algorithm=read_header(config.first_weights).get("algorithm"),
            versions={name: version(name) for name in LIBRARIES},
        )
        league.log.flush()  # `resume_league` can begin again from here
        league.coordinator.add_players(config.anchors)
        league.make_learners()
        league.begin()
        return league
    except BaseException:
        lock.release()
        raise


def _refuse_begun(folder: Path) -> None:
    """A league that was stopped before its first commit has nothing that would be lost."""
    if (folder / FILE).exists() and any(event.type not in BEGINNING for event in read_events(folder)):
        raise OutputError(
            f"{folder}: holds a league; `ludory league resume {folder}` goes on with it, or name another --out"
        )


def resume_league(folder: str | Path, **changes: Any) -> League:
    """The league of a folder, where its last commit left it; what was done after that is repeated.

    Args:
        folder: of the league.
        changes: another `budget_steps` or `minutes`.

    Raises:
        DataError: there is no league, or its log is damaged.
        CheckpointError: a file that the log names is missing, was changed, or lies outside the league's folder.
    """
    target = Path(folder)
    if not (target / FILE).exists():
        read_events(target)  # says what to type
    lock = FolderLock(target)
    log: EventLog | None = None
    try:
        log = EventLog(target)
        events = standing(log.events)
        if not events or events[0].type != "created":
            raise DataError(
                f"{log.file}: nothing was begun here; run the same `ludory league run ... --out {target}` again"
            )
        config = recorded_config(events, target)
        if changes:
            config = dataclasses.replace(config, **{"budget_steps": 0, "minutes": 0.0, **changes})
        for name in (TEACHER, START):
            path_inside(target, name, log.file, CheckpointError)
        teacher = load_teacher(config.first_weights, make_game(config.env, **config.options), torch.device("cpu"))
        if teacher.sha256 != events[0].body["teacher_sha256"]:
            raise OptionError(
                f"{config.first_weights}: SHA-256 of the weights {teacher.sha256}, the league began with "
                f"{events[0].body['teacher_sha256']}; put the old file back"
            )
        commits = [event.seq for event in events if event.type == "committed"]
        if commits:
            budget = {"budget_steps": config.budget_steps, "minutes": config.minutes}
            log.append("resumed", from_seq=commits[-1], budget=budget)
            league = League(target, config, log, folded(target, standing(log.events), config.decay), lock)
            league.make_learners()
            league.restore_learners()
            return league
    except BaseException:
        if log is not None:
            log.close()
        lock.release()
        raise
    log.close()
    lock.release()
    return start_league(config, target)


def check_game(game: Game) -> None:
    """Refuse a game that leagues do not play.

    Raises:
        OptionError: its rewards are not zero-sum.
    """
    if game.facts.reward != "zero_sum":
        raise OptionError(
            f"{game.id}: reward {game.facts.reward!r}; a league plays zero-sum games, such as Arena2P-v0 or Texas42Play-v0"
        )
    game.need("ludory league", "clones", "saves")
