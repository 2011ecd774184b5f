"""`Texas42Student`: learns E[Q], the mean over worlds of exact values, from the transcript that a seat has seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from rich.table import Table

from ludory.agents import PolicySpec
from ludory.agents.texas42.networks.transcript import TranscriptTransformer
from ludory.algorithms import SupervisedAlgorithm, figures_table
from ludory.envs import EnvLike, make_game
from ludory.errors import OptionError

from .config import Texas42StudentConfig
from .data import StudentData, read_split
from .module import DECISIONS, FIGURES, StudentModule

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
