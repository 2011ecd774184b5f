"""`Texas42Student`: learns E[Q], the mean over worlds of exact values, from the transcript that a seat has seen.

Read from below: the algorithm, its `StudentModule` with the regret of what a network would play, and the decisions that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from rich.table import Table
from torch import Tensor
from torch.optim import Optimizer

from ludory.agents import PolicyOutput, PolicySpec
from ludory.agents.texas42.networks.transcript import TranscriptTransformer
from ludory.algorithms import Course, SupervisedAlgorithm, SupervisedModule, figures_table
from ludory.algorithms.offline.batches import own_share
from ludory.algorithms.offline.supervised_module import VALIDATION_ROWS
from ludory.algorithms.texas42.data.eq_analysis import READERS, read_records
from ludory.data.formats.texas42.eq_records import EqGame
from ludory.data.formats.texas42.names import Split, split_of
from ludory.envs import EnvLike, make_game
from ludory.envs.texas42.tiles import POINTS, TILES
from ludory.errors import DataError, OptionError

from .config import Texas42StudentConfig

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


class StudentData(NamedTuple):
    """n decisions with a choice, or a batch of them, by tile id."""

    observation: Tensor
    """(n, 289) uint8: `observation="transcript"`, the length and then the tokens."""
    mean: Tensor
    """(n, 28) float32: E[Q] of each tile in points, 0 where it may not be played."""
    legal: Tensor
    """(n, 28) bool"""
    decision: Tensor
    """(n,) int64: tiles played before."""

    def rows(self, rows: Tensor) -> StudentData:
        """Some of the decisions."""
        return StudentData(*(column[rows] for column in self))


def read_split(folder: str | Path, split: Split) -> StudentData:
    """All decisions with a choice of a split.

    Raises:
        DataError: no such folder, no records in it, or one is damaged or of another split.
    """
    place = Path(folder) / split
    if not any(file.suffix in READERS for file in place.glob("*")):
        seeds = {"train": "0-899", "val": "900-949", "test": "950-999"}[split]
        raise DataError(
            f"{place}: no E[Q] records ({' or '.join(READERS)}); write some with `ludory texas42 eq --seeds {seeds} --out {folder}`"
        )
    parts = [_decisions(game, place, split) for game in read_records([place])]
    return StudentData(*(torch.from_numpy(np.concatenate(column)) for column in zip(*parts, strict=True)))


def _decisions(game: EqGame, place: Path, split: Split) -> tuple[NDArray[np.generic], ...]:
    """The columns of `StudentData`."""
    columns, seed = game.columns, game.header["seed"]
    if split_of(seed) != split:
        raise DataError(f"{place}: seed {seed} belongs to {split_of(seed)}; put its file there")
    rows = np.flatnonzero(columns["legal_mask"].sum(axis=1) > 1)
    hands = np.array(game.header["deal"]).reshape(4, 7)[columns["seat"][rows]]  # (rows, 7) tile ids by slot
    legal, mean = np.zeros((len(rows), TILES), bool), np.zeros((len(rows), TILES), np.float32)
    of_slot = columns["legal_mask"][rows]
    np.put_along_axis(legal, hands, of_slot, 1)
    np.put_along_axis(mean, hands, np.where(of_slot, columns["e_q_mean"][rows], 0).astype(np.float32), 1)
    tokens = columns["transcript_tokens"][rows].reshape(len(rows), -1)
    observation = np.concatenate([columns["transcript_lengths"][rows, None].astype(np.uint8), tokens], axis=1)
    return observation, mean, legal, columns["decision_idx"][rows]


def batches(data: StudentData, size: int, seed: int | None = None, epoch: int = 0) -> Iterator[StudentData]:
    """The rows in an order that depends on seed and epoch; without a seed in their own."""
    n = len(data.decision)
    order = np.arange(n) if seed is None else np.random.default_rng([seed, epoch]).permutation(n)
    for start in range(0, n, size):
        yield data.rows(torch.from_numpy(order[start : start + size]))


GAME, OBSERVATION = "Texas42Play-v0", "transcript"


class Texas42Student(SupervisedAlgorithm):
    """A network that learns E[Q] from what a seat sees, with the options of `Texas42StudentConfig`.

    Decisions without a choice are left out. It plays by one forward pass, without drawing worlds, and other learners take its network.
    """

    id = "texas42_student-v1"
    config_class: ClassVar[type[Texas42StudentConfig]] = Texas42StudentConfig
    config: Texas42StudentConfig
    policy: TranscriptTransformer

    def __init__(self, policy: str | PolicySpec = "auto", env: EnvLike | None = None, **config: Any) -> None:
        if env in (None, GAME):
            env = make_game(GAME, observation=OBSERVATION)
        super().__init__("transcript" if policy == "auto" else policy, env, **config)
        if not isinstance(self.policy, TranscriptTransformer):
            raise OptionError(
                f"policy {self.policy_spec.id!r}: {self.id} learns with 'transcript', e.g. transcript(width=64, num_layers=2)"
            )

    def data_size(self, data: StudentData) -> int:
        """Number of decisions."""
        return len(data.decision)

    def read_split(self, name: Literal["train", "val"]) -> StudentData:
        """The split as `StudentData`."""
        if self.config.dataset is None:
            raise OptionError(f"{self.id} needs dataset=: a folder that `ludory texas42 eq` has filled")
        return read_split(self.config.dataset, name)

    def make_module(self) -> StudentModule:
        """The module that Lightning trains."""
        data = self.training_data, self.validation_data
        return StudentModule(self.policy, self.optimizer, self.config, *data, self)

    @property
    def num_samples(self) -> int:
        """Decisions of an epoch."""
        return len(self.training_data.decision)

    def epoch_report(self, metrics: Mapping[str, float]) -> Table:
        """Scores on validation decisions, then the regret by number of tiles played."""
        title = f"{self.epoch_title}, {metrics['time/fps']:,.0f} samples/s, loss {metrics['train/loss']:.4f}"
        return student_table(title, {name.removeprefix("val/"): score for name, score in metrics.items()})


def student_table(title: str, found: Mapping[str, float]) -> Table:
    """`scores` as a table."""
    rows = {name.replace("_", " "): [found.get(name)] for name in FIGURES}
    rows |= {f"regret after {k} tiles": [found.get(f"regret_{k}")] for k in range(DECISIONS)}
    return figures_table(title, ["E[Q], in points"], rows)
