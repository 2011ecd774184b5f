"""`Sweep`: trials of an algorithm's settings on a game, in a folder that several processes share and a later command goes on with.

Optuna's TPE sampler proposes settings, its journal keeps the trials, and a trial whose score stays below the median of those before it
ends early. Training and evaluation are those of every other command.
"""

from __future__ import annotations

import dataclasses
import math
import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ludory.agents.evaluation.beside import ScoreBeside, score_beside_baseline
from ludory.algorithms.config import smaller_batches
from ludory.algorithms.running.callbacks import BetweenIterations
from ludory.algorithms.running.folder_lock import FolderLock
from ludory.algorithms.running.threads import one_thread
from ludory.algorithms.tuned.settings import TunedSettings
from ludory.benchmarks.harness.parts import check_setting, in_processes
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.errors import DataError, LudoryError, OptionError, PluginError, TrainingError
from ludory.plugins import algorithms
from ludory.plugins.requirements import install_command

from .space import Dimension, dimensions, shown, typed

JOURNAL, SETTING, REPORT = "journal.log", "sweep.json", "report.html"
"""Files of a sweep's folder."""
SHORTEST = 0.5
"""Smallest number of CPU-minutes that tuned settings state."""
STARTUP = 8
"""Trials with random settings at the start."""


@dataclass(frozen=True, slots=True)
class SweepSetting:
    """What all trials of a sweep have in common; a folder keeps one."""

    algorithm: str
    """Id."""
    env: str
    """Id of the game."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the game."""
    policy: str = "auto"
    """Network."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the config that all trials share."""
    space: Mapping[str, str] = field(default_factory=dict)
    """Values to try by field, such as "1e-4..3e-3"; empty: what the algorithm states."""
    timesteps: int = 500_000
    """Of a trial."""
    reports: int = 4
    """Scores that are taken in a trial, the last one at its end."""
    games: int = 500
    """Of a score."""
    games_seed: int = 2_000_003
    """Seed of these games, unlike those of trainings and of later evaluations."""
    baseline: str = "random"
    """Agent that plays the same games; in games with several sides, the opponent."""
    seed: int = 0
    """Of the trainings and of the proposals."""


class TrialResult(NamedTuple):
    """A trial that has ended.

    Args:
        number: of the trial.
        state: "complete", "pruned" or "failed".
        settings: what it tried.
        scores: by timesteps, in their order.
        cpu_seconds: of its training, without the evaluations.
        note: why it failed.
    """

    number: int
    state: str
    settings: dict[str, Any]
    scores: list[tuple[int, float]]
    cpu_seconds: float
    note: str = ""

    @property
    def score(self) -> float:
        """The last one; NaN if there is none."""
        return self.scores[-1][1] if self.scores else math.nan

    def __str__(self) -> str:
        tried = ", ".join(f"{name}={shown(value)}" for name, value in self.settings.items())
        score = f"{self.score:.3f}" if self.scores else self.note
        return f"trial {self.number} {self.state}: {score} after {self.cpu_seconds:.0f} CPU-seconds ({tried})"


