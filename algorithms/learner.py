"""`Learner`: the interface of everything that learns; like that of Stable-Baselines3's algorithms, so that its callbacks work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import Self

from ludory.algorithms.running.callbacks import Callbacks, MaybeCallback
from ludory.algorithms.running.metric_logs import Logger, MetricLog, also_logged, checked_log_interval, formats_as_sb3
from ludory.algorithms.running.optimiser_state import diverging
from ludory.algorithms.running.progress import Progress
from ludory.algorithms.sampling.step_locals import EPISODES
from ludory.checkpoints.checkpoint import install_hint
from ludory.data.header import header_from_json
from ludory.envs import EnvLike, Game, make_game
from ludory.envs.pictures import html_table
from ludory.errors import CheckpointError, OptionError, PluginError, UnknownIdError

if TYPE_CHECKING:
    from gymnasium import Space

    from ludory.envs.views.sb3 import GameVecEnv


class Learner(ABC):
    """Learns a game in steps, reports progress, and can be stopped, saved and resumed.

    It has no policy, engine or tensors: `Algorithm` adds these; a league and a flywheel run other learners.
    Subclasses define `id`, `config_class`, `iterate` (or `learn` itself), `save` and `load`.

    Args:
        game: the game to learn.
        config: an instance of `config_class`.
    """

    id: ClassVar[str]
    config_class: ClassVar[type[Any]]
    changeable: ClassVar[tuple[str, ...]] = ()
    """Fields of the config that may change when a run is resumed."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Other defaults of the config by name, for configs with a field `preset`."""
    run_is_folder: ClassVar[bool] = False
    """A run lives in a folder, with a name of any ending."""
    search_space: ClassVar[Mapping[str, str]] = {}
    """What `ludory sweep` tries, by field of the config: a range such as "1e-4..3e-3", or values such as "1,2,4"."""
    config: Any
    verbose: int = 0
    """1: print a table of metrics after every iteration, as in Stable-Baselines3."""
    tensorboard_log: str | Path | None = None
    """Folder for TensorBoard; every call of `learn` writes a folder of its own into it."""

    def __init__(self, game: Game, config: object) -> None:
        self.game, self.config = game, config
        self.num_timesteps = 0
        self.logger = Logger()
        self.time_share = 0.0
        """Used share of the time of a run that is limited by time; schedules follow it as they follow timesteps."""
        self.schedule_timesteps = 0
        """Timesteps over which schedules run where `learn` is called for parts of a training, as a league does; 0: those of each call."""
        self._total_timesteps = 0
        self._stopping = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.game.name}: {self._described()}>"

    def _repr_html_(self) -> str:
        config = [(part.name, repr(getattr(self.config, part.name))) for part in fields(self.config)]
        options = f"<details><summary>options</summary>{html_table(config)}</details>"
        return html_table(self._shown_rows(), repr(self)[1:-1]) + options

    def _shown_rows(self) -> list[tuple[str, ...]]:
        """Rows of the table that a notebook shows."""
        returns = [episode["r"] for episode in self.ep_info_buffer]
        mean = (
            [("mean return", f"{sum(returns) / len(returns):.3f} (the last {len(returns)} games)")] if returns else []
        )
        return [("game", self.game.name), ("timesteps", f"{self.num_timesteps:,}"), *mean]

    def _described(self) -> str:
        return f"{self.num_timesteps:,} timesteps"

    @classmethod
    def suited_to(cls, game: Game) -> dict[str, Any]:
        """Fields of the config with other defaults for this game: as many games as environments that were handed in."""
        count, names = getattr(game.rules.engine, "num_envs", None), [field.name for field in fields(cls.config_class)]
        return {} if count is None or "num_envs" not in names else {"num_envs": count}

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """Run one iteration; returns metrics to log, or None if `on_step` returned False.

        `on_step` must be called after every step; it counts `step_timesteps` and runs the callbacks.
        """
        raise NotImplementedError(f"{type(self).__name__} needs iterate()")

    @property
    def step_timesteps(self) -> int:
        """Timesteps of the last step."""
        return 1

    @property
    def last_step(self) -> dict[str, Any]:
        """Variables of the last step, for `locals` of callbacks."""
        return {}

    def watch_steps(self, watched: bool) -> None:  # noqa: B027
        """Called when `learn` begins: whether callbacks may read `last_step`, which need not be made otherwise."""

    def check_learnt(self, metrics: Mapping[str, float]) -> None:  # noqa: B027
        """Check what an iteration learnt, given its `metrics`.

        Raises:
            TrainingError: it is not finite.
        """

    @contextmanager
    def opened(self) -> Iterator[None]:
        """A context around `learn`, which may hold the lock of a folder."""
        yield

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        progress_bar: bool = False,
        reset_num_timesteps: bool = True,
        log_interval: int = 1,
        tb_log_name: str | None = None,
    ) -> Self:
        """Train for `total_timesteps`, rounded up to whole iterations; for algorithms that play, a timestep is a decision.

        Args:
            total_timesteps: of this call, over all games.
            callback: of Stable-Baselines3: one, a list, or a function (locals, globals) -> bool.
            progress_bar: show rate and time left.
            reset_num_timesteps: count from 0; False: continue counting, as after `load`. Schedules then end at `num_timesteps`
                plus `total_timesteps`.
            log_interval: iterations between two rows of the logs, which hold the metrics of the last one.
            tb_log_name: of the folder below `tensorboard_log`, which gets a number; None: the id without its version.

        Raises:
            OptionError: `total_timesteps` is not a number of at least 0, or `log_interval` no integer of at least 1.
            TrainingError: a loss, a gradient or a weight is not finite after an iteration.
        """
        if not isinstance(total_timesteps, Real) or not total_timesteps >= 0:
            raise OptionError(f"total_timesteps={total_timesteps!r}: must be a number of decisions, such as 1_000_000")
        checked_log_interval(log_interval)
        # as Stable-Baselines3 counts: a second call begins anew unless it is told to go on
        if reset_num_timesteps:
            self.num_timesteps = 0
        total_timesteps += self.num_timesteps  # by this name, as callbacks of Stable-Baselines3 read it
        self._total_timesteps = total_timesteps
        callbacks = Callbacks(callback)
        callbacks.init_callback(self)
        self.watch_steps(callbacks.read_steps)
        callbacks.on_training_start(locals(), globals())
        self._stopping = False
        formats, iterations = self.formats(self.verbose, tb_log_name), 0
        bar = Progress(self.id, total_timesteps, self.num_timesteps, progress_bar)
        with self.opened(), also_logged(self, formats), bar as progress:
            while self.num_timesteps < total_timesteps:
                callbacks.on_rollout_start()
                iterations += 1
                if self._stopping or not self._iteration(callbacks, progress, iterations % log_interval == 0):
                    break
        callbacks.on_training_end()
        return self

    def formats(self, verbose: int, tb_log_name: str | None) -> list[MetricLog]:
        """The logs of `verbose` and `tensorboard_log`, as in Stable-Baselines3."""
        return formats_as_sb3(tb_log_name or self.id.partition("-v")[0], verbose, self.tensorboard_log)

    def stop(self) -> None:
        """End `learn` before its next iteration, where the state can be saved and resumed exactly."""
        self._stopping = True

    def _iteration(self, callbacks: Callbacks, progress: Progress, logged: bool = True) -> bool:
        started, before = perf_counter(), self.num_timesteps

        def on_step() -> bool:
            self.num_timesteps += self.step_timesteps
            callbacks.update_locals(self.last_step)
            return callbacks.on_step()

        with diverging(lambda: f"{self.id}, iteration up to timestep {self.num_timesteps:,}"):
            metrics = self.iterate(on_step)
            # a callback stopped it within the iteration: what was played is not learnt from
            if metrics is None:
                return False
            self.check_learnt(metrics)
        callbacks.on_rollout_end()
        metrics = {**metrics, "time/fps": (self.num_timesteps - before) / (perf_counter() - started)}
        if logged:
            self._log(metrics)
        progress.update(self.num_timesteps, metrics)
        return True

    def _log(self, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self.logger.record(name, value)
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.dump(self.num_timesteps)

    @property
    def planned_timesteps(self) -> int:
        """Default length of a training run."""
        return 2_000_000

    @property
    def progress_remaining(self) -> float:
        """Remaining share of the training, 1 at the start."""
        total = self.schedule_timesteps or self._total_timesteps
        return 1.0 - min(1.0, max(self.num_timesteps / max(1, total), self.time_share))

    @property
    def ep_info_buffer(self) -> deque[dict[str, Any]]:
        """As in Stable-Baselines3: return `r`, length `l` and seconds `t` of the last 100 games; empty for learners that play none."""
        return deque(maxlen=EPISODES)

    @property
    def observation_space(self) -> Space[Any]:
        """Gymnasium's space of what a seat sees."""
        from ludory.envs.views.common import observation_space

        return observation_space(self.game.facts.observation)

    @property
    def action_space(self) -> Space[Any]:
        """Gymnasium's space of a seat's actions."""
        from ludory.envs.views.common import action_space

        return action_space(self.game.facts)

    @property
    def n_envs(self) -> int:
        """Games that it trains on side by side."""
        return int(getattr(self.config, "num_envs", 1))

    def get_env(self) -> GameVecEnv:
        """A Stable-Baselines3 `VecEnv` of separate games, as many as it trains on, for callbacks that need one."""
        from ludory.envs.views import make_vector_env, to_sb3

        if not hasattr(self, "_env"):
            self._env = to_sb3(make_vector_env(self.game, self.n_envs))
        return self._env

    def set_env(self, env: EnvLike, force_reset: bool = True) -> None:
        """Learn other games from now on; only for algorithms with games of their own.

        Raises:
            OptionError: its games cannot be replaced.
        """
        raise OptionError(f"{self.id}: its games cannot be replaced; make a new one with env=")

    def get_vec_normalize_env(self) -> None:
        """None: observations are not normalised (called by Stable-Baselines3's callbacks)."""
        return

    def dump_logs(self) -> None:
        """Write what was logged since the last call (called by Stable-Baselines3's callbacks)."""
        self.logger.dump(self.num_timesteps)

    def set_logger(self, logger: Logger) -> None:
        """Log to a `Logger`, ours or `stable_baselines3.common.logger.Logger`."""
        self.logger = logger

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies, also those of `pickle`, continue where this learner is, as what `save` and `load` make does."""
        with TemporaryDirectory() as folder:
            self.save(file := Path(folder) / "copied")
            if file.is_dir():
                raise OptionError(
                    f"{self.id}: its state is a folder, which cannot be copied in memory; type save(folder) and load(folder)"
                )
            # a registered game is made again by its id, which is smaller and works in another version
            return _loaded, (
                type(self),
                file.read_bytes(),
                None if self.game.id else self.game,
                self.verbose,
                self.tensorboard_log,
            )

    @abstractmethod
    def save(self, file: str | Path) -> None:
        """Write everything that a resumed run needs.

        Raises:
            TrainingError: weights are not finite; an earlier file stays as it is.
            OutputError: the place cannot be written to.
        """

    @classmethod
    @abstractmethod
    def load(cls, file: str | Path, env: EnvLike | None = None, **changes: Any) -> Self:
        """Return a learner that continues where `save` was called.

        Args:
            file: what `save` wrote.
            env: the saved game; only needed if it is not registered.
            **changes: config fields to change.

        Raises:
            CheckpointError: damaged, not a checkpoint, or of another learner or game.
        """


def _loaded(
    kind: type[Learner], saved: bytes, env: Game | None, verbose: int, tensorboard_log: str | Path | None
) -> Learner:
    """The learner that was copied."""
    with TemporaryDirectory() as folder:
        (file := Path(folder) / "copied").write_bytes(saved)
        learner = kind.load(file, env)
    learner.verbose, learner.tensorboard_log = verbose, tensorboard_log
    return learner


def game_of(env: EnvLike) -> Game:
    """The game of an id, a `Game`, one of Ludory's environments, or anything that `game_of_object` accepts."""
    return _game_and_fields(env)[0]


def _game_and_fields(env: EnvLike) -> tuple[Game, dict[str, Any]]:
    """The game of `env`, and the fields of a config that `env` was made with if it is a view."""
    if isinstance(env, str | Game):
        return make_game(env), {}
    from ludory.envs.adapters.objects import handed_in  # imports Gymnasium

    return handed_in(env)


def needed_game(env: EnvLike | None, id: str) -> Game:
    """As `game_of`, for the learner `id`, which has no options for seats.

    Raises:
        OptionError: `env` is None, or was made with `seats=` or `others=`.
    """
    return needed_env(env, id, (), {})[0]


def needed_env(
    env: EnvLike | None, id: str, names: Collection[str], config: Mapping[str, Any]
) -> tuple[Game, dict[str, Any]]:
    """The game of `env` for the learner `id`, and the fields of its config that `env` was made with.

    Args:
        env: as for `game_of`.
        id: of the learner.
        names: all fields of its config.
        config: those that were given.

    Raises:
        OptionError: `env` is None, or was made with a seat or an opponent that the learner has no field for, or with something
            else than `config` says.
    """
    if env is None:
        raise OptionError(f"{id} needs env=: a game id such as 'Hanabi2P-v0' (`ludory list games`)")
    game, made_with = _game_and_fields(env)
    said = ", ".join(f"{name}={value!r}" for name, value in made_with.items())
    again = f"type env={game.id!r}" if game.id else "give the game itself"
    if lacking := [name for name in ("seats", "others") if name in made_with and name not in names]:
        raise OptionError(
            f"this environment was made with {said}, and {id} has no option {' or '.join(lacking)}; {again} to leave them out"
        )
    for name, value in made_with.items():
        if name in config and str(config[name]) != str(value):
            raise OptionError(
                f"this environment was made with {said}, got {name}={config[name]!r}; leave {name} out, or {again} with the seats and "
                "others that you want"
            )
    return game, {name: value for name, value in made_with.items() if name in names}


def game_to_load(cls: type[Learner], file: str | Path, header: Mapping[str, Any], env: EnvLike | None) -> Game:
    """The game with which `cls.load` restores what has this header: `env`, or if it is None the saved game.

    Raises:
        CheckpointError: the header is of another learner or another game, or the game cannot be made here.
    """
    if header.get("algorithm") != cls.id:
        raise CheckpointError(
            f"{file}: written by {header.get('algorithm')!r}, this is {cls.id!r}; use ludory.load(file)"
        )
    saved = header["env"]
    if env is None and not saved["id"]:
        raise CheckpointError(f"{file}: trained on an environment without an id; type load(file, env=...) with it")
    game = saved_game(file, header) if env is None else game_of(env)
    if (game.id, dict(game.options)) != (saved["id"], saved["options"]):
        raise CheckpointError(
            f"{file}: trained on {saved['id']} with options {saved['options']}, got {game.id} with options {dict(game.options)}"
        )
    return game


def saved_game(file: str | Path, header: Mapping[str, Any]) -> Game:
    """The game of a checkpoint's header, by id and options, with those of its engine that decide which rules it plays by; for recorded games that are not installed, the description in the header.

    Raises:
        CheckpointError: it cannot be made here.
    """
    saved = header["env"]
    try:
        return make_game(saved["id"], **saved["options"], **saved.get("engine_options", {}))
    except (UnknownIdError, PluginError, OptionError) as error:
        if "recorded" in saved:  # it was learnt from recorded games alone
            return Game.of_header(header_from_json(saved["recorded"], file))
        raise CheckpointError(
            f"{file}: trained on {saved['id']}, which cannot be made here: {error}{install_hint(header, 'game')}"
        ) from error
