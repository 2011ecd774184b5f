"""`StudentModule`: learning E[Q] as a `LightningModule`; `tally` and `scores`: the regret of what a network would play."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import torch
from torch import Tensor
from torch.optim import Optimizer

from ludory.agents import PolicyOutput
from ludory.agents.texas42.networks.transcript import POINTS, TranscriptTransformer
from ludory.algorithms import Course, SupervisedModule
from ludory.algorithms.offline.batches import own_share
from ludory.algorithms.offline.supervised_module import VALIDATION_ROWS

from .config import Texas42StudentConfig
from .data import StudentData, batches

DECISIONS, BLUNDER = 28, 10
"""Decisions of a hand; points, a greater regret is a blunder."""
FIGURES = ("regret", "zero_regret", "blunder", "mae", "random_regret")
"""Sums of a tally behind the number of decisions: points of E[Q] that the chosen tile loses; whether it loses none; whether it is a
blunder; mean error of the legal tiles, in points; regret of any legal tile."""
EQUAL = 1e-4
"""Points within which two means are equal: they are stored in single precision."""


class StudentModule(SupervisedModule):
    """Trains `policy` on `training` from the position of `course`, and validates after each epoch."""

    policy: TranscriptTransformer

    def __init__(
        self,
        policy: TranscriptTransformer,
        optimizer: Optimizer,
        config: Texas42StudentConfig,
        training: StudentData,
        validation: StudentData,
        course: Course,
    ) -> None:
        super().__init__(policy, optimizer, config.seed, True, course)
        self._config, self._training, self._validation = config, training, validation

    def training_batches(self) -> Iterator[StudentData]:
        """The rest of the current epoch."""
        config, position = self._config, self._course.position
        found = batches(self._training, config.batch_size, config.seed, position.epoch)
        shared = own_share(found, self.global_rank, self.trainer.world_size)
        return islice(shared, position.batch, None)

    def validation_batches(self) -> Iterator[StudentData]:
        """All validation decisions in stored order."""
        return islice(batches(self._validation, VALIDATION_ROWS), self.global_rank, None, self.trainer.world_size)

    def samples_in(self, batch: StudentData) -> int:
        """Number of decisions in a batch."""
        return len(batch.decision)

    def training_step(self, batch: StudentData, batch_idx: int) -> Tensor:
        """The mean loss, with its gradient.

        Raises:
            TrainingError: it is not finite.
        """
        loss = student_loss(self.policy(batch.observation), batch, self._config.value_coef)
        position, number = self._course.position, len(batch.decision)
        position.sums = position.sums + torch.tensor([float(loss.detach()) * number, number], dtype=torch.float64)
        return self.finite(loss, f"{number} decisions")

    def no_sums(self) -> tuple[Tensor, Tensor]:
        """The tally, and [2] the sum of losses and the number of decisions."""
        return no_tally(), torch.zeros(2, dtype=torch.float64)

    def validation_step(self, batch: StudentData, batch_idx: int) -> None:
        """Add a batch to the sums."""
        said, number, (counted, losses) = self.policy(batch.observation), len(batch.decision), self._validated
        loss = float(student_loss(said, batch, self._config.value_coef))
        losses = losses + torch.tensor([loss * number, number], dtype=torch.float64)
        self._validated = counted + tally(said.logits, batch), losses

    def metrics(self) -> dict[str, float]:
        """Losses, and scores in all and by decision."""
        trained, held_out = (self.over_processes(sums) for sums in (self._course.position.sums, self._validated[1]))
        counted = self.over_processes(self._validated[0])
        losses = {"train/loss": float(trained[0] / trained[1]), "val/loss": float(held_out[0] / held_out[1])}
        return losses | {f"val/{name}": score for name, score in scores(counted).items()}


def student_loss(said: PolicyOutput, batch: StudentData, value_coef: float) -> Tensor:
    """Squared error of E[Q] / 42, the mean over legal tiles and decisions, and `value_coef` times that of the best tile's."""
    errors = torch.where(batch.legal, (said.logits - batch.mean) / POINTS, 0.0).square().sum(-1) / batch.legal.sum(-1)
    best = torch.where(batch.legal, batch.mean, -torch.inf).amax(-1) / POINTS
    return (errors + value_coef * (said.values - best).square()).mean()


def no_tally() -> Tensor:
    """Zeros [28, 6]: by decision its number, and the sums of `FIGURES`."""
    return torch.zeros(DECISIONS, 1 + len(FIGURES), dtype=torch.float64)


@torch.no_grad()
def tally(logits: Tensor, batch: StudentData) -> Tensor:
    """What is counted of a batch, as `no_tally`."""
    legal, mean = batch.legal, batch.mean
    number = legal.sum(-1)
    chosen = torch.where(legal, logits.float(), -torch.inf).argmax(-1, keepdim=True)
    losses = torch.where(legal, torch.where(legal, mean, -torch.inf).amax(-1, keepdim=True) - mean, 0.0)
    regret = losses.gather(1, chosen)[:, 0]
    errors = torch.where(legal, (logits.float() - mean).abs(), 0.0).sum(-1) / number
    columns = torch.ones_like(regret), regret, regret < EQUAL, regret > BLUNDER, errors, losses.sum(-1) / number
    rows = torch.stack([column.double().cpu() for column in columns], 1)
    return no_tally().index_add(0, batch.decision.cpu(), rows)


def scores(counted: Tensor) -> dict[str, float]:
    """`FIGURES` by name, where every decision counts the same, and the regret after k tiles, `regret_k`."""
    there = counted[:, 0] > 0
    means = counted[there, 1:] / counted[there, :1]
    found = dict(zip(FIGURES, means.mean(0).tolist(), strict=True))
    return found | {f"regret_{k}": float(row[0]) for k, row in zip(there.nonzero()[:, 0].tolist(), means, strict=True)}


@torch.no_grad()
def score_student(policy: TranscriptTransformer, data: StudentData) -> dict[str, float]:
    """`scores` of all decisions."""
    policy.eval()
    device, counted = next(policy.parameters()).device, no_tally()
    for batch in batches(data, VALIDATION_ROWS):
        there = StudentData(*(column.to(device) for column in batch))
        counted = counted + tally(policy(there.observation).logits, there)
    return scores(counted)