class Sweep:
    """A sweep in a folder.

    Args:
        folder: made if it is missing.
        setting: of the trials; must be that of the folder, if it has one.

    Raises:
        OptionError: the space is empty, or has a value that the algorithm does not allow.
        DataError: the folder has a sweep with another setting.
        PluginError: Optuna is not installed.
    """

    def __init__(self, folder: Path, setting: SweepSetting) -> None:
        _optuna()
        self.folder, self.setting = folder, setting
        self.game, self.config = _game_and_config(setting)
        self.space = _space(setting, self.config)
        check_setting(folder / SETTING, dataclasses.asdict(setting))

    def run(self, trials: int, processes: int = 1) -> Iterator[TrialResult]:
        """Go on until the folder has `trials` finished trials; yields each that ends now.

        A trial that was interrupted begins again.

        Args:
            trials: in all, also those of earlier calls.
            processes: that train at the same time, with one thread each.

        Raises:
            OutputError: another command works on the folder.
        """
        optuna = _optuna()
        with FolderLock(self.folder, "sweep"):
            study = open_study(self.folder)
            self._prepare(study, optuna)
            done = len(self.results())
            tasks = [(self.folder, self.setting, k) for k in range(done, trials)]
            yield from map(_run_trial, tasks) if processes == 1 else in_processes(_run_trial, tasks, processes)

    def _prepare(self, study: Any, optuna: Any) -> None:
        """Begin with the algorithm's own settings; queue again what a stop interrupted."""
        state = optuna.trial.TrialState
        if not study.trials:
            own = {one.name: one.kept(getattr(self.config, one.name)) for one in self.space}
            study.enqueue_trial({name: value for name, value in own.items() if value is not None})
        waiting = study.get_trials(states=(state.WAITING,))
        for trial in study.get_trials(states=(state.RUNNING,)):
            fixed = trial.system_attrs.get("fixed_params")
            if fixed and not waiting:  # other proposals follow from the seed and the finished trials
                study.enqueue_trial(fixed)
            study.tell(trial.number, state=state.FAIL)

    def results(self) -> list[TrialResult]:
        """Finished trials in their order."""
        state = _optuna().trial.TrialState
        names = {state.COMPLETE: "complete", state.PRUNED: "pruned"}
        trials = open_study(self.folder).get_trials(deepcopy=False, states=tuple(names))
        return [self._result(trial, names[trial.state]) for trial in trials]

    def _result(self, trial: Any, state: str) -> TrialResult:
        kept = trial.user_attrs
        tried = {one.name: one.value(trial.params[one.name]) for one in self.space if one.name in trial.params}
        state = "failed" if "note" in kept else state
        scores = sorted(trial.intermediate_values.items())
        return TrialResult(trial.number, state, tried, scores, kept.get("cpu_seconds", 0.0), kept.get("note", ""))

    def best(self) -> TrialResult | None:
        """The finished trial with the highest score; None if there is none."""
        complete = [one for one in self.results() if one.state == "complete"]
        return max(complete, key=lambda one: one.score, default=None)

    def importances(self) -> dict[str, float]:
        """How much of the scores' differences each dimension explains (PED-ANOVA), adding up to 1; empty for few trials."""
        optuna = _optuna()
        study = open_study(self.folder)
        if sum(one.state == "complete" for one in self.results()) < STARTUP or len(self.space) < 2:
            return {}
        found: dict[str, float] = optuna.importance.get_param_importances(
            study, evaluator=optuna.importance.PedAnovaImportanceEvaluator()
        )
        return found

    def tuned(self, best: TrialResult) -> TunedSettings:
        """The settings of a trial as an entry of a file of tuned settings; `ludory bench tuned` then measures the entry."""
        kind: Any = algorithms.load(self.setting.algorithm)
        own = kind.config_class(**kind.suited_to(self.game))
        used = dataclasses.replace(self.config, **best.settings)
        names = [one.name for one in dataclasses.fields(own) if one.name not in ("seed", "device")]
        changed = {name: getattr(used, name) for name in names if getattr(used, name) != getattr(own, name)}
        minutes = max(SHORTEST, math.ceil(20 * best.cpu_seconds / 60) / 10)  # twice the time, for slower machines
        return TunedSettings(
            self.setting.env,
            self.setting.baseline,
            self.setting.timesteps,
            minutes,
            changed,
            self.setting.policy,
            dict(self.setting.options),
            sweep=self.command(),
        )

    def command(self) -> str:
        """The `ludory sweep` command that runs as many trials as there are now."""
        setting, usual = self.setting, SweepSetting("", "")
        words = ["ludory", "sweep", setting.algorithm, "--env", setting.env, "--baseline", setting.baseline]
        words += [word for name, value in setting.options.items() for word in ("--option", f"{name}={value}")]
        words += [word for name, text in setting.space.items() for word in ("--tune", f"{name}={text}")]
        words += typed(setting.fixed)
        for name in ("policy", "timesteps", "reports", "games", "seed"):
            value = getattr(setting, name)
            words += [f"--{name}", str(value)] if value != getattr(usual, name) else []
        return shlex.join([*words, "--trials", str(len(self.results()))])


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise PluginError(
            f"a sweep needs optuna, which is not installed: {install_command('ludory', 'optuna')}"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def open_study(folder: Path) -> Any:
    """Optuna's study in the folder of a sweep.

    Raises:
        DataError: its journal is damaged.
    """
    optuna = _optuna()
    from .journal import SweepJournal

    folder.mkdir(parents=True, exist_ok=True)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=0)
    try:
        storage = optuna.storages.JournalStorage(SweepJournal(folder / JOURNAL))
        return optuna.create_study(
            storage=storage, study_name="sweep", direction="maximize", load_if_exists=True, pruner=pruner
        )
    except (OSError, LudoryError):
        raise
    except Exception as error:  # whatever Optuna meets in a journal of an earlier version that is damaged
        raise DataError(
            f"{folder / JOURNAL}: damaged ({type(error).__name__}: {error}); put a copy of it back, or remove it to begin anew"
        ) from error


