"""The learner that distils a search into a network, from a recording or from search logs of other programs."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from rich.console import RenderableType
from torch import Tensor
from typing_extensions import Self, Unpack

from ludory.agents import ImportedPolicy, NeuralAgent, PolicySpec, make_agent, saved_policy
from ludory.agents.networks.import_sb3 import is_sb3_file
from ludory.algorithms.keywords import DistillKeywords
from ludory.algorithms.learner import game_of
from ludory.algorithms.offline.algorithm import OfflineAlgorithm, game_for, paths_of, report_skipped
from ludory.algorithms.running.callbacks import MaybeCallback, figures_table
from ludory.algorithms.running.folder_lock import is_first_process
from ludory.algorithms.sampling.teacher import Teacher
from ludory.checkpoints.checkpoint import read_header, weights_hash
from ludory.data import TrajectoryDataset
from ludory.data.formats.core import formats_of, known_formats
from ludory.data.shards import write_dataset
from ludory.envs import EnvLike, Game
from ludory.envs.recorded_game import missing_rules
from ludory.errors import DataError, LudoryError, OptionError
from ludory.paths import OwnFolder
from ludory.plugins import makers

from .config import DistillConfig
from .module import EXTRAS, DistillModule
from .report import beside, told

SEARCH_LOG = "sparta"
"""Format of files of which no other can be told: it says what is wrong with them."""


def is_log(path: str) -> bool:
    """Whether a path is a file other than Parquet."""
    return Path(path).is_file() and Path(path).suffix != ".parquet"


def as_dataset(config: DistillConfig, game: Game, folder: Path) -> Path:
    """The recording that the config names, or its search logs written as one to `folder`.

    Raises:
        OptionError: nothing is named, or several recordings.
        LogFormatError: a log is invalid.
    """
    paths = config.dataset or ()
    if not paths:
        raise OptionError("distill needs dataset=: a folder of `ludory record`, or search logs (.jsonl, .json)")
    logs = [path for path in paths if is_log(path)]
    if (logs and len(logs) < len(paths)) or len(paths) > max(len(logs), 1):
        raise OptionError(f"dataset={', '.join(paths)}: name one recording, or search logs only")
    if not logs:
        return Path(paths[0])
    known = next(iter(formats_of(logs[0])), None) or known_formats()[SEARCH_LOG]
    options = {one.name: getattr(config, one.name) for one in fields(known) if hasattr(config, one.name)}
    log = replace(known, **options).read(logs, game)
    for problem in log.left_out:
        print(f"ludory: left out: {problem}", file=sys.stderr)
    write_dataset(folder, log.header, log.parts)
    return folder


def check_convention(recorded: dict[str, object], game: Game) -> None:
    """Refuse rewards under another bomb convention than the game's.

    Raises:
        DataError: the conventions differ.
    """
    ours, theirs = (str(options.get("bomb", "zero")) for options in (game.options, recorded))
    if game.facts.name == "Hanabi" and ours != theirs:
        raise DataError(
            f"the log's rewards count a bomb as bomb={theirs}, {game.id} here as bomb={ours}: values would learn another game; "
            f"give --option bomb={theirs} (env=make_game({game.id!r}, bomb={theirs!r})), or bomb={ours} if the log does not say it and means that"
        )


def fingerprint(config: DistillConfig) -> str:
    """SHA-256 of the contents of all files, in order.

    Raises:
        DataError: there is no such file or folder.
    """
    digest = hashlib.sha256()
    for path in map(Path, config.dataset or ()):
        if not path.exists():
            raise DataError(f"{path} does not exist; record games with `ludory record`, or name a search log (--data)")
        for file in sorted(path.glob("part-*.parquet")) if path.is_dir() else [path]:
            with file.open("rb") as handle:
                while block := handle.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()


TORCH_FILES = (".pt", ".pth")
COLUMNS = {
    "loss": "loss",
    "nll": "nll",
    "accuracy": "accuracy",
    "override_accuracy": "overrides",
    "kept_accuracy": "kept",
    "agreement": "blueprint",
    "explained_variance": "expl. var",
}
"""Metric -> title in the table of an epoch."""


class Distill(OfflineAlgorithm):
    """Distils a search into a network, with the options of `DistillConfig`.

    The network is that of `init_from`, else the one named, else `hanabi_gru`; the result can be the blueprint of the next search.

    Attributes:
        evaluation: scores on new decks, after the last epoch.
    """

    id = "distill-v1"
    config_class: ClassVar[type[DistillConfig]] = DistillConfig
    inputs: ClassVar[tuple[str, ...]] = ("init_from", "dataset", "teacher")
    changeable: ClassVar[tuple[str, ...]] = (*OfflineAlgorithm.changeable, "eval_games", "eval_against")
    config: DistillConfig

    def __init__(
        self, policy: str | PolicySpec = "auto", env: EnvLike | None = None, **config: Unpack[DistillKeywords]
    ) -> None:
        self.evaluation: dict[str, float] = {}
        self._recorded: str | None = None
        if config.get("init_from") is not None:
            config["init_from"] = str(config["init_from"])
        self._imports: dict[str, ImportedPolicy] = {}
        if not any(is_log(str(path)) for path in paths_of(config.get("dataset"))):
            env = game_for(env, config.get("dataset"))
        if policy == "auto" and env is not None:
            policy = self._default_policy(env, config)
        super().__init__(policy, env, **config)

    def _default_policy(self, env: EnvLike, config: DistillKeywords) -> str | PolicySpec:
        file = config.get("init_from")
        if file and Path(file).suffix in TORCH_FILES:
            order = config.get("ckpt_action_order", "play_first_bw")
            return self._imported(file, game_of(env), order).spec
        if file and not is_sb3_file(file):
            return saved_policy(file, read_header(file))
        return "hanabi_gru" if game_of(env).facts.name == "Hanabi" else "auto"

    def _imported(self, file: str, game: Game, order: str) -> ImportedPolicy:
        """The network of a .pt, with Ludory's action ids."""
        if file not in self._imports:
            options = {**game.options, "observation": game.facts.observation.name}
            self._imports[file] = makers.load("torch_policy")(file, order, game=game.id, **options)
        return self._imports[file]

    def _start_from(self, file: str) -> None:
        if Path(file).suffix in TORCH_FILES:
            found = self._imported(file, self.game, self.config.ckpt_action_order)
            self.policy.load_state_dict(found.policy.state_dict())
        else:
            super()._start_from(file)

    @property
    def _teacher_file(self) -> str | None:
        if not (self.config.lambda_kl or self.config.lambda_q):
            return None
        start = self.config.init_from
        if start and Path(start).suffix not in TORCH_FILES and is_sb3_file(start):
            start = None  # plays, but as another library's model
        return self.config.teacher or start

    def _load_teacher(self, file: str) -> Teacher:
        if Path(file).suffix not in TORCH_FILES:
            return super()._load_teacher(file)
        policy = self._imported(file, self.game, self.config.ckpt_action_order).policy
        return Teacher(policy.to(self.device).eval().requires_grad_(False), weights_hash(policy.state_dict()))

    def setup(self) -> None:
        """Make the optimiser.

        Raises:
            OptionError: a search log cannot hold the game's moves.
        """
        facts = self.game.facts
        if facts.simultaneous or len(facts.heads) > 1:
            raise OptionError(
                f"{self.id} learns games in which seats take turns with one action each; {self.game.id} is none"
            )
        if self.config.discount < 1 and facts.reward != "shared":
            raise OptionError(
                f"discount={self.config.discount}: only where rewards are shared, not in {self.game.id}; leave it out"
            )
        if self.config.eval_games and self.game.records.header is not None:
            raise OptionError(
                f"eval_games={self.config.eval_games}: {missing_rules(self.game.records.header)}; or learn without scores: "
                "eval_games=0 (--eval-games 0)"
            )
        super().setup()

    @cached_property
    def _folder(self) -> Path:
        """The recording, or a copy of the search logs that exists as long as this object."""
        folder = as_dataset(self.config, self.game, OwnFolder(self, "ludory-distill-").path)
        found = fingerprint(self.config)
        if self._recorded not in (None, found):
            raise DataError(
                f"{', '.join(self.config.dataset or ())}: the run began on other data (SHA-256 {self._recorded}, now {found}); "
                "put the old files back, or begin a new run with init_from="
            )
        self._recorded = found
        return folder

    def read_split(self, name: Literal["train", "val"]) -> TrajectoryDataset:
        """As `OfflineAlgorithm.read_split`, from the recording or a copy of the search logs."""
        config = self.config
        data = TrajectoryDataset(
            self._folder,
            name,
            skip_bad=config.skip_bad,
            split_ratio=config.split_ratio,
            split_seed=config.split_seed,
            extras=EXTRAS,
            discount=config.discount,
        )
        self.check_data(data, ignored=("bomb",))
        check_convention(dict(data.header.options), self.game)
        if name == "train":
            report_skipped(data)
        return data

    def make_module(self) -> DistillModule:
        """The module that Lightning trains."""
        data = self.training_data, self.validation_data
        return DistillModule(
            self._learn_from_teacher(), self.game, self.policy, self.optimizer, self.config, *data, self
        )

    def epoch_report(self, metrics: Mapping[str, float]) -> RenderableType:
        """Figures of training and validation."""
        title = f"{self.epoch_title}, {metrics['time/fps']:,.0f} samples/s"
        prefixes = {"train": "train/", "validation": "val/"}
        rows = {row: [metrics.get(prefix + column) for column in COLUMNS] for row, prefix in prefixes.items()}
        return figures_table(title, COLUMNS.values(), rows)

    def learn(
        self,
        total_timesteps: int | None = None,
        callback: MaybeCallback = None,
        progress_bar: bool = False,
        reset_num_timesteps: bool = True,
        log_interval: int = 1,
        tb_log_name: str | None = None,
    ) -> Self:
        """As `OfflineAlgorithm.learn`; after the last epoch the network and the blueprint play new decks."""
        self._check_rival()
        super().learn(total_timesteps, callback, progress_bar, reset_num_timesteps, log_interval, tb_log_name)
        if self.finished and self.config.eval_games and not self._stopping and is_first_process():
            self._evaluate()
        return self

    def _check_rival(self) -> None:
        """Make the agent to compare with once, so that errors show before the training."""
        name = self.config.eval_against
        if name and self.config.eval_games and Path(name).suffix not in TORCH_FILES:
            make_agent(name, self.game)

    def _evaluate(self) -> None:
        config, search = self.config, self.training_data.header.search
        name = config.eval_against or config.init_from or self._recorded_blueprint(search.get("blueprint"))
        if name is None:
            print(
                "ludory: the log does not say which agent searched, so there is nobody to compare with; --eval-against AGENT names one"
            )
        rival: Any = name
        if name == config.init_from and self._teacher is not None and not config.teacher:
            rival = NeuralAgent(self._teacher.policy, "blueprint")
        elif name is not None and Path(name).suffix in TORCH_FILES:
            rival = NeuralAgent(self._imported(name, self.game, config.ckpt_action_order).policy, "blueprint")
        self.evaluation = beside(self.as_agent(), rival, self.game, config.eval_games, self.training_data.header.seed)
        self._log(self.evaluation)
        print(
            told(
                self.evaluation,
                None if name is None else Path(name).name if Path(name).exists() else name,
                config.eval_games,
            )
        )
        if self.finished:
            self._save_as("final")

    def _recorded_blueprint(self, name: str | None) -> str | None:
        """The blueprint that a recording names, if it can still be made."""
        try:
            return name if name and make_agent(name, self.game) else None
        except LudoryError:
            return None

    def _header(self) -> dict[str, Any]:
        return super()._header() | {"evaluation": self.evaluation}

    def _source_header(self) -> dict[str, Any]:
        return super()._source_header() | {"dataset_sha256": self._recorded}

    def _restore_source(self, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> bool:
        self._recorded, self.evaluation = header.get("dataset_sha256"), header.get("evaluation", {})
        return super()._restore_source(header, tensors)
