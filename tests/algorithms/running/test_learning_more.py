"""`learn(n, reset_num_timesteps=False)` trains n timesteps more, as in Stable-Baselines3."""

from __future__ import annotations

from typing import Any

import pytest
from stable_baselines3.common.callbacks import BaseCallback

import ludory
from ludory.algorithms.running.train_to_file import train_to_file

TINY = "HanabiTiny2P-v0"
PLAYING: dict[str, dict[str, Any]] = {
    "ppo": {"env": TINY, "num_envs": 8, "n_steps": 4, "batch_size": 16, "hidden": (8,), "seed": 0},
    "vtrace": {"env": TINY, "num_envs": 8, "n_steps": 4, "batch_columns": 4, "hidden": (8,), "seed": 0},
    "sb3_ppo": {"env": TINY, "num_envs": 8, "n_steps": 4, "batch_size": 16, "hidden": (8,), "seed": 0},
    "cfr": {"env": "KuhnPoker-v0", "report_every": 2},
}


@pytest.mark.parametrize("algorithm", PLAYING)
def test_a_second_call_trains_as_many_timesteps_again(algorithm: str) -> None:
    model = ludory.make_algorithm(algorithm, **PLAYING[algorithm])
    reached = [model.learn(64, reset_num_timesteps=False).num_timesteps for _ in range(3)]
    assert reached == [64, 128, 192]
    assert model.learn(64).num_timesteps == 64, "counted from 0 again"


class _Seen(BaseCallback):
    """Keeps the total that Stable-Baselines3's progress bar reads, and the remaining share after each step."""

    def _on_training_start(self) -> None:
        self.total, self.left = self.locals["total_timesteps"], list[float]()

    def _on_step(self) -> bool:
        learner: Any = self.model
        self.left.append(learner.progress_remaining)
        return True


def test_schedules_of_a_second_call_end_where_it_ends() -> None:
    model, seen = ludory.make_algorithm("ppo", **PLAYING["ppo"]), _Seen()
    model.learn(32)
    model.learn(32, callback=seen, reset_num_timesteps=False)
    assert seen.total == 64
    assert seen.left == [0.375, 0.25, 0.125, 0]


def test_a_run_on_disk_counts_what_the_model_had_before(tmp_path: Any) -> None:
    model = ludory.make_algorithm("ppo", **PLAYING["ppo"]).learn(64)
    train_to_file(model, 96, tmp_path / "model.ludory")
    assert model.num_timesteps == 96
    train_to_file(model, 96, tmp_path / "model.ludory")
    assert model.num_timesteps == 96
