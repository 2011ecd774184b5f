"""`DistillModule`: distilling as a `LightningModule`: batches, loss, and the sums of what is reported."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import torch
from torch import Tensor
from torch.optim import Optimizer

from ludory.agents.networks.layers.distribution import MaskedHeads
from ludory.agents.networks.policy import Policy
from ludory.algorithms.offline.batches import Batch, Said, ask, num_decisions, own_share, read_batches
from ludory.algorithms.offline.supervised_module import Course, SupervisedModule
from ludory.algorithms.offline.symmetry_augmentation import renamed_batches
from ludory.data.dataset import LAST_MOVES
from ludory.data.trajectories import TrajectoryDataset
from ludory.envs.game import Game

from .config import DistillConfig
from .loss import Targets, Terms, distill_loss
from .tally import figures, means, no_sums

VALIDATION_ROWS = 1024
"""Decisions of a validation batch."""
EXTRAS = ("action_blueprint", "q", "q_stderr", "searches", "searched", "value_known", LAST_MOVES)
"""Extra columns that are read."""


class DistillModule(SupervisedModule):
    """Trains `policy` on `training`, from the position of `course` on, and validates after each epoch."""

    def __init__(
        self,
        game: Game,
        policy: Policy,
        blueprint: Policy | None,
        optimizer: Optimizer,
        config: DistillConfig,
        training: TrajectoryDataset,
        validation: TrajectoryDataset | None,
        course: Course,
    ) -> None:
        super().__init__(policy, optimizer, config.seed, validation is not None, course)
        self._game, self._config = game, config
        self._training, self._validation = training, validation
        self._blueprint = [blueprint] if blueprint else []  # in a list, so that Lightning takes it for no part of this
        remembers = (
            blueprint is not None and blueprint.recurrent
        )  # it is asked through whole games, whatever seq_len is
        self._whole_games = (policy.recurrent and config.seq_len != 1) or remembers
        self._validated = no_sums()

    def training_batches(self) -> Iterator[Batch]:
        """What is left of the present epoch."""
        config, position = self._config, self._course.position
        batches = read_batches(self._training, config.batch_size, self._whole_games, config.seed, position.epoch)
        left = islice(own_share(batches, self.global_rank, self.trainer.world_size), position.batch, None)
        if not config.augment:
            return left
        place = config.seed, position.epoch
        return renamed_batches(left, self._game, place, position.batch, self.global_rank, self._training.layout)

    def validation_batches(self) -> Iterator[Batch]:
        """All validation games in stored order."""
        assert self._validation is not None
        batches = read_batches(self._validation, VALIDATION_ROWS, self._whole_games)
        return islice(batches, self.global_rank, None, self.trainer.world_size)

    def samples_in(self, batch: Batch) -> int:
        """How many decisions a batch has."""
        return num_decisions(batch)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The loss, with its gradient.

        Raises:
            TrainingError: it is not finite.
        """
        said, terms, sums = self._judge(batch)
        self.finite(terms.total, f"games {said.games.unique()[:10].tolist()}")
        position = self._course.position
        position.sums = position.sums + sums
        return terms.total

    def on_validation_epoch_start(self) -> None:
        """Begin the sums."""
        self.policy.eval()
        self._validated = no_sums()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add a batch to the sums."""
        self._validated = self._validated + self._judge(batch)[2]

    def metrics(self) -> dict[str, float]:
        """Figures of training and validation games."""
        found = means("train/", self.over_processes(self._course.position.sums))
        if self._validation is not None:
            found |= means("val/", self.over_processes(self._validated))
        return found

    def _judge(self, batch: Batch) -> tuple[Said, Terms, Tensor]:
        moves = self._training.layout.get(LAST_MOVES)
        said = ask(self.policy, batch, moves, self._config.seq_len)
        targets, blueprint = self._targets(said), None
        policy = self.policy.distribution(said.logits, said.masks)
        if self._blueprint:
            with torch.no_grad():
                logits = ask(self._blueprint[0].to(said.logits.device), batch, moves).logits
            blueprint = MaskedHeads(logits, said.masks, policy.sizes)
        terms = distill_loss(policy, said.values, targets, self._config.weights, blueprint)
        with torch.no_grad():
            return said, terms, figures(policy, said.values, targets, terms)

    def _targets(self, said: Said) -> Targets:
        layout, (rows, actions) = self._training.layout, said.masks.shape

        def column(name: str, width: int, missing: float) -> Tensor:
            if name in layout:
                return said.extras[:, layout[name]]
            return torch.full((rows, width), missing, device=said.logits.device)

        return Targets(
            said.actions[:, 0],
            said.returns,
            column("value_known", 1, 1.0)[:, 0] > 0,
            said.weights,
            column("action_blueprint", 1, torch.nan)[:, 0],
            column("q", actions, torch.nan),
            column("q_stderr", actions, torch.nan),
            column("searches" if "searches" in layout else "searched", 1, 1.0)[:, 0] > 0,
        )
