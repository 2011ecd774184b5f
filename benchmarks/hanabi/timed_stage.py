"""A stage of training that is limited by its own CPU time, with a curve of scores, and resumable.

The clock stops while the network is scored. Learning rate and weights of the loss follow the clock.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from time import monotonic, process_time
from typing import Any

from ludory.algorithms.ppo import PPO
from ludory.algorithms.running.callbacks import BetweenIterations
from ludory.algorithms.running.interrupt import raise_interrupt, stop_on_interrupt
from ludory.algorithms.running.train_to_file import training_lock
from ludory.benchmarks.harness.result_file import write_result

FOREVER = 10**12
Points = list[dict[str, Any]]
"""Points of a curve: `stage`, `timesteps` and `seconds` of the stage so far, `mean` and `stderr` of the score."""


class CurveFile:
    """The curve of a run as a JSON file.

    A point is written before the checkpoint of its weights, so that a checkpoint always has its time here.

    Args:
        file: JSON file; it may exist.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.points: Points = json.loads(file.read_text(encoding="utf-8"))["points"] if file.exists() else []

    def of(self, stage: str) -> Points:
        """Points of one stage."""
        return [point for point in self.points if point["stage"] == stage]

    def add(self, point: dict[str, Any]) -> None:
        """Add a point and write the file."""
        self.points.append(point)
        write_result(self.file, {"points": self.points})

    def cut(self, stage: str, timesteps: int) -> None:
        """Forget points of a stage behind `timesteps`, whose weights were never saved."""
        self.points = [p for p in self.points if p["stage"] != stage or p["timesteps"] <= timesteps]


class _Clock(BetweenIterations):
    """Moves the schedules, adds points to the curve, and stops the training when its time is over."""

    def __init__(
        self,
        model: PPO,
        stage: str,
        file: Path,
        seconds: float,
        every: float,
        curve: CurveFile,
        score: Callable[[], Any],
    ) -> None:
        self._learner, self._stage, self._file, self._curve, self._score = model, stage, file, curve, score
        self._limit, self._every = seconds, every
        self._read = monotonic if model.device.type == "cuda" else process_time
        known = curve.of(stage)
        self._before = known[-1]["seconds"] if known else 0.0
        self._next = min(self._before + every, seconds)
        self._since = self._read()

    @property
    def seconds(self) -> float:
        """Of training in this stage so far."""
        return self._before + self._read() - self._since

    def on_rollout_start(self) -> None:
        """Score, save or stop, if it is time."""
        seconds = self.seconds
        self._learner.time_share = min(1.0, seconds / self._limit)
        if seconds >= self._next:
            self.save(seconds, self._score())
            self._next = min(self._next + self._every, self._limit)
        if seconds >= self._limit:
            self._learner.stop()

    def save(self, seconds: float, score: dict[str, float]) -> None:
        """Write a point and the weights; the clock goes on from `seconds`."""
        place = {"stage": self._stage, "timesteps": self._learner.num_timesteps, "seconds": round(seconds, 2)}
        self._curve.add(place | score)
        self._learner.save(self._file)
        self._before, self._since = seconds, self._read()


def train_stage(
    make: Callable[[], PPO],
    stage: str,
    file: Path,
    seconds: float,
    every: float,
    curve: CurveFile,
    score: Callable[[PPO], Any],
) -> PPO:
    """The model after `seconds` of training, with its checkpoint in `file`; goes on from an earlier call's checkpoint.

    Args:
        make: returns the model at the start of the stage.
        stage: name of the stage in the curve.
        file: the checkpoint.
        seconds: CPU time of all threads; on CUDA, time on the clock.
        every: seconds between the points of the curve.
        curve: points are added to it.
        score: `mean` and `stderr` of the model's score.

    Raises:
        KeyboardInterrupt: after a stop by Ctrl+C or SIGTERM; the checkpoint is written.
    """
    with training_lock(file):
        model = PPO.load(file) if file.exists() else make()
        curve.cut(stage, model.num_timesteps if file.exists() else -1)
        clock = _Clock(model, stage, file, seconds, every, curve, lambda: score(model))
        if clock.seconds < seconds:
            with stop_on_interrupt(model.stop) as interrupted:
                model.learn(FOREVER, clock, progress_bar=True, reset_num_timesteps=False)
            if interrupted:
                clock.save(clock.seconds, {})
                raise_interrupt(interrupted[0])
        return model
