"""`League`: all roles of a league, in one process or with learners at workers of other machines. All it does is in its event log, from which a killed league resumes."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import torch
from typing_extensions import Self

from ludory.agents import Policy
from ludory.algorithms import FolderLock, load_teacher, one_thread
from ludory.algorithms.config import LEAGUE_GAMES
from ludory.algorithms.league.log.events import FILE, EventLog, read_events, standing
from ludory.algorithms.league.log.state import LeagueState, load_state, newest_state, write_state
from ludory.checkpoints import LIBRARIES, read_header
from ludory.envs import Game, make_game
from ludory.errors import CheckpointError, DataError, OptionError, OutputError
from ludory.paths import path_inside

from .config import START, TEACHER, LeagueConfig, recorded_config, with_copies
from .coordinator import Coordinator
from .crew import HERE, Crew, LeaguePlace, PlayerElsewhere
from .evaluator import Evaluator
from .learner import ActivePlayer, check_learner
from .messages import EvaluationOrder, SliceResult, SnapshotOrder
from .player_files import CHECKPOINTS, PLAYERS, Pool, check_file, file_hash, player_file

BEGINNING = ("created", "player_added", "snapshot", "evaluated")
"""Events before the first commit."""


class League:
    """A running league, made by `start_league` or `resume_league`.

    Args:
        folder: where everything is written.
        config: options; `teacher` is the copy in the folder.
        log: opened event log.
        state: of its events.
        lock: of the folder; released by `close`, or at the end of a `with` block.
        place: where learners and evaluations run.

    Raises:
        OptionError: workers, and a budget in this process's processor time.
    """

    def __init__(
        self,
        folder: Path,
        config: LeagueConfig,
        log: EventLog,
        state: LeagueState,
        lock: FolderLock,
        place: LeaguePlace = HERE,
    ) -> None:
        self.folder, self.config, self.log, self.state, self._lock = folder, config, log, state, lock
        log.release()
        self.game: Game = make_game(config.env, **config.options)
        self.coordinator = Coordinator(config, log, state)
        self.pool = Pool(folder, self.game, state.player, self._policy_of)
        self.evaluator = Evaluator(self.game, self.pool.opponent, config.seed)
        self.crew: Crew | None = None
        if place.workers is not None:
            if config.processor_time:
                raise OptionError(
                    "processor_time: other processes do the work; give budget_steps, or leave workers out"
                )
            self.crew = Crew(folder, config, state, self.coordinator, place.workers, place.in_order)
        self.learners: dict[str, ActivePlayer | PlayerElsewhere] = {}
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
        """Give up turns that workers still play, close the log and release the folder."""
        if self.crew is not None:
            self.crew.drop()
        self.log.close()
        self._lock.release()

    def make_learners(self) -> None:
        """Make a learner for every active player, with its initial weights."""
        learners = self.state.learners
        for number, player in enumerate(learners):
            start = partial(self._start, player.role)
            if self.crew is not None:
                self.learners[player.id] = PlayerElsewhere(self.crew, player.id, number, len(learners), start)
                continue
            self.learners[player.id] = ActivePlayer(
                player.id,
                number,
                self.config,
                self.game,
                partial(self.coordinator.next_assignment, player.id),
                self.coordinator.take_result,
                self.pool.opponent,
                start=start,
                teacher=self.config.teacher,
                kl=None if player.role == "main" else self.config.exploiter_kl,
                planned=self.config.planned_steps(player.role),
            )

    def _policy_of(self, id: str) -> Policy:
        """The current network of a learner of this process."""
        learner = self.learners[id]
        assert isinstance(learner, ActivePlayer)
        return learner.policy

    def _start(self, role: str, resets: int) -> str:
        """The checkpoint of a player's initial weights after so many resets."""
        copies = [player.id for player in self.state.players if player.frozen and player.role == "main"]
        if resets and role != "main" and self.config.exploiters_from == "main" and copies:
            return str(self.pool.file(copies[-1]))
        if self.config.init_from and not resets:
            return self.config.init_from
        return self.config.first_weights

    def restore_learners(self) -> None:
        """Restore the learners from their last checkpoints.

        Raises:
            CheckpointError: a file that the log names is missing, was changed, or is outside its folder.
        """
        self.check_files()
        for id, learner in self.learners.items():
            player = self.state.player(id)
            if player.file is not None:
                learner.restore(player_file(self.folder, player), player.env_steps, player.updates, player.resets)
        self._made()

    def _made(self) -> None:
        """Wait for learners that workers make."""
        for learner in self._elsewhere:
            if learner.pending is None:
                learner.make()
        for learner in self._elsewhere:
            learner.made()

    @property
    def _elsewhere(self) -> list[PlayerElsewhere]:
        """The learners that workers play."""
        return [one for one in self.learners.values() if isinstance(one, PlayerElsewhere)]

    def check_files(self) -> None:
        """Compare the hashes of all files that the log names.

        Raises:
            CheckpointError: one is missing, was changed, or is outside its folder.
        """
        for player in self.state.players:
            if player.file is not None:
                file = player_file(self.folder, player)
                check_file(file, player.sha256)
                self._sizes[file] = file.stat().st_size

    def _check_sizes(self) -> None:
        """As `check_files`, but compare sizes only, which is quick."""
        for file, size in self._sizes.items():
            try:
                found = file.stat().st_size
            except OSError as error:
                raise CheckpointError(
                    f"{file}: gone while the league ran ({error.strerror}); put it back, then type `ludory train league --out {self.folder} --resume`"
                ) from error
            if found != size:
                raise CheckpointError(
                    f"{file}: {found} bytes, the league wrote {size}; put the old file back, "
                    f"then type `ludory train league --out {self.folder} --resume`"
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

        At the end every main is copied once more that has learnt for half a unit since its last copy. A copy made earlier would
        be almost the same player twice.

        Raises:
            OutputError: the log is gone or was replaced.
            CheckpointError: a file that the log names is gone or was changed.
        """
        with one_thread():
            while not self.finished and not self._stopping:
                self.slice()
                if on_slice:
                    on_slice(self)
            if self.crew is not None:
                self.crew.drop()
            self.finish()
        return self.finished

    def finish(self) -> None:
        """Close a league whose budget is used up, once, and check its files.

        Raises:
            OutputError, CheckpointError: as `run`.
        """
        if self.finished and not self.state.closed:
            self._close()
        self.log.check_present()
        self.check_files()

    def begin(self) -> None:
        """Copy every main once, so that there are frozen players, and evaluate the copies against the anchors."""
        self._made()
        for player in self.state.learners:
            if player.role == "main":
                self._snapshot(player.id, "begin")
        self._measure(self.coordinator.matrix_orders())
        self._commit()

    def slice(self) -> SliceResult:
        """One turn of a learner: train, evaluate, copy and reset where due, and commit."""
        if self.crew is None or self.crew.in_order:
            result = self.learners[self.coordinator.whose_turn.id].run_slice(self.config.steps_of_slice)
        else:
            result = self._first_slice(self.crew)
        player, learner = result.player, self.learners[result.player]
        self.coordinator.take_slice(result)
        self._measure(self.coordinator.strength_orders(player), learning=True)
        order = self.coordinator.after_slice(player)
        if order is not None:
            self._write_snapshot(order)
            if self.state.snapshots % self.config.evaluation_every == 0:
                self._measure(self.coordinator.matrix_orders())
            if order.reset:  # after the copy, which would otherwise have the initial weights
                learner.reset()
                self.coordinator.reset_done(player)
        self._checkpoint(player)
        self._commit()
        return result

    def _first_slice(self, crew: Crew) -> SliceResult:
        """The first turn to be done, while all learners that the budget allows play theirs."""
        config = self.config
        left = config.budget_steps - self.state.env_steps if config.budget_steps else None
        return crew.first_slice(self._elsewhere, config.steps_of_slice, left)

    def _snapshot(self, player: str, reason: str) -> None:
        self._write_snapshot(self.coordinator.snapshot_order(player, reason))

    def _write_snapshot(self, order: SnapshotOrder) -> None:
        """Write the weights first, then the event that names them."""
        file = f"{PLAYERS}/{order.id}.ludory"
        target = path_inside(self.folder, file, self.log.file)
        # a crash here leaves a file that no event names, never an event without its file
        self.learners[order.player].save_policy(target)
        self.coordinator.snapshot_written(order, file, self._hash(target))

    def _hash(self, file: Path) -> str:
        """SHA-256 of a file that the log will name; its size is checked from now on."""
        self._sizes[file] = file.stat().st_size
        return file_hash(file)

    def _measure(self, orders: list[EvaluationOrder], learning: bool = False) -> None:
        play = self.evaluator.play if self.crew is None else self.crew.evaluate
        for result in play(orders):
            self.coordinator.take_evaluation(result, learning)

    def _checkpoint(self, player: str) -> None:
        """Write a checkpoint under a new name: the last one stays until the log names the new one."""
        file = f"{CHECKPOINTS}/{player}-{self.state.turn}.ludory"
        target, known = path_inside(self.folder, file, self.log.file), self.state.player(player)
        # removed only after the commit that names its successor
        self._outdated = player_file(self.folder, known) if known.file else None
        learner = self.learners[player]
        learner.save(target)
        self.coordinator.checkpointed(player, file, self._hash(target), learner.env_steps)

    def _commit(self) -> None:
        now = self._now()
        self.coordinator.commit(now - self._clock)
        self._clock = now
        # a resume reads this state, and of the log only what comes after
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
        if not self.state.matches:
            self._tell_that_no_match_ended()

    def _tell_that_no_match_ended(self) -> None:
        config, longest = self.config, self.game.facts.longest_game
        games = config.learner_options.get("num_envs", LEAGUE_GAMES)
        each = self.state.env_steps // (sum(config.roles) * games)
        print(
            f"ludory: no training match ended, so nobody has learnt who beats whom: a learner plays {games} games at once, with about "
            f"{each:,} decisions in each, a game has up to {longest:,}, and a match is {config.games_per_match} games. "
            "Resume with a larger budget, or begin another league with fewer games at once (num_envs=8 of the learner, -- --num-envs 8) "
            "and in a match (games_per_match=2, --games-per-match 2)",
            flush=True,
        )


def start_league(config: LeagueConfig, folder: str | Path, place: LeaguePlace = HERE) -> League:
    """Start a league in an empty folder, or in one whose league was stopped before its first commit.

    Raises:
        OptionError: leagues cannot play this game.
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
    with ExitStack() as undo:
        lock = FolderLock(target)
        undo.callback(lock.release)
        _refuse_begun(target)  # by a process that held the lock until now
        (target / FILE).unlink(missing_ok=True)
        for name in (PLAYERS, CHECKPOINTS):
            (target / name).mkdir(parents=True, exist_ok=True)
        for name, file in ((TEACHER, config.teacher), (START, config.init_from)):
            # resuming into the same folder: the file is there already
            if file and Path(file).resolve() != (target / name).resolve():
                shutil.copyfile(file, target / name)
        config = dataclasses.replace(config, **_shortened(config, game))
        # the log gets the numbers, whatever later versions take for defaults
        config = with_copies(
            dataclasses.replace(config, unit=config.unit_steps, slice_steps=config.steps_of_slice), target
        )
        log = EventLog(target)
        undo.callback(log.close)
        league = League(target, config, log, LeagueState(config.decay), lock, place)
        league.coordinator.emit(
            "created",
            # paths relative to the folder, so that it can be moved
            config=with_copies(config, Path()).to_json(),
            teacher_sha256=teacher.sha256,
            teacher_algorithm=read_header(config.first_weights).get("algorithm"),
            versions={name: version(name) for name in LIBRARIES},
            **place.told,
        )
        league.log.flush()  # `resume_league` can begin again from here
        league.coordinator.add_players(config.anchors)
        league.make_learners()
        league.begin()
        undo.pop_all()
        return league


def _shortened(config: LeagueConfig, game: Game) -> dict[str, Any]:
    """As `LeagueConfig.shortened`, and say so."""
    changes = config.shortened(game.facts.longest_game)
    if changes:
        options = ", ".join(
            f"{name}={value}"
            for name, value in {**changes, **changes["learner_options"]}.items()
            if name != "learner_options"
        )
        print(f"ludory: smaller turns, matches and batches, because the league is short: {options}", flush=True)
    return changes


def _refuse_begun(folder: Path) -> None:
    """Refuse a folder with a committed league; before the first commit nothing is lost."""
    if (folder / FILE).exists() and any(event.type not in BEGINNING for event in read_events(folder)):
        raise OutputError(
            f"{folder}: holds a league; `ludory train league --out {folder} --resume` continues it, or name another --out"
        )


def resume_league(folder: str | Path, place: LeaguePlace = HERE, **changes: Any) -> League:
    """Resume the league of a folder from its last commit; later work is repeated.

    Args:
        folder: of the league.
        place: where it goes on; a league does not depend on where it ran before.
        changes: another `budget_steps` or `minutes`.

    Raises:
        DataError: there is no league, or its log is damaged.
        CheckpointError: a file that the log names is missing, was changed, or lies outside the league's folder.
    """
    target = Path(folder)
    if not (target / FILE).exists():
        read_events(target)  # says what to type
    with ExitStack() as undo:
        lock = FolderLock(target)
        undo.callback(lock.release)
        log = EventLog(target, newest_state(target))
        undo.callback(log.close)
        events = standing(log.events)
        if not events or events[0].type != "created":
            raise DataError(
                f"{log.file}: no league was started here; run the same `ludory train league ... --out {target}` again"
            )
        config = recorded_config(events, target)
        if changes:
            # one of both budgets counts, so a new one clears the other
            config = dataclasses.replace(config, **{"budget_steps": 0, "minutes": 0.0, **changes})
        for name in (TEACHER, START):
            path_inside(target, name, log.file, CheckpointError)
        game = make_game(config.env, **config.options)
        teacher = load_teacher(config.first_weights, game, torch.device("cpu"))
        if teacher.sha256 != events[0].body["teacher_sha256"]:
            raise OptionError(
                f"{config.first_weights}: SHA-256 of the weights {teacher.sha256}, the league began with "
                f"{events[0].body['teacher_sha256']}; put the old file back"
            )
        commits = [event.seq for event in events if event.type == "committed"]
        if commits:
            budget = {"budget_steps": config.budget_steps, "minutes": config.minutes}
            anew = {} if game.saves else {"games": "new"}
            log.append("resumed", from_seq=commits[-1], budget=budget, **anew, **place.told)
            state = load_state(target, standing(log.events), config.decay)
            league = League(target, config, log, state, lock, place)
            league.make_learners()
            league.restore_learners()
            # nothing is undone: log and lock belong to the league now
            undo.pop_all()
            return league
    return start_league(config, target, place)


def check_game(game: Game) -> None:
    """Refuse a game that leagues do not play.

    Raises:
        OptionError: its rewards are not zero-sum.
    """
    if game.facts.reward != "zero_sum":
        raise OptionError(
            f"{game.id}: reward {game.facts.reward!r}; a league plays zero-sum games, such as Arena2P-v0 or Texas42Play-v0"
        )
