"""`Algorithm`: a learner with its own policy and games."""

from __future__ import annotations

import dataclasses
import logging
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from typing_extensions import Self

from ludory.agents import NeuralAgent, Policy, numpy_to_bits
from ludory.agents.networks import build
from ludory.agents.networks.import_sb3 import copy_weights, is_sb3_file, read_sb3
from ludory.agents.networks.layers.recurrent import keep_from_compiling
from ludory.algorithms.running.optimiser_state import check_finite, check_savable
from ludory.algorithms.running.ranks import Ranks
from ludory.algorithms.running.threads import one_thread, suited_precision
from ludory.algorithms.sampling.captured_sampler import CapturedSampler
from ludory.algorithms.sampling.lanes import Lanes, make_lanes
from ludory.algorithms.sampling.other_play import check_network, in_other_play
from ludory.algorithms.sampling.privileged import save_value
from ludory.algorithms.sampling.sampler import Sampler
from ludory.algorithms.sampling.shaping import Shaping
from ludory.algorithms.sampling.shares import Share, shares_of
from ludory.algorithms.sampling.spread import SpreadSampler
from ludory.algorithms.sampling.teacher import Teacher, load_teacher
from ludory.checkpoints import read_checkpoint, write_checkpoint, write_folder
from ludory.cluster.workers import Workers
from ludory.data.header import header_of, header_to_json
from ludory.envs import Engine, EnvLike, NamedGame, checked_seats, make_engine
from ludory.envs.conventions import RULES
from ludory.envs.recorded_game import package_of
from ludory.errors import CheckpointError, OptionError, SnapshotError
from ludory.plugins import algorithms, networks

from .config import AlgorithmConfig, LearnerConfig, make_config, playing_seats
from .learner import Learner, game_to_load, needed_env
from .prediction import fresh_memory, legal_masks, warn_of_missing_masks

LOG = logging.getLogger("ludory.algorithm")


