"""`Algorithm`: what every learner is to its user; shaped like Stable-Baselines3's, so that its callbacks work."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, ConvertCallback
from stable_baselines3.common.logger import Logger, configure
from torch import Tensor
from typing_extensions import Self

from ludory.agents.networks.build import PolicySpec, build_policy, complete, parse_policy
from ludory.agents.networks.policy import Policy, numpy_to_bits
from ludory.agents.networks.sb3_weights import copy_weights, is_sb3_file, read_sb3
from ludory.agents.neural import NeuralAgent
from ludory.envs.checks import checked_seats
from ludory.envs.engine import Engine
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game
from ludory.errors import CheckpointError, OptionError, PluginError, SnapshotError, UnknownIdError

from .checkpoint import read_checkpoint, write_checkpoint
from .config import AlgorithmConfig, LearnerConfig, make_config
from .divergence import check_finite, check_savable, diverging
from .lanes import make_lanes
from .privileged import save_value
from .progress import Progress
from .sampler import Sampler
from .shaping import Shaping
from .teacher import Teacher, load_teacher, take_weights

MaybeCallback = BaseCallback | Callable[[dict[str, Any], dict[str, Any]], bool] | list[BaseCallback] | None


class Algorithm(ABC):
    """A learner, its policy and its games.

    Subclasses name `id` and `config_class` and write `setup` and `iterate` (or `learn` itself); what must survive a resume beside the weights
    goes through `training_state` and `restore_training_state`.

    Args:
        policy: network by name, with arguments where wanted: "gru(memory_size=128)"; "auto" for the algorithm's default.
        env: game id, `Game`, or an environment of Gymnasium, PettingZoo or Stable-Baselines3: an object, a class or function that
            makes one, a list of these, or a vector environment.
        **config: fields of `config_class`.
    """

    id: ClassVar[str]
    config_class: ClassVar[type[LearnerConfig]] = AlgorithmConfig
    inputs: ClassVar[tuple[str, ...]] = ("init_from",)
    """Fields of the config that name what a new run reads; a loaded model does without."""
    changeable: ClassVar[tuple[str, ...]] = ()
    """Fields of the config that may change when a run is resumed."""
    continuous: ClassVar[bool] = False
    """True if it learns continuous actions, too."""
    config: Any

    def __init__(self, policy: str | PolicySpec = "auto", env: Any = None, **config: Any) -> None:
        if env is None:
            raise OptionError(f"{self.id} needs env=: a game id such as 'Hanabi2P-v0' (`ludory list games`)")
        game = game_of(env)
        if not self.continuous:
            game.need(self.id, "heads")
        self.config = make_config(self.config_class, {**self.suited_to(game), **config})
        self.game: Game = game
        self.policy_spec = complete(parse_policy(policy), self._policy_wishes())
        self.device = _device(self.config.device)
        self._open_source()
        with torch.random.fork_rng():
            torch.manual_seed(self.config.seed)
            self.policy = build_policy(self.policy_spec, game.facts).to(self.device)
        if self.policy.trained_by not in (None, self.id):
            raise OptionError(
                f"policy {self.policy_spec.id!r} is learnt by {self.policy.trained_by} only; for {self.id} take 'mlp' or 'gru'"
            )
        if self.config.compile:
            self.policy.compile()
            self.policy.unroll = torch.compile(self.policy.unroll)  # type: ignore[method-assign]
        self.generator = torch.Generator(self.device).manual_seed(self.config.seed)
        self.num_timesteps = 0
        self.logger: Logger = configure(None, [])
        self._total_timesteps = 0
        self._stopping = False
        if self.config.init_from:
            self._start_from(self.config.init_from)
        self._teacher: Teacher | None = None
        self._teacher_sha256: str | None = None
        self._learn_from_teacher()
        self.setup()

    @classmethod
    def suited_to(cls, game: Game) -> dict[str, Any]:
        """Fields of the config whose defaults are others for this game."""
        return {}

    def _start_from(self, file: str) -> None:
        """Take the weights of a checkpoint, or of a model's .zip of Stable-Baselines3."""
        if is_sb3_file(file):
            copy_weights(file, read_sb3(file), self.policy, self.game.id)
        else:
            take_weights(self.policy, file, *read_checkpoint(file), self.game)

    def _learn_from_teacher(self) -> Policy | None:
        """The frozen policy that the config names, if it names one; the same weights in every part of a run.

        Raises:
            CheckpointError: it can not be read, or has changed since the run began.
        """
        named = self._teacher_file
        if named and self._teacher is None:
            teacher = self._load_teacher(named)
            if self._teacher_sha256 not in (None, teacher.sha256):
                raise CheckpointError(
                    f"{named}: this teacher has changed since the run began (SHA-256 {self._teacher_sha256}, now {teacher.sha256}); "
                    "put the old file back"
                )
            self._teacher, self._teacher_sha256 = teacher, teacher.sha256
        return self._teacher.policy if self._teacher else None

    @property
    def _teacher_file(self) -> str | None:
        return getattr(self.config, "teacher", None)

    def _load_teacher(self, file: str) -> Teacher:
        return load_teacher(file, self.game, self.device)

    def _policy_wishes(self) -> dict[str, Any]:
        """Arguments of the network that the config names."""
        config = self.config
        return {"hidden": config.hidden, "activation": config.activation, "separate_value": config.separate_value}

    @abstractmethod
    def setup(self) -> None:
        """Make optimisers and whatever else training needs; called once, after the policy is built."""

    def _open_source(self) -> None:
        """Open what the algorithm learns from: games played by a sampler."""
        config = self.config
        self.engine: Engine = make_engine(self.game, config.num_envs, device=config.device, seed=config.seed)
        shaping = Shaping.of(self.game, self.engine, config.shaping)
        self.sampler = Sampler(
            make_lanes(self.game, self.engine, config.seats, config.others), config.precision, shaping
        )

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """Sample and learn once; gives numbers to log, None when `on_step` asked to stop.

        `on_step` is called after every step of all games and counts timesteps.
        """
        raise NotImplementedError(f"{type(self).__name__} needs iterate()")

    def training_state(self) -> dict[str, Tensor]:
        """Tensors beside weights, games and random state that a resumed run needs."""
        return {}

    def restore_training_state(self, state: dict[str, Tensor]) -> None:  # noqa: B027
        """Take up what `training_state` gave."""

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        progress_bar: bool = False,
        reset_num_timesteps: bool = True,
    ) -> Self:
        """Train until `total_timesteps` decisions were made (whole iterations).

        Args:
            total_timesteps: decisions of the learner, over all games.
            callback: of Stable-Baselines3: one, a list, or a function (locals, globals) -> bool.
            progress_bar: show rate and time left.
            reset_num_timesteps: count from 0; False goes on counting, as after `load`.

        Raises:
            TrainingError: a loss, a gradient or a weight is not finite after an iteration.
        """
        if reset_num_timesteps:
            self.num_timesteps = 0
        self._total_timesteps = total_timesteps
        callbacks = self._callback(callback)
        callbacks.on_training_start(locals(), globals())
        self._stopping = False
        with Progress(self.id, total_timesteps, self.num_timesteps, progress_bar) as progress:
            while self.num_timesteps < total_timesteps:
                callbacks.on_rollout_start()
                if self._stopping or not self._iteration(callbacks, progress):
                    break
        callbacks.on_training_end()
        return self

    def stop(self) -> None:
        """End `learn` before its next iteration; what was learnt can be saved and gone on with exactly."""
        self._stopping = True

    def _iteration(self, callbacks: BaseCallback, progress: Progress) -> bool:
        started, before = perf_counter(), self.num_timesteps

        def on_step() -> bool:
            self.num_timesteps += self.sampler.decisions_per_step
            callbacks.update_locals(self.sampler.last_step)
            return callbacks.on_step()

        with diverging(lambda: f"{self.id}, iteration up to timestep {self.num_timesteps:,}"):
            metrics = self.iterate(on_step)
            if metrics is None:
                return False
            check_finite(metrics, self._learning_weights())
        callbacks.on_rollout_end()
        metrics = {**metrics, "time/fps": (self.num_timesteps - before) / (perf_counter() - started)}
        self._log(metrics)
        progress.update(self.num_timesteps, metrics)
        return True

    def _learning_weights(self) -> dict[str, Tensor]:
        """Of all networks that learn, by name."""
        value = getattr(self, "value", None)
        return self.policy.state_dict() | ({} if value is None else save_value(value))

    def _log(self, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self.logger.record(name, value)
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.dump(self.num_timesteps)

    def _callback(self, callback: MaybeCallback) -> BaseCallback:
        if isinstance(callback, list):
            callback = CallbackList(callback)
        elif not isinstance(callback, BaseCallback):
            callback = ConvertCallback(callback) if callback else CallbackList([])
        callback.init_callback(self)  # type: ignore[arg-type]  # our shape is SB3's
        return callback

    @property
    def planned_timesteps(self) -> int:
        """How long to train where nobody says."""
        return 2_000_000

    @property
    def progress_remaining(self) -> float:
        """Share of the training still to come, 1 at the start."""
        return 1.0 - min(1.0, self.num_timesteps / max(1, self._total_timesteps))

    @torch.no_grad()
    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        action_masks: Any = None,
        seat: Any = None,
    ) -> tuple[Any, Any]:
        """Actions for one observation (*shape) or a batch (m, *shape), and the state after them.

        Args:
            observation: as the game's views give it.
            state: memory of recurrent policies, as returned before.
            episode_start: (m,) bool; where true, `state` starts anew.
            deterministic: most probable action instead of a draw.
            action_masks: (m, A) or (A,) bool; None: everything is allowed.
            seat: who decides, one seat or (m,) of them; only for networks that want to know, such as hanabi_gru.

        Raises:
            OptionError: an observation of another shape; or the network wants to know its seat, or the moves of all seats, which only
                an agent sees (`as_agent()`).
        """
        if self.policy.uses_previous:
            raise OptionError(
                f"predict: this {self.policy.id} is told the moves of all seats, which are no part of an observation; "
                "let it sit at a table: ludory.evaluate([model.as_agent(), ...], game=...)"
            )
        if self.policy.uses_seat and seat is None:
            raise OptionError(
                f"predict: {self.policy.id} must be told which seat it plays: predict(..., seat=info['player'])"
            )
        shape = self.game.facts.observation.shape
        array = np.asarray(observation)
        single = array.shape == shape
        batch = array[None] if single else array
        if batch.shape[1:] != shape:
            raise OptionError(
                f"observation has shape {array.shape}, must be {shape} or (m, {', '.join(map(str, shape))})"
            )
        width = self.game.facts.num_actions
        mask = np.ones((len(batch), width), bool) if action_masks is None else np.asarray(action_masks, bool)
        memory = self._fresh_memory(state, episode_start)
        seats = (
            None if seat is None else torch.tensor(checked_seats(seat, len(batch), self.game.facts), device=self.device)
        )
        output = self.policy(numpy_to_bits(batch, self.policy.observation).to(self.device), memory, seats)
        legal = torch.from_numpy(mask.reshape(len(batch), width)).to(self.device)
        distribution = self.policy.distribution(output.logits, legal)
        actions = distribution.mode() if deterministic else distribution.sample(self.generator)
        chosen = self.policy.playable(actions).cpu().numpy()
        chosen = chosen[:, 0] if chosen.shape[1] == 1 and self.policy.box is None else chosen
        return (chosen[0] if single else chosen), output.memory

    def _fresh_memory(self, memory: Tensor | None, starts: Any) -> Tensor | None:
        """`memory` (m, size), anew in the rows where `starts` (m,) is true."""
        if memory is None or starts is None:
            return memory
        initial = self.policy.initial_memory(len(memory))
        rows = torch.as_tensor(np.asarray(starts, bool)).reshape(-1, 1).to(memory.device)
        return memory if initial is None else torch.where(rows, initial, memory)

    def as_agent(self, deterministic: bool = True) -> NeuralAgent:
        """The policy as an agent that can sit at a table."""
        return NeuralAgent(self.policy, self.id, deterministic, self.config.seed)

    def get_env(self) -> Any:
        """As many games as it trains on, of their own, as a Stable-Baselines3 `VecEnv`, for callbacks that ask for one."""
        from ludory.envs.views.gymnasium_vector import make_vector_env
        from ludory.envs.views.sb3 import to_sb3

        if not hasattr(self, "_env"):
            self._env = to_sb3(make_vector_env(self.game, getattr(self.config, "num_envs", 1)))
        return self._env

    def get_vec_normalize_env(self) -> None:
        """None: observations are not normalised (asked by Stable-Baselines3's callbacks)."""
        return

    def dump_logs(self) -> None:
        """Write what was logged since the last time (asked by Stable-Baselines3's callbacks)."""
        self.logger.dump(self.num_timesteps)

    def set_logger(self, logger: Logger) -> None:
        """Log to a `stable_baselines3.common.logger.Logger`."""
        self.logger = logger

    def save(self, file: str | Path) -> None:
        """Write everything that goes on from here: weights, optimiser, games, random state. Atomic.

        Raises:
            TrainingError: weights are not finite; a file written before stays as it is.
            OutputError: the place can not be written to.
        """
        tensors = self._tensors()
        check_savable(file, tensors)
        write_checkpoint(file, self._header() | self._source_header(), tensors)

    def save_policy(self, file: str | Path) -> None:
        """Write the network alone, for playing; `load` gives a model that learns on with a fresh optimiser and fresh games.

        Raises:
            TrainingError: weights are not finite; a file written before stays as it is.
            OutputError: the place can not be written to.
        """
        weights = {f"policy/{name}": tensor for name, tensor in self.policy.state_dict().items()}
        check_savable(file, weights)
        write_checkpoint(file, self._header() | {"policy_only": True}, weights)

    def restore(self, file: str | Path) -> None:
        """Go on, in this very object, where `save` was called: weights, optimiser, games, random state.

        Raises:
            CheckpointError: damaged, foreign, or of a network that does not fit.
        """
        self._restore(file, *read_checkpoint(file))

    def _header(self) -> dict[str, Any]:
        return {
            "algorithm": self.id,
            "config": dataclasses.asdict(self.config),
            "policy": self.policy_spec._asdict(),
            "env": {"id": self.game.id, "options": dict(self.game.options)},
            "num_timesteps": self.num_timesteps,
            "total_timesteps": self._total_timesteps,
            "teacher": self._teacher_sha256,
        }

    def _tensors(self) -> dict[str, Tensor]:
        groups = {
            "policy": self.policy.state_dict(),
            "training": self.training_state(),
            **self._source_tensors(),
            "random": {"torch": self.generator.get_state()},
        }
        return {f"{group}/{name}": tensor for group, part in groups.items() for name, tensor in part.items()}

    @classmethod
    def load(cls, file: str | Path, env: Any = None, **changes: Any) -> Self:
        """A model that goes on where `save` was called.

        Args:
            file: checkpoint.
            env: only needed for games that are not registered; must be the game of the checkpoint.
            **changes: config fields to change, e.g. device.

        Raises:
            CheckpointError: damaged, foreign, of another algorithm or another game.
        """
        header, tensors = read_checkpoint(file)
        if header.get("algorithm") != cls.id:
            raise CheckpointError(
                f"{file}: written by {header.get('algorithm')!r}, this is {cls.id!r}; use ludory.load(file)"
            )
        saved = header["env"]
        if env is None and not saved["id"]:
            raise CheckpointError(f"{file}: trained on an environment without an id; type load(file, env=...) with it")
        game = _saved_game(file, saved) if env is None else game_of(env)
        if (game.id, dict(game.options)) != (saved["id"], saved["options"]):
            raise CheckpointError(
                f"{file}: trained on {saved['id']} with options {saved['options']}, got {game.id} with options {dict(game.options)}"
            )
        config = {**header["config"], **changes}
        model = cls(PolicySpec(**header["policy"]), game, **{**config, **dict.fromkeys(cls.inputs)})
        model.config = dataclasses.replace(model.config, **{name: config.get(name) for name in cls.inputs})
        model._restore(file, header, tensors)
        return model

    def _restore(self, file: str | Path, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        take_weights(self.policy, file, header, tensors, self.game)
        self.num_timesteps, self._total_timesteps = header["num_timesteps"], header["total_timesteps"]
        self._teacher_sha256 = header.get("teacher")
        if header.get("policy_only"):
            return
        self.restore_training_state(_group(tensors, "training"))
        try:
            if self._restore_source(header, tensors):
                self.generator.set_state(tensors["random/torch"])
        except SnapshotError as error:
            raise CheckpointError(f"{file}: {error}") from error

    def _source_header(self) -> dict[str, Any]:
        return {"sampling": self.sampler.started and self.game.saves}

    def _source_tensors(self) -> dict[str, dict[str, Tensor]]:
        if not self.game.saves:  # a resumed run starts new games
            return {}
        games = {name: torch.as_tensor(value) for name, value in self.engine.fields().items()}
        return {"sampler": self.sampler.state(), "games": games}

    def _restore_source(self, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> bool:
        """Take up the games where they were; False if there are none, or another number of them."""
        if not header["sampling"] or len(tensors["games/to_move"]) != self.engine.num_games:
            return False
        self.engine.load_fields({name: tensor.numpy() for name, tensor in _group(tensors, "games").items()})
        self.sampler.restore(_group(tensors, "sampler"))
        return True


def _group(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.partition("/")[2]: tensor for name, tensor in tensors.items() if name.startswith(prefix + "/")}


def _saved_game(file: str | Path, saved: Mapping[str, Any]) -> Game:
    try:
        return make_game(saved["id"], **saved["options"])
    except (UnknownIdError, PluginError, OptionError) as error:
        raise CheckpointError(f"{file}: trained on {saved['id']}, which can not be made here: {error}") from error


def game_of(env: Any) -> Game:
    """The game behind an id, a `Game`, one of Ludory's environments, or whatever `game_of_object` takes."""
    game = env if isinstance(env, type) else getattr(getattr(env, "unwrapped", env), "game", env)
    if isinstance(game, str | Game):
        return make_game(game)
    from ludory.envs.adapters.objects import game_of_object  # imports Gymnasium and PettingZoo

    return game_of_object(env)


def _device(name: str) -> torch.device:
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise OptionError(f"device={name!r}: must be 'cpu' or 'cuda', or 'cuda:1' for the second GPU") from error
