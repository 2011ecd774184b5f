"""The oracle's flywheel: label new seeds, fine-tune the best network on all labels so far, score it on golden seeds, keep it if it is better.

The golden seeds belong to the validation split and are the same in every turn. Seeds of the test split are never read.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import sleep
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ludory.agents import saved_policy
from ludory.algorithms.flywheel.config import Confidence
from ludory.algorithms.flywheel.turns import Turns, TurnsState, check_free, verdict
from ludory.algorithms.texas42.data.labels import label_names, make_labels
from ludory.atomic import atomic_file
from ludory.checkpoints import read_header
from ludory.data.formats.texas42.jobs import fill, missing
from ludory.data.formats.texas42.labels import SEEDS, CheckLabels, LabelSettings, LabelsName
from ludory.data.formats.texas42.names import Split, check_seed, split_of
from ludory.errors import DataError, OptionError
from ludory.limits import PositiveFloat, Whole, check_limits
from ludory.reading import read_json, shown

from .data import OracleData, read_split
from .oracle import Texas42Oracle, open_network
from .tally import regrets, score_network, scores

LABELS, FIRST, POLICY, SCORES = "labels", "start.ludory", "policy.ludory", "scores.json"
"""Files in the folder: labels of all turns, and a copy of the first network; in a turn's folder: the network that it learnt, and its scores."""


