"""`SupervisedAlgorithm`: learns from stored decisions in epochs, on Lightning, with Ludory's own checkpoints."""

from __future__ import annotations

import logging
import os
import signal
import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, ClassVar, Literal

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.utilities.exceptions import SIGTERMException
from rich.console import Console, RenderableType
from torch import Tensor
from typing_extensions import Self

from ludory.agents.networks.build import PolicySpec
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.config import linear
from ludory.algorithms.running.callbacks import Callbacks, MaybeCallback
from ludory.algorithms.running.folder_lock import is_first_process
from ludory.algorithms.running.metric_logs import also_logged, checked_log_interval
from ludory.algorithms.running.optimiser_state import LightAdamW, load_adam, save_adam
from ludory.algorithms.running.progress import Progress
from ludory.algorithms.running.training_logs import make_loggers, quiet_lightning
from ludory.envs.make import EnvLike
from ludory.errors import DataError

from .config import SupervisedConfig
from .supervised_module import Position, SupervisedModule

LOG = logging.getLogger("ludory.supervised")
PRECISIONS = {"float32": "32-true", "32": "32-true", "bf16": "bf16-mixed"}
"""Ludory's name of a precision -> Lightning's."""
OWN_LOOP: dict[str, Any] = {
    "num_sanity_val_steps": 0,
    "use_distributed_sampler": False,
    "enable_checkpointing": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
}
"""Options of Lightning's trainer where checkpoints, progress and the order of batches are Ludory's."""


