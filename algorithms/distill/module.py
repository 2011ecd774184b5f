"""`DistillModule`: distilling as a `LightningModule`: loss and reported figures."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ludory.agents import MaskedHeads, Policy
from ludory.algorithms.offline.batches import Batch, Predictions, ask
from ludory.algorithms.offline.supervised_module import TrajectoryModule
from ludory.data.dataset import LAST_MOVES

from .config import DistillConfig
from .loss import Targets, Terms, distill_loss
from .report import figures, means, no_sums

EXTRAS = ("action_blueprint", "q", "q_stderr", "searches", "searched", "value_known", LAST_MOVES)
"""Extra columns that are read."""


class DistillModule(TrajectoryModule):
    """Learns what a search found, beside the frozen `blueprint` if there is one; the other arguments are those of `TrajectoryModule`."""

    _config: DistillConfig

    def __init__(self, blueprint: Policy | None, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._blueprint = (
            [blueprint] if blueprint else []
        )  # in a list, so that Lightning does not take it for a submodule
        # A blueprint with memory runs through whole games, whatever seq_len is.
        remembers = blueprint is not None and blueprint.recurrent
        self.whole_games = (self.policy.recurrent and self._config.seq_len != 1) or remembers

    def no_sums(self) -> Tensor:
        """[2, figures]."""
        return no_sums()

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The loss, with its gradient.

        Raises:
            TrainingError: it is not finite.
        """
        predicted, terms, sums = self._judge(batch)
        self.finite(terms.total, f"games {predicted.games.unique()[:10].tolist()}")
        position = self._course.position
        position.sums = position.sums + sums
        return terms.total

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add a batch to the sums."""
        self._validated = self._validated + self._judge(batch)[2]

    def metrics(self) -> dict[str, float]:
        """Figures of training and validation games."""
        found = means("train/", self.over_processes(self._course.position.sums))
        if self._validation is not None:
            found |= means("val/", self.over_processes(self._validated))
        return found

    def _judge(self, batch: Batch) -> tuple[Predictions, Terms, Tensor]:
        moves = self._training.layout.get(LAST_MOVES)
        predicted = ask(self.policy, batch, moves, self._config.seq_len)
        targets, blueprint = self._targets(predicted), None
        policy = self.policy.distribution(predicted.logits, predicted.masks)
        if self._blueprint:
            with torch.no_grad():
                logits = ask(self._blueprint[0].to(predicted.logits.device), batch, moves).logits
            blueprint = MaskedHeads(logits, predicted.masks, policy.sizes)
        terms = distill_loss(policy, predicted.values, targets, self._config.weights, blueprint)
        with torch.no_grad():
            return predicted, terms, figures(policy, predicted.values, targets, terms)

    def _targets(self, predicted: Predictions) -> Targets:
        layout, (rows, actions) = self._training.layout, predicted.masks.shape

        def column(name: str, width: int, missing: float) -> Tensor:
            if name in layout:
                return predicted.extras[:, layout[name]]
            return torch.full((rows, width), missing, device=predicted.logits.device)

        return Targets(
            predicted.actions[:, 0],
            predicted.returns,
            column("value_known", 1, 1.0)[:, 0] > 0,
            predicted.weights,
            column("action_blueprint", 1, torch.nan)[:, 0],
            column("q", actions, torch.nan),
            column("q_stderr", actions, torch.nan),
            column("searches" if "searches" in layout else "searched", 1, 1.0)[:, 0] > 0,
        )
