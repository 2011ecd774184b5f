"""The learner of behaviour cloning: one Lightning run over recorded games, with checkpoints of Ludory's own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, ClassVar

import torch
from lightning.pytorch import Trainer
from rich.console import Console
from torch import Tensor
from typing_extensions import Self

from ludory.agents.networks.build import PolicySpec
from ludory.algorithms.algorithm import MaybeCallback
from ludory.algorithms.offline import OfflineAlgorithm
from ludory.algorithms.optimiser_state import load_adam, save_adam
from ludory.algorithms.processes import is_first_process
from ludory.algorithms.progress import Progress
from ludory.algorithms.schedule import linear
from ludory.errors import OptionError

from .config import BCConfig
from .logs import make_loggers, quiet_lightning
from .module import BCModule
from .position import Position, restored
from .table import epoch_table

PRECISIONS = {"32": "32-true", "bf16": "bf16-mixed"}
"""Ludory's name of a precision -> Lightning's."""


class BC(OfflineAlgorithm):
    """Behaviour cloning; see `BCConfig` for its options.

    Networks without memory learn from shuffled decisions, networks with memory from whole games, with gradients through time.
    """

    id = "bc-v1"
    config_class: ClassVar[type[BCConfig]] = BCConfig
    changeable: ClassVar[tuple[str, ...]] = ("dataset", "num_epochs", "patience")
    config: BCConfig

    def __init__(self, policy: str | PolicySpec = "auto", env: Any = None, **config: Any) -> None:
        if config.get("checkpoint_dir") is not None:
            config["checkpoint_dir"] = os.fspath(config["checkpoint_dir"])
        super().__init__(policy, env, **config)

    def setup(self) -> None:
        """Make the optimiser.

        Raises:
            OptionError: no symmetry to augment by.
        """
        if self.config.augment and self.game.symmetry is None:
            raise OptionError(f"augment: no symmetry of {self.game.id} is known; leave it out")
        self.position = Position()
        self.optimizer = torch.optim.AdamW(
            self.policy.parameters(), lr=self.config.learning_rate, weight_decay=self.config.weight_decay
        )

    def training_state(self) -> dict[str, Tensor]:
        """AdamW's moments."""
        return save_adam(self.optimizer)

    def restore_training_state(self, state: dict[str, Tensor]) -> None:
        """Take up AdamW's moments."""
        load_adam(self.optimizer, state)

    def _source_header(self) -> dict[str, Any]:
        return super()._source_header() | {"position": self.position.numbers()}

    def _source_tensors(self) -> dict[str, dict[str, Tensor]]:
        return {"position": self.position.tensors()}

    def _restore_source(self, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> bool:
        named = {name.removeprefix("position/"): tensor for name, tensor in tensors.items()}
        self.position = restored(header["position"], named)
        return super()._restore_source(header, tensors)

    def save(self, file: str | Path) -> None:
        """As `Algorithm.save`; of several processes the first one writes."""
        if is_first_process():
            super().save(file)

    @property
    def planned_timesteps(self) -> int:
        """Samples of `num_epochs` epochs."""
        return self.config.num_epochs * min(len(self.training_data), self.config.max_samples or len(self.training_data))

    @property
    def finished(self) -> bool:
        """Whether all epochs are over, or patience is."""
        patience, position = self.config.patience, self.position
        return position.epoch >= self.config.num_epochs or (patience is not None and position.stale >= patience)

    def learn(
        self,
        total_timesteps: int | None = None,
        callback: MaybeCallback = None,
        progress_bar: bool = False,
        reset_num_timesteps: bool = True,
    ) -> Self:
        """Train for `num_epochs` epochs, or fewer if patience or the timesteps end before.

        Args:
            total_timesteps: samples at most; None: those of all epochs.
            callback: of Stable-Baselines3: one, a list, or a function (locals, globals) -> bool; called after every batch.
            progress_bar: show rate and time left.
            reset_num_timesteps: count epochs from 0; False goes on where the run stopped, as after `load`.

        Raises:
            DataError: the dataset is missing, of another game, damaged, changed since the run began, or a split is empty.
            TrainingError: the loss is not finite.
            OutputError: the folder of the checkpoints can not be written to.
        """
        if reset_num_timesteps:
            self.num_timesteps, self.position = 0, Position()
        planned, validation = self.planned_timesteps, self.validation_data
        self._total_timesteps = planned if total_timesteps is None else min(total_timesteps, planned)
        self._ends_early = self._total_timesteps < planned
        self._callbacks, self._told = self._callback(callback), True
        self._stopping = False
        self._callbacks.on_training_start(locals(), globals())
        with Progress(self.id, self._total_timesteps, self.num_timesteps, progress_bar) as self._progress:
            if not self.finished:
                learner = self.policy, self.optimizer, self.config
                self._fit(BCModule(self.game, *learner, self.training_data, validation, self))
        self._callbacks.on_training_end()
        return self

    def _fit(self, module: BCModule) -> None:
        self._save_as("last")
        self._saved, self._started, self._before = monotonic(), perf_counter(), self.num_timesteps
        with quiet_lightning(), _own_random_state(self.device), _plain_interrupt():
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
            limit_val_batches=0 if self.validation_data is None else 1.0,
            num_sanity_val_steps=0,
            use_distributed_sampler=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )

    def before_batch(self) -> bool:
        """Save by the clock; False if the run is to end here."""
        self._tell_callbacks()
        self._callbacks.on_rollout_start()
        if monotonic() - self._saved >= 60 * self.config.save_every_minutes:
            self._save_as("last")
            self._saved = monotonic()
        for group in self.optimizer.param_groups:
            done = min(1.0, self.num_timesteps / self.planned_timesteps)
            group["lr"] = linear(self.config.learning_rate, self.config.final_learning_rate, done)
        return not (self._stopping or (self._ends_early and self.num_timesteps >= self._total_timesteps))

    def after_batch(self, samples: int, loss: float) -> None:
        """Count samples and show the progress."""
        self.num_timesteps += samples
        self._told = False
        rate = (self.num_timesteps - self._before) / (perf_counter() - self._started)
        self._progress.update(self.num_timesteps, {"time/fps": rate})
        if self.position.batch % self.config.log_every == 0:
            self._to_loggers({"train/batch_loss": loss, "time/fps": rate})

    def after_epoch(self, metrics: Mapping[str, float]) -> None:
        """Go on to the next epoch: log, show the table, save."""
        better = self.position.next_epoch(metrics.get("val/loss"))
        self._tell_callbacks()
        self._callbacks.on_rollout_end()
        self._log(metrics)
        self._to_loggers({**metrics, "epoch": self.position.epoch})
        for logger in self._trainer.loggers:
            logger.save()
        if is_first_process():
            Console().print(epoch_table(self.position.epoch, self.config.num_epochs, metrics))
        self._save_epoch(better)
        self._trainer.should_stop = self.finished

    def _tell_callbacks(self) -> None:
        """Callbacks hear of a batch only between batches, or behind the epoch's validation: what they save can be resumed exactly."""
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
def _own_random_state(device: torch.device) -> Iterator[None]:
    """Leave the caller's generators as they were."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        yield


@contextmanager
def _plain_interrupt() -> Iterator[None]:
    """Let Ctrl+C arrive as KeyboardInterrupt: Lightning turns it into an exit and leaves the signal switched off."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit as error:
        if not isinstance(error.__context__, KeyboardInterrupt):
            raise
        signal.signal(signal.SIGINT, before)
        raise KeyboardInterrupt from None