class Algorithm(Learner):
    """A learner with its policy and its games.

    Subclasses define `id`, `config_class`, `setup` and `iterate` (or `learn` itself). State beside the weights that must survive a resume
    goes through `training_state` and `restore_training_state`.

    Args:
        policy: name of a network, with arguments if needed, such as "gru(memory_size=128)"; "auto": the algorithm's default.
        env: game id, `Game`, or an environment of Gymnasium, PettingZoo or Stable-Baselines3: an object, a class or function that
            returns one, a list of these, or a vector environment.
        verbose: 1: print a table of metrics after every iteration, as in Stable-Baselines3.
        tensorboard_log: folder for TensorBoard.
        **config: fields of `config_class`.
    """

    config_class: ClassVar[type[LearnerConfig]] = AlgorithmConfig
    inputs: ClassVar[tuple[str, ...]] = ("init_from",)
    """Fields of the config that name inputs of a new run; a loaded model does not read them."""
    teacher_weight: ClassVar[str | None] = None
    """Field of the config with the weight of the KL to the policy in `config.teacher`; None: the algorithm has no teacher."""
    saves_folder: ClassVar[bool] = False
    """Whether a checkpoint is a folder, with the files that `write_files` writes, instead of one file."""
    splits_batches: ClassVar[bool] = False
    """Whether the algorithm shares batches among threads itself; PyTorch then uses one thread for each operation on the CPU."""
    samples_in: ClassVar[str | None] = None
    """How workers can play its games, see `sample_at`: "lockstep", with the current weights, or "turns", with weights that may be older;
    None: they cannot."""
    continuous: ClassVar[bool] = False
    """Whether it also learns continuous actions."""
    ranks: Ranks | None = None
    """The processes that learn together, within `learn`; None: this one alone."""

    def __init__(
        self,
        policy: str | build.PolicySpec = "auto",
        env: EnvLike | None = None,
        *,
        verbose: int = 0,
        tensorboard_log: str | Path | None = None,
        **config: Any,
    ) -> None:
        self.verbose, self.tensorboard_log = verbose, tensorboard_log
        names = [field.name for field in dataclasses.fields(self.config_class)]
        game, made_with = needed_env(env, self.id, names, config)
        if not self.continuous:
            game.need(self.id, "heads")
        super().__init__(game, make_config(self.config_class, {**self.suited_to(game), **made_with, **config}))
        self.policy_spec = build.complete(build.parse_policy(self._suited_policy(policy)), self._policy_wishes())
        self.device = _device(self.config.device)
        self._open_source()
        # the caller's random state neither changes the weights nor is changed
        with torch.random.fork_rng():
            torch.manual_seed(self.config.seed)
            self.policy = build.build_policy(self.policy_spec, game.facts).to(self.device)
        if self.policy.trained_by not in (None, self.id):
            raise OptionError(
                f"policy {self.policy_spec.id!r} is learnt by {self.policy.trained_by} only; for {self.id} take 'mlp' or 'gru'"
            )
        check_network(self.policy, self.config)
        if self.config.precision == "auto":  # kept, so that a run goes on as it began, wherever it is resumed
            self._settle(self._suited_precision())
        if self.config.compile:
            keep_from_compiling()
            self.policy.compile()
            self.policy.unroll = torch.compile(self.policy.unroll)  # type: ignore[method-assign]
        self.generator = torch.Generator(self.device).manual_seed(self.config.seed)
        if self.config.init_from:
            self._start_from(self.config.init_from)
        self._told_of_masks = False
        self._teacher: Teacher | None = None
        self._teacher_sha256: str | None = None
        self._learn_from_teacher()
        self.setup()

    def _start_from(self, file: str) -> None:
        """Load the weights of a checkpoint, or of a .zip of Stable-Baselines3."""
        if is_sb3_file(file):
            copy_weights(file, read_sb3(file), self.policy, self.game.id)
        else:
            build.take_weights(self.policy, file, *read_checkpoint(file), self.game)

    def _learn_from_teacher(self) -> Policy | None:
        """The frozen policy that the config names, if any; its weights are the same in every part of a run.

        Raises:
            CheckpointError: it cannot be read, or has changed since the run began.
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

    def _shown_rows(self) -> list[tuple[str, ...]]:
        """As `Learner._shown_rows`, with the policy."""
        spec = self.policy_spec
        given = ", ".join(f"{name}={value!r}" for name, value in spec.arguments.items())
        return [("policy", f"{spec.id}({given})"), *super()._shown_rows()]

    def _described(self) -> str:
        return f"policy {self.policy.id}, {super()._described()}"

    @property
    def _teacher_file(self) -> str | None:
        return getattr(self.config, "teacher", None)

    def _load_teacher(self, file: str) -> Teacher:
        return load_teacher(file, self.game, self.device)

    def _suited_policy(self, policy: str | build.PolicySpec) -> str | build.PolicySpec:
        """`policy`, or the name of what "auto" means for the game."""
        return build.suited_policy(policy, self.game.facts)

    def _policy_wishes(self) -> dict[str, Any]:
        """Arguments of the network that come from the config."""
        config = self.config
        return {"hidden": config.hidden, "activation": config.activation, "separate_value": config.separate_value}

    def _suited_precision(self) -> str:
        """What `precision="auto"` means for this network, minibatch and machine."""
        return suited_precision(self.policy, *self._minibatch)

    @property
    def _minibatch(self) -> tuple[int, int]:
        """Length of the sequences of a gradient step, and its decisions in all, of which times are measured."""
        found = {"n_steps": 1, "batch_size": 512, **dataclasses.asdict(self.config)}
        return found["n_steps"], found["batch_size"]

    @abstractmethod
    def setup(self) -> None:
        """Make optimisers and other state of the training; called once, after the policy is built."""

    def _open_source(self) -> None:
        """Open the source of data: games played by a sampler."""
        config = self.config
        self.engine: Engine = make_engine(self.game, config.num_envs, device=config.device, seed=config.seed)
        shaping = Shaping.of(self.game, self.engine, config.shaping)
        seats, others = playing_seats(self.game.facts, config.seats, config.others)
        lanes = in_other_play(make_lanes(self.game, self.engine, seats, others), config)
        self.sampler: Sampler = self._sampler_of(lanes, shaping)

    def sample_from(self, lanes: Lanes) -> None:
        """Replace the sampler's lanes, for example by games against the opponents that a league assigns."""
        critic, shaping = self.sampler.critic, Shaping.of(self.game, self.engine, self.config.shaping)
        self.sampler = self._sampler_of(in_other_play(lanes, self.config), shaping)
        self.sampler.critic = critic

    def _settle(self, precision: str) -> None:
        """Compute in `precision` from now on, also in runs that go on from a checkpoint."""
        self.config = dataclasses.replace(self.config, precision=precision)
        if self._plays:
            self.sampler.compute_in(precision)
        if precision != "auto":
            LOG.info("%s: precision %s", self.id, precision)

    def _sampler_of(self, lanes: Lanes, shaping: Shaping | None) -> Sampler:
        kind = CapturedSampler if getattr(self.config, "cuda_graphs", False) else Sampler
        return kind(lanes, self.config.precision, shaping)

    def sample_at(self, workers: Workers, samplers: int) -> Self:
        """Let workers play the games from now on, in `samplers` shares of the batch; this process learns.

        `ppo` samples in lockstep, with the numbers of one process. `vtrace` learns from each share when it comes; `policy_lag` says how
        many gradient steps ago its weights were current. A lost worker's share goes on elsewhere. Checkpoints are those of one
        process, and can be resumed with other workers or none.

        Raises:
            OptionError: the algorithm or the game does not allow it, or there are more samplers than games.
        """
        own_games = type(self)._open_source is Algorithm._open_source
        if self.samples_in is None or not own_games or self.device.type != "cpu":
            raise OptionError(
                f"{self.id} on {self.device}: its games are played in the learner's process; ppo and vtrace can sample at workers, with games on "
                "the CPU"
            )
        if getattr(self.config, "devices", 1) > 1:
            raise OptionError(
                f"devices={self.config.devices} beside samplers at workers: its processes play the games; leave out one of them"
            )
        self.game.need("samplers at workers", "saves")
        if self.config.precision == "auto":  # workers play as this process says from the start
            self._settle(Algorithm._suited_precision(self))
        game, config = NamedGame.of(self.game), self.config
        shares = [
            Share(game, self.policy_spec, config, start, stop, self._teacher_file)
            for start, stop in shares_of(config.num_envs, samplers)
        ]
        self.release_samplers()
        self.sampler = SpreadSampler(self.sampler, workers, shares, self.samples_in == "lockstep")
        return self

    def release_samplers(self) -> None:
        """Free the workers of `sample_at`; the games go on in this process."""
        if isinstance(self.sampler, SpreadSampler):
            self.sampler = self.sampler.close()

    def set_env(self, env: EnvLike, force_reset: bool = True) -> None:
        """As in Stable-Baselines3: learn other games from now on, which start anew; weights, optimiser and counts stay.

        Args:
            env: what the constructor takes, or what `get_env` returned; the same observations, actions and seats, and as many games.
            force_reset: new games always start anew.

        Raises:
            OptionError: observations, actions, seats or the number of games differ; or it learns from data.
        """
        if not self._plays:
            return super().set_env(env, force_reset)
        own, config = self.__dict__.get("_env"), dataclasses.asdict(self.config)
        # what `get_env` returned stands for the own game
        game = self.game if env is own else needed_env(env, self.id, config, config)[0]
        for what in ("observation", "heads", "box", "players", "turns", "critic_spec"):
            if getattr(self.game.facts, what) != getattr(game.facts, what):
                raise OptionError(
                    f"set_env: {game.name} has another facts.{what} than {self.game.name}; make a new model with env="
                )
        if (count := getattr(game.rules.engine, "num_envs", self.n_envs)) != self.n_envs:
            raise OptionError(f"set_env: got {count} environments, the model trains on {self.n_envs}; give as many")
        self.release_samplers()
        critic, self.game = self.sampler.critic, game
        # it was made of the old game
        self.__dict__.pop("_env", None)
        self._open_source()
        self.sampler.critic = critic

    def get_parameters(self) -> dict[str, dict[str, Any]]:
        """State dicts by their names in Stable-Baselines3: "policy", "policy.optimizer", and "value" of a privileged value."""
        return {name: part.state_dict() for name, part in self._stateful().items()}

    def set_parameters(
        self, load_path_or_dict: str | Path | Mapping[str, Any], exact_match: bool = True, device: str = "auto"
    ) -> None:
        """As in Stable-Baselines3: take what `get_parameters` returned, or what a checkpoint of this algorithm holds.

        Args:
            load_path_or_dict: a checkpoint, or state dicts by name.
            exact_match: all names must be given, with all their entries.
            device: not used; tensors are copied to where the model is.

        Raises:
            OptionError: an unknown or a missing name, or another network.
            CheckpointError: as `load`.
        """
        if isinstance(load_path_or_dict, str | Path):
            given: Mapping[str, Any] = type(self).load(load_path_or_dict, self.game).get_parameters()
        else:
            given = load_path_or_dict
        own = self._stateful()
        missing = set(own) - set(given) if exact_match else set()
        if wrong := sorted(missing | (set(given) - set(own))):
            raise OptionError(
                f"set_parameters: got {', '.join(map(repr, given))}, must be {', '.join(map(repr, own))}: "
                f"{', '.join(map(repr, wrong))} differ"
            )
        for name, state in given.items():
            # optimisers of PyTorch know no `strict`
            part, strict = own[name], {} if name.endswith("optimizer") else {"strict": exact_match}
            try:
                part.load_state_dict(state, **strict)
            except (RuntimeError, ValueError, KeyError) as error:
                raise OptionError(f"set_parameters: {name!r} is of another network: {error}") from error

    def _stateful(self) -> dict[str, Any]:
        """What learns, by its name in Stable-Baselines3."""
        parts = {
            "policy": self.policy,
            "policy.optimizer": getattr(self, "optimizer", None),
            "value": getattr(self, "value", None),
        }
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def step_timesteps(self) -> int:
        """Decisions of the last step of all games."""
        return self.sampler.decisions_per_step

    @property
    def last_step(self) -> dict[str, Any]:
        """As `Sampler.last_step`."""
        return self.sampler.last_step

    def watch_steps(self, watched: bool) -> None:
        """As `Learner.watch_steps`."""
        self.sampler.watched = watched

    @property
    def ep_info_buffer(self) -> deque[dict[str, Any]]:
        """As `Learner.ep_info_buffer`."""
        return self.sampler.episodes.as_deque() if self._plays else super().ep_info_buffer

    @property
    def _plays(self) -> bool:
        """Whether it learns from games that it plays; others learn from data."""
        return hasattr(self, "sampler")

    @contextmanager
    def opened(self) -> Iterator[None]:
        """A context around `learn`: the processes of `config.devices` learn together."""
        size = getattr(self.config, "devices", 1)
        others: AbstractContextManager[None] = nullcontext()
        if size > 1 and self._plays:
            from ludory.algorithms.running.together import together  # starts processes, which few runs need

            others = together(self, size)
        with self.alone(), others:
            yield

    def alone(self) -> AbstractContextManager[None]:
        """A context around learning in this process: PyTorch's own threads, which spin after each operation, keep out of the way of ours."""
        return one_thread() if self.splits_batches and self.device.type == "cpu" else nullcontext()

    def training_state(self) -> dict[str, Tensor]:
        """Further tensors that a resumed run needs, beside weights, games and random state."""
        return {}

    def restore_training_state(self, state: dict[str, Tensor]) -> None:
        """Restore what `training_state` returned."""

    def check_learnt(self, metrics: Mapping[str, float]) -> None:
        """As `Learner.check_learnt`; checks metrics and weights."""
        check_finite(metrics, self._learning_weights())

    def _learning_weights(self) -> dict[str, Tensor]:
        """Weights of all networks that learn, by name."""
        value = getattr(self, "value", None)
        return self.policy.state_dict() | ({} if value is None else save_value(value))

    @torch.no_grad()
    def predict(
        self,
        observation: ArrayLike,
        state: ArrayLike | Tensor | None = None,
        episode_start: ArrayLike | None = None,
        deterministic: bool = False,
        action_masks: ArrayLike | None = None,
        seat: ArrayLike | None = None,
    ) -> tuple[Any, Tensor | None]:
        """Actions for one observation `(*shape)` or a batch `(m, *shape)`, and the state after them.

        Args:
            observation: as the game's views return it.
            state: memory (m, size) of recurrent policies, as returned before; an array or a tensor.
            episode_start: (m,) bool; where true, `state` is reset.
            deterministic: return the most probable action instead of a sample.
            action_masks: (m, A) or, for one observation, (A,) bool; None: all actions are legal, which is warned of once per model where
                the game has illegal ones.
            seat: the deciding seat, one or (m,); only for networks that take it as input, such as hanabi_gru.

        Raises:
            OptionError: the observation or the masks have another shape, or a mask has no legal action; or the network needs its seat, or
                the moves of all seats, which only an agent sees (`as_agent()`).
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
        masks = legal_masks(action_masks, len(batch), self.game.facts)
        if action_masks is None and not self._told_of_masks:
            self._told_of_masks = True
            warn_of_missing_masks(self.id, self.game, self._running_games)
        memory = fresh_memory(self.policy, state, episode_start, self.device)
        seats = (
            None if seat is None else torch.tensor(checked_seats(seat, len(batch), self.game.facts), device=self.device)
        )
        output = self.policy(numpy_to_bits(batch, self.policy.observation).to(self.device), memory, seats)
        legal = torch.from_numpy(masks).to(self.device)
        distribution = self.policy.distribution(output.logits, legal)
        actions = distribution.mode() if deterministic else distribution.sample(self.generator)
        chosen = self.policy.playable(actions).cpu().numpy()
        chosen = chosen[:, 0] if chosen.shape[1] == 1 and self.policy.box is None else chosen
        return (chosen[0] if single else chosen), output.memory

    @property
    def _running_games(self) -> Engine | None:
        """The training games, where they have begun."""
        return self.engine if self._plays and self.sampler.started else None

    def as_agent(self, deterministic: bool = True) -> NeuralAgent:
        """The policy as an agent that can sit at a table."""
        return NeuralAgent(self.policy, self.id, deterministic, self.config.seed)

    def save(self, file: str | Path) -> None:
        """Write everything that a resumed run needs: weights, optimiser, games, random state. Atomic. One file, or a folder if `saves_folder`.

        Raises:
            TrainingError: weights are not finite; a file written before stays as it is.
            OutputError: the place cannot be written to.
        """
        self._write(file, self._header() | self._source_header(), self._tensors())

    def save_policy(self, file: str | Path) -> None:
        """Write the network alone, for playing; `load` returns a model that continues with a fresh optimiser and new games.

        Raises:
            TrainingError: weights are not finite; a file written before stays as it is.
            OutputError: the place cannot be written to.
        """
        weights = {f"policy/{name}": tensor for name, tensor in self.policy.state_dict().items()}
        self._write(file, self._header() | {"policy_only": True}, weights)

    def _write(self, file: str | Path, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        check_savable(file, tensors)
        if self.saves_folder:
            write_folder(file, header, tensors, self.write_files)
        else:
            write_checkpoint(file, header, tensors)

    def write_files(self, folder: Path) -> None:
        """Write further files into the folder of a checkpoint; only for classes with `saves_folder`."""

    def read_files(self, folder: Path) -> None:
        """Restore what `write_files` wrote; checksums have been checked."""

    def restore(self, file: str | Path) -> None:
        """Restore the state that `save` wrote in this object: weights, optimiser, games, random state.

        Raises:
            CheckpointError: damaged, not a checkpoint of Ludory, or of a network that does not fit.
        """
        self._restore(file, *read_checkpoint(file))

    def _header(self) -> dict[str, Any]:
        return {
            "algorithm": self.id,
            "config": dataclasses.asdict(self.config),
            "policy": self.policy_spec._asdict(),
            "env": {"id": self.game.id, "options": dict(self.game.options), **self._described_game()},
            "num_timesteps": self.num_timesteps,
            "total_timesteps": self._total_timesteps,
            "teacher": self._teacher_sha256,
        } | self._packages()

    def _described_game(self) -> dict[str, Any]:
        """The conventions of a game that has some with what they depend on, and the description of one whose rules are not installed."""
        records = self.game.records
        told: dict[str, Any] = {"conventions": dict(records.conventions)} if records.conventions else {}
        if kept := self.game.kept_engine_options:
            told["engine_options"] = kept
        return told | ({"recorded": header_to_json(header_of(self.game))} if records.header is not None else {})

    def _packages(self) -> dict[str, Any]:
        """Third-party packages that the file needs."""
        needed = {
            "game": package_of(self.game),
            "network": networks.package_of(self.policy_spec.id),
            "algorithm": algorithms.package_of(self.id) if self.id in algorithms.ids() else "",
        }
        named = {kind: package for kind, package in needed.items() if package}
        return {"packages": named} if named else {}

    def _tensors(self) -> dict[str, Tensor]:
        groups = {
            "policy": self.policy.state_dict(),
            "training": self.training_state(),
            **self._source_tensors(),
            "random": {"torch": self.generator.get_state()},
        }
        return {f"{group}/{name}": tensor for group, part in groups.items() for name, tensor in part.items()}

    @classmethod
    def load(cls, file: str | Path, env: EnvLike | None = None, **changes: Any) -> Self:
        """Return a model that continues where `save` was called; on the CPU, with a warning, if this machine lacks its GPU.

        Args:
            file: checkpoint.
            env: the game of the checkpoint; only needed if it is not registered.
            **changes: config fields to change, e.g. device.

        Raises:
            CheckpointError: damaged, not a checkpoint, or of another algorithm or game.
        """
        header, tensors = read_checkpoint(file)
        game = game_to_load(cls, file, header, env)
        config = {**header["config"], "device": _at_hand(file, header["config"]["device"]), **changes}
        # without its inputs, which may be gone; the config still names them
        model = cls(build.saved_policy(file, header), game, **{**config, **dict.fromkeys(cls.inputs)})
        model.config = dataclasses.replace(model.config, **{name: config.get(name) for name in cls.inputs})
        model._restore(file, header, tensors)
        return model

    def _restore(self, file: str | Path, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        build.take_weights(self.policy, file, header, tensors, self.game)
        if self.saves_folder:
            self.read_files(Path(file))
        self.num_timesteps, self._total_timesteps = header["num_timesteps"], header["total_timesteps"]
        self._teacher_sha256 = header.get("teacher")
        if header.get("policy_only"):
            return
        self.restore_training_state(_group(tensors, "training"))
        try:
            same_kind = torch.device(header["config"]["device"]).type == self.device.type
            if self._restore_source(header, tensors) and same_kind:  # generators of other devices draw in another way
                self.generator.set_state(tensors["random/torch"])
        except SnapshotError as error:
            raise CheckpointError(f"{file}: {error}") from error

    def _source_header(self) -> dict[str, Any]:
        return {"sampling": self.sampler.started and self.game.saves}

    def _source_tensors(self) -> dict[str, dict[str, Tensor]]:
        if not self.game.saves:  # a resumed run starts new games
            return {}
        self.sampler.settle()
        games = {name: torch.as_tensor(value) for name, value in self.engine.fields().items()}
        return {"sampler": self.sampler.state(), "games": games}

    def _restore_source(self, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> bool:
        """Restore the games; returns False if there are none, or another number of them, or if they were played by other rules."""
        if not header["sampling"] or len(tensors["games/to_move"]) != self.engine.num_games:
            return False
        rules = self.game.records.conventions.get(RULES)
        if header["env"].get("conventions", {}).get(RULES, rules) != rules:
            return False
        self.engine.load_fields({name: tensor.numpy() for name, tensor in _group(tensors, "games").items()})
        self.sampler.restore(_group(tensors, "sampler"))
        return True


def _group(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.partition("/")[2]: tensor for name, tensor in tensors.items() if name.startswith(prefix + "/")}


def _at_hand(file: str | Path, device: str) -> str:
    """`device`, or "cpu" where it is a GPU that this machine lacks."""
    wanted, count = torch.device(device), torch.cuda.device_count() if torch.cuda.is_available() else 0
    if wanted.type != "cuda" or (wanted.index or 0) < count:
        return device
    LOG.warning("%s was trained on %s, which is not there: it is loaded to the CPU", file, device)
    return "cpu"


def _device(name: str) -> torch.device:
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise OptionError(f"device={name!r}: must be 'cpu' or 'cuda', or 'cuda:1' for the second GPU") from error
