"""Rewards for progress on the way: learnt from, never counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import ludory
from ludory.errors import OptionError


def _collected(shaping: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Rewards of a rollout, returns of its games, and the largest sum of both seats' rewards."""
    model = ludory.make_algorithm(
        "vtrace", env="Arena2P-v0", policy="mlp(hidden=(8,))", num_envs=8, seats="all", seed=2, shaping=shaping
    )
    rollout, stats = model.sampler.collect(model.policy, 700, model.generator)
    assert rollout is not None
    rewards = rollout.rewards.numpy()
    return rewards, stats.returns, float(np.abs(rewards.reshape(700, 8, 2).sum(-1)).max())


@pytest.mark.slow
def test_shaping_adds_the_damage_and_leaves_returns_alone() -> None:
    plain, returns, _ = _collected(0.0)
    shaped, same_returns, unequal = _collected(0.25)
    np.testing.assert_array_equal(returns, same_returns)
    assert len(returns) >= 8
    extra = shaped - plain
    assert np.count_nonzero(extra) > 50
    assert np.abs(extra).max() <= 0.25  # one decision hurts a body by at most all that it has
    assert unequal > 0, "the zone hurts without a rival's doing"


def test_a_game_without_progress_is_refused() -> None:
    with pytest.raises(OptionError, match=r"shaping=0\.5: HanabiTiny2P-v0 has no progress to reward"):
        ludory.make_algorithm("ppo", env="HanabiTiny2P-v0", num_envs=4, shaping=0.5)


@pytest.mark.plain
def test_a_resumed_run_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    options = {
        "policy": "mlp(hidden=(8,))",
        "num_envs": 4,
        "n_steps": 16,
        "batch_columns": 8,
        "seed": 2,
        "shaping": 0.25,
    }
    whole = ludory.make_algorithm("vtrace", env="Arena2P-v0", seats="all", **options)
    whole.learn(16 * 8)
    whole.save(tmp_path / "half.ludory")
    whole.learn(16 * 8, reset_num_timesteps=False)
    resumed = ludory.load(tmp_path / "half.ludory")
    resumed.learn(16 * 8, reset_num_timesteps=False)
    for one, other in zip(whole.policy.parameters(), resumed.policy.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
