"""Training with samplers at workers: `ppo` as one process, `vtrace` with a counted lag, also when workers are killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ludory
from ludory.benchmarks.faults.two_nodes import Killer, TwoNodes
from ludory.cli import main
from ludory.cluster.workers import InProcess, Workers
from ludory.errors import OptionError

GAME = "HanabiTiny2P-v0"
SMALL: dict[str, Any] = {"num_envs": 30, "n_steps": 6, "seed": 3}
STEPS = 30 * 6 * 3
COMPILED = (pytest.mark.slow, pytest.mark.optimised)


def trained(algorithm: str, workers: Workers | None, file: Path, samplers: int = 2, **changes: Any) -> bytes:
    """The checkpoint after `STEPS` decisions."""
    options = {**SMALL, **({"batch_size": 64} if algorithm == "ppo" else {"batch_columns": 8}), **changes}
    game = options.pop("game", GAME)
    model: Any = ludory.make_algorithm(algorithm, env=game, **options)
    if workers is not None:
        model.sample_at(workers, samplers)
    model.learn(STEPS)
    model.save(file)
    return file.read_bytes()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, marks=COMPILED),
        pytest.param({"policy": "gru"}, marks=pytest.mark.slow),
        pytest.param({"game": "KuhnPoker-v0"}, marks=COMPILED),
        pytest.param({"game": "KuhnPoker-v0", "others": "random"}, marks=COMPILED),
        {"privileged_value": True},
    ],
    ids=str,
)
def test_ppo_learns_the_same_bit_for_bit_in_any_number_of_shares(changes: dict[str, Any], tmp_path: Path) -> None:
    """Weights, optimiser, games and random state: the whole checkpoint.

    Networks that PyTorch runs are left out with 3 shares: its matrix products may round differently with another number of rows.
    """
    alone = trained("ppo", None, tmp_path / "alone.ludory", **changes)
    for samplers in (1,) if {"policy", "privileged_value"} & set(changes) else (1, 3):
        assert trained("ppo", InProcess(), tmp_path / "shared.ludory", samplers, **changes) == alone


@pytest.mark.optimised
def test_ppo_on_ray_learns_the_same_bit_for_bit_while_samplers_are_killed(two_nodes: TwoNodes, tmp_path: Path) -> None:
    alone = trained("ppo", None, tmp_path / "alone.ludory")
    with Killer(two_nodes, seed=4, pause=1.5, most=3) as killer:
        assert trained("ppo", two_nodes.workers, tmp_path / "ray.ludory") == alone
    assert killer.kills


@pytest.mark.slow
@pytest.mark.optimised
def test_a_run_goes_on_without_the_workers_with_which_it_began(tmp_path: Path) -> None:
    whole: Any = ludory.make_algorithm("ppo", env=GAME, **SMALL).learn(STEPS)
    begun: Any = ludory.make_algorithm("ppo", env=GAME, **SMALL).sample_at(InProcess(), 3).learn(STEPS // 3)
    begun.save(tmp_path / "begun.ludory")
    resumed: Any = ludory.load(tmp_path / "begun.ludory")
    resumed.learn(STEPS - begun.num_timesteps, reset_num_timesteps=False)
    whole.save(tmp_path / "whole.ludory")
    resumed.save(tmp_path / "resumed.ludory")
    for name, tensor in whole.policy.state_dict().items():
        assert tensor.equal(resumed.policy.state_dict()[name]), name


def test_the_lag_of_vtrace_is_counted_and_bounded(tmp_path: Path) -> None:
    """With three shares a rollout is up to three turns old; sequences beyond the bound are dropped."""
    lags: list[float] = []
    for bound in (1000, 0):
        model: Any = ludory.make_algorithm("vtrace", env=GAME, batch_columns=8, max_lag=bound, **SMALL)
        model.sample_at(InProcess(), 3)
        metrics = [model.iterate(lambda: True) for _ in range(8)]
        lags.append(max(one.get("train/policy_lag", 0.0) for one in metrics))
        assert (metrics[-1]["train/dropped_sequences"] > 0) == (bound == 0)
    assert lags[0] > 3
    assert lags[1] == 0


def test_vtrace_on_ray_learns_while_samplers_are_killed(two_nodes: TwoNodes, tmp_path: Path) -> None:
    model: Any = ludory.make_algorithm("vtrace", env=GAME, batch_columns=8, **SMALL)
    model.sample_at(two_nodes.workers, 2)
    with Killer(two_nodes, seed=6, pause=1.0, most=2):
        model.learn(STEPS)
    assert model.num_timesteps >= STEPS
    model.release_samplers()
    model.save(tmp_path / "model.ludory")
    assert ludory.load(tmp_path / "model.ludory").num_timesteps == model.num_timesteps


def test_what_cannot_be_shared_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OptionError, match="40 samplers for 30 games"):
        ludory.make_algorithm("ppo", env=GAME, **SMALL).sample_at(InProcess(), 40)  # type: ignore[attr-defined]
    assert main(["train", "cfr", "--env", "KuhnPoker-v0", "--ray", "2", "--out", str(tmp_path / "a.ludory")]) == 2
    assert "cfr runs in one process; ppo, vtrace, text-ppo and league can" in capsys.readouterr().err
