"""`BCModule`: imitation as a `LightningModule`: loss and reported figures."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ludory.algorithms.offline.batches import Batch, Predictions, ask, distribution, weighted_mean
from ludory.algorithms.offline.supervised_module import TrajectoryModule
from ludory.data.columns import USED
from ludory.envs.engine.protocol import on_host

from . import loss as losses
from .config import BCConfig


class BCModule(TrajectoryModule):
    """Imitates recorded decisions."""

    _config: BCConfig

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.max_samples, position = self._config.max_samples, self._course.position
        position.sums = losses.full_tally(position.sums, len(self.policy.head_sizes))

    @property
    def _groups(self) -> tuple[str, ...]:
        kinds = self._game.analysis.decision_kinds
        return () if kinds is None else kinds.groups

    @property
    def _rules(self) -> tuple[str, ...]:
        kinds = self._game.analysis.decision_kinds
        return () if kinds is None else kinds.rules

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The mean loss, with gradient.

        Raises:
            TrainingError: it is not finite.
        """
        predicted, position = ask(self.policy, batch), self._course.position
        terms, sizes = self._loss(predicted), self.policy.head_sizes
        loss = weighted_mean(terms.total, predicted.weights)
        if not bool(torch.isfinite(loss)):
            games = predicted.games.unique()[:10].tolist()
            self.finite(loss, f"games [{', '.join(self._training.names_of(games))}]")
        with torch.no_grad():
            used, weights = self._used(predicted), self._imitated_weights(predicted)
            scores = losses.score(predicted.logits, predicted.masks, predicted.actions, sizes, used)
            position.sums = position.sums + self._tally(predicted, terms, scores, weights)
            if position.epoch == 0:
                position.counts = position.counts + losses.count_actions(
                    predicted.actions, weights[:, None] * used, sizes
                )
        return loss

    def on_validation_epoch_start(self) -> None:
        """Reset the sums."""
        super().on_validation_epoch_start()
        self._counts = self.over_processes(self._course.position.counts)

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add a batch to the sums."""
        predicted, sizes = ask(self.policy, batch), self.policy.head_sizes
        terms, counts, used = self._loss(predicted), self._counts.to(predicted.actions.device), self._used(predicted)
        scores = [
            losses.score(predicted.logits, predicted.masks, predicted.actions, sizes, used),
            losses.prior_scores(counts, predicted.masks, predicted.actions, sizes, used),
            losses.uniform_scores(predicted.masks, sizes, used),
        ]
        if self._rules:
            kinds = self._game.analysis.decision_kinds
            assert kinds is not None
            chosen = kinds.choices(on_host(predicted.observations), on_host(predicted.masks))
            scores.append(
                losses.choice_scores(torch.from_numpy(chosen).to(predicted.actions.device), predicted.actions)
            )
        weights = self._imitated_weights(predicted)
        self._validated = self._validated + torch.stack([self._tally(predicted, terms, one, weights) for one in scores])

    def metrics(self) -> dict[str, float]:
        """Scores on training and validation games."""
        heads, groups = self._training.header.head_names, self._groups
        size = losses.tally_size(len(heads))
        sums = self.over_processes(self._course.position.sums)
        metrics = losses.means("train/", sums[:size], heads) | losses.group_means("train/", sums[size:], groups)
        if self._validation is not None:
            validated = self.over_processes(self._validated)
            metrics |= losses.means("val/", validated[0, :size], heads)
            metrics |= losses.score_means("val/prior_", validated[1, :size]) | losses.score_means(
                "val/uniform_", validated[2, :size]
            )
            for rule, row in zip(self._rules, validated[3:], strict=True):
                metrics[f"val/{rule}_accuracy"] = losses.score_means("", row[:size])["accuracy"]
            rows = "", "prior_", "uniform_", *(f"{rule}_" for rule in self._rules)
            for name, row in zip(rows, validated, strict=True):
                metrics |= losses.group_means(f"val/{name}", row[size:], groups)
        return metrics

    def _tally(self, predicted: Predictions, terms: losses.LossTerms, scores: losses.Scores, weights: Tensor) -> Tensor:
        """The tally of m decisions, followed by that of their groups."""
        sums = losses.tally(terms, scores, weights)
        kinds = self._game.analysis.decision_kinds
        if kinds is None:
            return sums
        decisions = predicted.observations, predicted.masks, predicted.actions[:, 0]
        members = torch.from_numpy(kinds.members(*map(on_host, decisions)))
        return torch.cat([sums, losses.group_tally(scores.correct[:, 0], members, predicted.masks.sum(-1), weights)])

    def _loss(self, predicted: Predictions) -> losses.LossTerms:
        config = self._config
        return losses.imitation_loss(
            distribution(self.policy, predicted),
            predicted.values,
            predicted.actions,
            predicted.returns,
            label_smoothing=config.label_smoothing,
            value_coef=config.value_coef,
            entropy_coef=config.entropy_coef,
            imitated=None if config.min_return is None else predicted.returns >= config.min_return,
            used=self._used(predicted),
        )

    def _used(self, predicted: Predictions) -> Tensor:
        """(m, H) bool: heads that are imitated; where the recording says so, those that had an effect."""
        column = self._training.layout.get(USED)
        return (
            torch.ones_like(predicted.actions, dtype=torch.bool) if column is None else predicted.extras[:, column] > 0
        )

    def _imitated_weights(self, predicted: Predictions) -> Tensor:
        """(m,): weights of the figures; 0 for decisions that are not imitated or had no effect."""
        least, weights = self._config.min_return, predicted.weights * self._used(predicted).any(-1)
        return weights if least is None else weights * (predicted.returns >= least)

    def no_sums(self) -> Tensor:
        """[3 + rules, 7 + 2 H + 2 groups + 2] for the policy, the class prior, uniform play and rules."""
        size = losses.tally_size(len(self.policy.head_sizes)) + (2 * len(self._groups) + 2 if self._groups else 0)
        return torch.zeros(3 + len(self._rules), size, dtype=torch.float64)