class SupervisedAlgorithm(Algorithm):
    """A learner without games, whose timesteps are samples.

    Subclasses write `make_module`, `read_split` and `epoch_report`. A dataset is opened when the algorithm is made (so that a wrong
    one is refused at once), that of a loaded model when it learns.
    """

    config_class: ClassVar[type[SupervisedConfig]] = SupervisedConfig
    inputs: ClassVar[tuple[str, ...]] = ("init_from", "dataset")
    changeable: ClassVar[tuple[str, ...]] = ("dataset", "num_epochs", "patience", "checkpoint_dir")
    config: Any

    def __init__(self, policy: str | PolicySpec = "auto", env: EnvLike | None = None, **config: Any) -> None:
        for name in ("dataset", "checkpoint_dir"):
            if isinstance(config.get(name), os.PathLike):
                config[name] = os.fspath(config[name])
        super().__init__(policy, env, **config)

    @abstractmethod
    def make_module(self) -> SupervisedModule:
        """The module that Lightning trains."""

    @property
    def num_samples(self) -> int:
        """Decisions of an epoch."""
        return len(self.training_data)

    @abstractmethod
    def read_split(self, name: Literal["train", "val"]) -> Any:
        """A split of the dataset.

        Raises:
            OptionError: no dataset is named.
            DataError: it is damaged, foreign or empty.
        """

    # Each subclass has a type of its own for what `read_split` returns.
    def data_size(self, data: Any) -> Any:
        """The size of a split, as the checkpoint keeps it."""
        return len(data)

    @cached_property
    def training_data(self) -> Any:
        """The training split.

        Raises:
            DataError: damaged, foreign or empty; or of another size than when the run began.
        """
        data = self.read_split("train")
        size = self.data_size(data)
        if self._seen_before not in (None, size):
            raise DataError(
                f"{self.config.dataset}: the run began on {self._seen_before}, the training split now has {size}; "
                "a run goes on with the data that it began with: begin a new one with init_from="
            )
        return data

    @cached_property
    def validation_data(self) -> Any:
        """The validation split; None: nothing is held out."""
        return self.read_split("val")

    @property
    def epoch_title(self) -> str:
        """The number of the finished epoch, for a table's title."""
        return f"epoch {self.position.epoch} of {self.config.num_epochs}"

    @abstractmethod
    def epoch_report(self, metrics: Mapping[str, float]) -> RenderableType:
        """The report printed after an epoch."""

    def setup(self) -> None:
        """Make the optimiser."""
        self.position = Position()
        self.optimizer = LightAdamW(
            self.policy.parameters(), lr=self.config.learning_rate, weight_decay=self.config.weight_decay
        )

    def training_state(self) -> dict[str, Tensor]:
        """AdamW's moments."""
        return save_adam(self.optimizer)

    def restore_training_state(self, state: dict[str, Tensor]) -> None:
        """Restore AdamW's moments."""
        load_adam(self.optimizer, state)

    def _open_source(self) -> None:
        self._seen_before: Any = None
        if self.config.dataset is not None:
            self.training_data, self.validation_data  # noqa: B018  # opened and checked

    def _source_header(self) -> dict[str, Any]:
        opened = "training_data" in self.__dict__
        data = self.data_size(self.training_data) if opened else self._seen_before
        return {"position": self.position.numbers(), "data": data}

    def _source_tensors(self) -> dict[str, dict[str, Tensor]]:
        return {"position": self.position.tensors()}

    def _restore_source(self, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> bool:
        self._seen_before = header["data"]
        named = {name.removeprefix("position/"): tensor for name, tensor in tensors.items()}
        self.position = Position.restored(header["position"], named)
        return True

    def save(self, file: str | Path) -> None:
        """As `Algorithm.save`; only the first of several processes writes."""
        if is_first_process():
            super().save(file)

    @property
    def planned_timesteps(self) -> int:
        """Samples of `num_epochs` epochs."""
        return int(self.config.num_epochs * self.num_samples)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or patience has run out."""
        patience, position = self.config.patience, self.position
        return position.epoch >= self.config.num_epochs or (patience is not None and position.stale >= patience)

    def learn(
        self,
        total_timesteps: int | None = None,
        callback: MaybeCallback = None,
        progress_bar: bool = False,
        reset_num_timesteps: bool = True,
        log_interval: int = 1,
        tb_log_name: str | None = None,
    ) -> Self:
        """Train for `num_epochs` epochs, or until patience or the timesteps run out.

        Args:
            total_timesteps: maximum number of samples of this call; None: all that are left of `num_epochs` epochs.
            callback: of Stable-Baselines3: one, a list, or a function (locals, globals) -> bool; called after every batch.
            progress_bar: show rate and time left.
            reset_num_timesteps: count epochs from 0; False: continue where the run stopped, as after `load`.
            log_interval: epochs between two rows of the logs.
            tb_log_name: as in `Learner.learn`.

        Raises:
            DataError: the dataset is missing, of another game, damaged, changed since the run began, or a split is empty.
            TrainingError: the loss is not finite.
            OutputError: the folder of the checkpoints cannot be written to.
        """
        if reset_num_timesteps:
            self.num_timesteps, self.position = 0, Position()
        self._planned, self._validates = self.planned_timesteps, self.validation_data is not None
        asked = self._planned if total_timesteps is None else self.num_timesteps + total_timesteps
        self._total_timesteps = min(asked, self._planned)
        self._ends_early = self._total_timesteps < self._planned
        self._callbacks, self._told = Callbacks(callback), True
        self._callbacks.init_callback(self)
        self._stopping = False
        self._callbacks.on_training_start(locals(), globals())
        self._log_interval = checked_log_interval(log_interval)
        formats = self.formats(0, tb_log_name)  # a table is printed after every epoch
        bar = Progress(self.id, self._total_timesteps, self.num_timesteps, progress_bar)
        with also_logged(self, formats), bar as self._progress:
            if self.finished:
                LOG.warning(
                    "%s: the run is finished (%s), nothing is trained; load it with a larger num_epochs to go on",
                    self.id,
                    self.epoch_title,
                )
            else:
                self._fit(self.make_module())
        self._callbacks.on_training_end()
        return self

    def _fit(self, module: SupervisedModule) -> None:
        self._save_as("last")
        self._saved, self._started, self._before = monotonic(), perf_counter(), self.num_timesteps
        with quiet_lightning(), own_random_state(self.device), plain_interrupt():
            self._trainer = self._make_trainer()
            self._trainer.fit(module)
        self.policy.to(self.device)
        self._save_as("last")
        if self.finished:
            self._save_as("final")

    def _make_trainer(self) -> Trainer:
        config, device = self.config, self.device
        loggers = make_loggers(
            config.checkpoint_dir, config.use_wandb, {"game": self.game.id, "policy": self.policy_spec.id}
        )
        return Trainer(
            accelerator=device.type if config.accelerator == "auto" else config.accelerator,
            devices=config.devices if device.index is None else [device.index],
            strategy=config.strategy,
            precision=PRECISIONS[config.precision],  # type: ignore[arg-type]
            max_epochs=config.num_epochs - self.position.epoch,
            gradient_clip_val=config.max_grad_norm,
            logger=loggers or False,
            callbacks=[OwnSigterm()],
            limit_val_batches=1.0 if self._validates else 0,
            **OWN_LOOP,
        )

    def before_batch(self) -> bool:
        """Save by the clock; returns False if the run must end here."""
        self._tell_callbacks()
        self._callbacks.on_rollout_start()
        if monotonic() - self._saved >= 60 * self.config.save_every_minutes:
            self._save_as("last")
            self._saved = monotonic()
        for group in self.optimizer.param_groups:
            done = min(1.0, self.num_timesteps / self._planned)
            group["lr"] = self.learning_rate_at(done)
        return not (self._stopping or (self._ends_early and self.num_timesteps >= self._total_timesteps))

    def learning_rate_at(self, done: float) -> float:
        """Step size after the share `done` of all samples."""
        return linear(self.config.learning_rate, self.config.final_learning_rate, done)

    def after_batch(self, samples: int, loss: float) -> None:
        """Count samples and show progress."""
        self.num_timesteps += samples
        self._told = False
        rate = (self.num_timesteps - self._before) / (perf_counter() - self._started)
        self._progress.update(self.num_timesteps, {"time/fps": rate})
        if self.position.batch % self.config.log_every == 0:
            self._to_loggers({"train/batch_loss": loss, "time/fps": rate})

    def after_epoch(self, metrics: Mapping[str, float]) -> None:
        """Finish the epoch: log, print the report, save."""
        better = self.position.next_epoch(metrics.get("val/loss"))
        self._tell_callbacks()
        self._callbacks.on_rollout_end()
        if self.position.epoch % self._log_interval == 0:
            self._log(metrics)
        self._to_loggers({**metrics, "epoch": self.position.epoch})
        for logger in self._trainer.loggers:
            logger.save()
        if is_first_process():
            Console().print(self.epoch_report(metrics))
        self._save_epoch(better)
        self._trainer.should_stop = self.finished

    def _tell_callbacks(self) -> None:
        """Run callbacks only between batches or after validation, where what they save can be resumed exactly."""
        if not self._told and not self._callbacks.on_step():
            self._stopping = True
        self._told = True

    def _to_loggers(self, metrics: Mapping[str, float]) -> None:
        for logger in self._trainer.loggers:
            logger.log_metrics(dict(metrics), self.num_timesteps)

    def _save_epoch(self, better: bool) -> None:
        epoch, every = self.position.epoch, self.config.save_every
        if better:
            self._save_as("best")
        if every and epoch % every == 0:
            self._save_as(f"epoch_{epoch}")
        self._save_as("last")

    def _save_as(self, name: str) -> None:
        if self.config.checkpoint_dir is not None:
            self.save(Path(self.config.checkpoint_dir) / f"{name}.ludory")


@contextmanager
def own_random_state(device: torch.device) -> Iterator[None]:
    """Keep the state of the caller's generators."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        yield


class OwnSigterm(Callback):
    """Keeps the handler of SIGTERM: Lightning would stop in the middle of a validation."""

    def __init__(self) -> None:
        self._handler = signal.getsignal(signal.SIGTERM)

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        """Lightning installs its own handler before this hook (2.6: after `on_fit_start`) and restores the earlier one at the end."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._handler)


@contextmanager
def plain_interrupt() -> Iterator[None]:
    """Deliver signals unchanged: Lightning turns both into exits and leaves Ctrl+C disabled.

    A SIGTERM before `OwnSigterm` takes effect also stops this run; Lightning then ends after the first batch.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SIGTERMException:
        return
    except SystemExit as error:
        if not isinstance(error.__context__, KeyboardInterrupt):
            raise
        signal.signal(signal.SIGINT, before)
        raise error.__context__ from None