@dataclass(frozen=True, slots=True)
class OracleFlywheelConfig:
    """The seeds, how they are labelled and learnt from, and when a network is better.

    Raises:
        OptionError: naming the field, the value and what is allowed.
    """

    start: str
    """Checkpoint of `ludory train texas42_oracle` to begin with."""
    deals: int = 500
    """New seeds of the training split each turn, a multiple of 50."""
    start_seed: int = 0
    """The first of them; what the first network has learnt from is better left out."""
    golden: int = 1000
    """Seeds of the validation split to score on, a multiple of 50."""
    paths: Annotated[int, Whole(1)] = 2
    """Hands played of each deal, as in `LabelSettings`."""
    num_epochs: Annotated[int, Whole(1)] = 2
    """Of a turn, over the labels of all turns so far."""
    learning_rate: PositiveFloat = 3e-5
    batch_size: Annotated[int, Whole(1)] = 512
    confidence: Confidence = 0.975
    """A network takes the place of the best one if its q_gap is smaller with this confidence (one-sided, paired, by deal)."""
    turns: Annotated[int, Whole(1)] = 10
    """In all."""
    seed: Annotated[int, Whole(0)] = 0
    """Of labels and of learning."""

    def __post_init__(self) -> None:
        check_limits(self)
        check_seed(self.start_seed)
        for name in ("deals", "golden"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < SEEDS or value % SEEDS:
                whole = SEEDS * max(1, math.ceil(value / SEEDS)) if isinstance(value, int) else SEEDS
                raise OptionError(
                    f"{name}={value!r}: labels lie in files of {SEEDS} seeds, so it must be a multiple of {SEEDS}; the next is "
                    f"{name}={whole} (--{name} {whole})"
                )

    @property
    def labels(self) -> LabelSettings:
        """How hands are played."""
        return LabelSettings(paths=self.paths, sampler_seed=self.seed)


@dataclass(frozen=True, slots=True)
class OracleTurn:
    """A finished turn; regrets are in points, on the golden seeds."""

    number: int
    blueprint: str
    """The best network before."""
    policy: str
    """The network that was learnt, a file relative to the flywheel's folder."""
    last_seed: int
    """It has learnt from seeds up to this one."""
    deals: int
    """Golden deals."""
    q_gap: float
    q_gap_before: float
    """q_gap of the best network before."""
    q_gap_states: float
    zero_regret: float
    ahead: float
    """q_gap_before - q_gap."""
    stderr: float
    lower: float
    """`ahead` is above this with the confidence of the config."""
    promoted: bool

    def summary(self) -> str:
        """One line for people."""
        scores = f"{self.policy} q_gap {self.q_gap:.3f} ({self.q_gap_states:.3f} by states), {self.blueprint} {self.q_gap_before:.3f}"
        return f"turn {self.number + 1}: {scores}; {verdict(self, f'{self.deals:,} golden deals')}"


class OracleFlywheelState(TurnsState):
    """The state of the oracle's flywheel."""

    __slots__ = ()
    file: ClassVar[str] = "texas42-flywheel.json"
    steps: ClassVar[tuple[str, ...]] = ("label", "learn", "evaluate", "promote")
    command: ClassVar[str] = "ludory texas42 flywheel"
    config_class: ClassVar[type[Any]] = OracleFlywheelConfig
    turn_class: ClassVar[type[Any]] = OracleTurn

    config: OracleFlywheelConfig
    history: tuple[OracleTurn, ...]

    def __post_init__(self) -> None:
        """Take networks from the flywheel's own folder only.

        Raises:
            OptionError: the best network is none of those that it began with or has learnt.
        """
        TurnsState.__post_init__(self)
        learnt = [f"turn-{number:03d}/{POLICY}" for number in range(self.turn)]
        if self.blueprint not in (FIRST, *learnt):
            raise OptionError(f"blueprint={self.blueprint!r}: must be {FIRST} or what a turn has learnt")

    def task(self, folder: Path) -> str:
        """What the next step does."""
        config, names = self.config, turn_names(self.config, self.turn)
        policy = self.turn_file(folder, POLICY)
        return {
            "label": f"seeds {names[0].seeds[0]}..{names[-1].seeds[-1]}, and {config.golden} golden ones, to {folder / LABELS}",
            "learn": f"{config.num_epochs} epochs from {self.blueprint} on all labels so far, to {policy}",
            "evaluate": f"{policy} and {self.blueprint} on {config.golden} golden seeds",
            "promote": f"{policy} takes the place of {self.blueprint} if its q_gap is smaller with confidence {config.confidence:g}",
        }[self.step]


class OracleFlywheel(Turns[OracleFlywheelState]):
    """A running flywheel; made by `start_oracle_flywheel` or `OracleFlywheel.resume`."""

    state_class: ClassVar[type[OracleFlywheelState]] = OracleFlywheelState

    @property
    def _labels(self) -> Path:
        return self.folder / LABELS

    @property
    def _best(self) -> Path:
        return self.folder / self.state.blueprint

    def _label(self) -> OracleFlywheelState | None:
        """Existing files stay; other processes may make some of them with `ludory texas42 labels`."""
        config = self.state.config
        names = [*golden_names(config), *turn_names(config, self.state.turn)]
        check = CheckLabels(config.labels)
        with self._shown(len(names)) as advance:
            lacking = list(missing(self._labels, names, check))
            advance(len(names) - len(lacking))
            while lacking and not self._stopped:
                fill(
                    self._labels,
                    lacking,
                    check,
                    lambda file, name: _ignored(make_labels(file, name, config.labels)),
                    stop=lambda: self._stopped,
                    report=lambda name: advance(1),
                )
                # their makers may have finished, or died
                lacking = list(missing(self._labels, lacking, check))
                if lacking and not self._stopped:
                    sleep(1)  # another process is making them
        return None if lacking else self.state.after_step()

    def _learn(self) -> OracleFlywheelState | None:
        """A saved network continues where it stopped."""
        file, config = self._file(POLICY), self.state.config
        if file.exists():
            model = Texas42Oracle.load(file, dataset=str(self._labels))
        else:
            header = read_header(self._best)
            model = Texas42Oracle(
                saved_policy(self._best, header),
                dataset=str(self._labels),
                init_from=str(self._best),
                loss_mode=header["config"]["loss_mode"],
                num_epochs=config.num_epochs,
                learning_rate=config.learning_rate,
                batch_size=config.batch_size,
                seed=config.seed,
            )
        return self._trained(model, file)

    def _evaluate(self) -> OracleFlywheelState:
        """Both networks on the golden seeds."""
        golden = read_split(self._labels, "val", 1, 0)
        policy, before = (open_network(file).policy for file in (self._file(POLICY), self._best))
        ahead, stderr = lead_by_deal(golden, regrets(before, golden) - regrets(policy, golden))
        overall = [scores(score_network(network, golden))[0] for network in (policy, before)]
        found = {
            "policy": overall[0],
            "before": overall[1],
            "ahead": ahead,
            "stderr": stderr,
            "deals": _deals(golden)[1],
        }
        with atomic_file(self._file(SCORES), "w") as handle:
            json.dump(found, handle, indent=1)
        return self.state.after_step()

    def _promote(self) -> OracleFlywheelState:
        found = read_scores(self._file(SCORES))
        config, ahead, stderr = self.state.config, found["ahead"], found["stderr"]
        lower = self._lower(ahead, stderr)
        return self.state.after_turn(
            OracleTurn(
                number=self.state.turn,
                blueprint=self.state.blueprint,
                policy=str(self._file(POLICY).relative_to(self.folder)),
                last_seed=turn_names(config, self.state.turn)[-1].seeds[-1],
                deals=found["deals"],
                q_gap=found["policy"]["q_gap"],
                q_gap_before=found["before"]["q_gap"],
                q_gap_states=found["policy"]["q_gap_states"],
                zero_regret=found["policy"]["zero_regret"],
                ahead=ahead,
                stderr=stderr,
                lower=lower,
                promoted=lower > 0,
            )
        )


def read_scores(file: Path) -> dict[str, Any]:
    """What an evaluation wrote.

    Raises:
        DataError: the file is damaged.
    """
    try:
        found: dict[str, Any] = read_json(file)
        numbers = [found["ahead"], found["stderr"], found["deals"], found["before"]["q_gap"]]
        numbers += [found["policy"][name] for name in ("q_gap", "q_gap_states", "zero_regret")]
        wrong = [one for one in numbers if type(one) not in (int, float)]
        if wrong:
            raise ValueError(f"holds {shown(wrong[0])}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file}: damaged ({error}); put a copy of it back, or evaluate again") from error
    return found


def _ignored(number: int) -> None:
    """`fill` takes functions without a result."""


def golden_names(config: OracleFlywheelConfig) -> list[LabelsName]:
    """Files of the golden seeds: 900-949, 1900-1949, ..."""
    return list(islice(_of_split("val", 0), config.golden // SEEDS))


def turn_names(config: OracleFlywheelConfig, turn: int) -> list[LabelsName]:
    """Files of the new seeds of a turn."""
    size = config.deals // SEEDS
    names = list(islice(_of_split("train", config.start_seed), turn * size, (turn + 1) * size))
    if len(names) < size:
        raise OptionError(f"start_seed={config.start_seed}, deals={config.deals}: turn {turn + 1} has no seeds left")
    return names


def _of_split(split: Split, start: int) -> Iterator[LabelsName]:
    return (name for name in label_names(None, start) if split_of(name.first_seed) == split)


def _deals(data: OracleData) -> tuple[NDArray[np.int64], int]:
    """(n,) number of each state's deal, and how many deals there are."""
    number = np.unique(data.deal, axis=0, return_inverse=True)[1].reshape(-1)
    return number, int(number.max()) + 1


def lead_by_deal(data: OracleData, differences: NDArray[np.float64]) -> tuple[float, float]:
    """Mean of differences (n,), every decision counting the same, and its standard error over deals."""
    weighed = data.weights() * differences
    number, deals = _deals(data)
    mean = float(weighed.mean())
    # decisions of a deal are not independent: deviations are added up by deal, then squared
    off = np.bincount(number, weighed - mean)
    return mean, math.sqrt(float((off**2).sum()) * deals / max(deals - 1, 1)) / len(weighed)


def start_oracle_flywheel(config: OracleFlywheelConfig, folder: str | Path) -> OracleFlywheel:
    """A new flywheel; the network that it begins with is copied into its folder.

    Raises:
        OutputError: the folder holds one already.
        CheckpointError: the network cannot be read, or is another algorithm's.
    """
    target = Path(folder).resolve()
    state = OracleFlywheelState(dataclasses.replace(config, start=str(Path(config.start).resolve())), FIRST)
    check_free(target, state)
    open_network(config.start)
    # enough seeds for all turns, or an error now
    turn_names(config, config.turns - 1)
    with atomic_file(target / FIRST) as handle:
        handle.write(Path(config.start).read_bytes())
    return OracleFlywheel.begin(target, state)