def _game_and_config(setting: SweepSetting) -> tuple[Game, Any]:
    """The game, and the settings that the trials change."""
    kind: Any = algorithms.load(setting.algorithm)
    game = make_game(setting.env, **setting.options)
    given = {**algorithms.get(setting.algorithm).fixed, **setting.fixed}
    config = kind.config_class(**{**kind.suited_to(game), "seed": setting.seed, **given})
    smaller = smaller_batches(config, setting.timesteps)
    return game, dataclasses.replace(config, **{name: smaller[name] for name in smaller if name not in given})


def _space(setting: SweepSetting, config: Any) -> list[Dimension]:
    stated = getattr(algorithms.load(setting.algorithm), "search_space", {})
    wanted = setting.space or {name: text for name, text in stated.items() if name not in setting.fixed}
    twice = [name for name in setting.space if name in setting.fixed]
    if twice:
        raise OptionError(f"{twice[0]} is in --tune and an option as well; leave one out")
    return dimensions(wanted, config)


def _run_trial(task: tuple[Path, SweepSetting, int]) -> TrialResult:
    """Run the trial after `count` finished ones. Its proposal depends on the seed and the trials before, not on who runs it."""
    folder, setting, count = task
    optuna = _optuna()
    study = open_study(folder)
    study.sampler = optuna.samplers.TPESampler(n_startup_trials=STARTUP, seed=setting.seed * 100_003 + count)
    sweep = Sweep(folder, setting)
    trial = study.ask()
    settings = {one.name: one.suggest(trial) for one in sweep.space}
    state, spent = optuna.trial.TrialState.COMPLETE, 0.0
    with one_thread():
        try:
            for done, score, spent in _scores(sweep, settings):
                trial.set_user_attr("cpu_seconds", round(spent, 2))
                trial.report(score, done)
                if done < setting.timesteps and trial.should_prune():
                    state = optuna.trial.TrialState.PRUNED
                    break
        except (OptionError, TrainingError) as error:  # settings that do not go together, or that diverge
            trial.set_user_attr("note", str(error))
            state = optuna.trial.TrialState.PRUNED
    study.tell(trial, score if state == optuna.trial.TrialState.COMPLETE else None, state=state)
    frozen = study.get_trials(deepcopy=False)[trial.number]
    return sweep._result(frozen, "complete" if state == optuna.trial.TrialState.COMPLETE else "pruned")


def _scores(sweep: Sweep, settings: Mapping[str, Any]) -> Iterator[tuple[int, float, float]]:
    """Timesteps, score and CPU seconds of the training so far, at even distances."""
    setting = sweep.setting
    kind: Any = algorithms.load(setting.algorithm)
    fields = {one.name: getattr(sweep.config, one.name) for one in dataclasses.fields(sweep.config)}
    started = time.process_time()
    model = kind(setting.policy, sweep.game, **{**fields, **settings})
    spent = time.process_time() - started
    for part in range(1, setting.reports + 1):
        started = time.process_time()
        until = round(setting.timesteps * part / setting.reports)
        left = max(0, setting.timesteps - model.num_timesteps)
        model.learn(left, _StopAt(until), reset_num_timesteps=False)
        spent += time.process_time() - started
        yield until, _scored(sweep, model).agent.mean, spent


class _StopAt(BetweenIterations):
    """Ends `learn` before the first iteration behind `timesteps`; schedules stay those of the whole training."""

    def __init__(self, timesteps: int) -> None:
        self._timesteps = timesteps

    def on_rollout_start(self) -> None:
        """Stop, if it is time."""
        learner: Any = self.model
        if learner.num_timesteps >= self._timesteps:
            learner.stop()


def _scored(sweep: Sweep, model: Any) -> ScoreBeside:
    setting = sweep.setting
    return score_beside_baseline(model.as_agent(), setting.baseline, sweep.game, setting.games, setting.games_seed)
