"""Learning from battles: cloning, PPO and V-trace with the networks of Pokémon, on battles without a simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.recorded_games import record_games

import ludory
from ludory.algorithms.bc import BC
from ludory.algorithms.ppo import PPO
from ludory.algorithms.vtrace import VTrace

from .toy import Strongest, toy_battle

NETWORKS = (
    "pokemon/entity(width=32, trunk_width=32)",
    'pokemon/entity(width=32, trunk_width=32, memory="gru")',
    "pokemon/entity-transformer(width=16, trunk_width=16, num_layers=1)",
    "pokemon/mlp(hidden=(32,))",
)


@pytest.fixture(scope="module")
def battles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Battles of the strongest moves."""
    return record_games(tmp_path_factory.mktemp("battles"), toy_battle(), Strongest(), 400)


def last_metrics(model: Any) -> dict[str, float]:
    """Metrics of the last epoch or iteration."""
    found: dict[str, float] = {}
    dump = model.logger.dump

    def keep(step: int = 0) -> None:
        found.update(model.logger.name_to_value)
        dump(step)

    model.logger.dump = keep
    return found


@pytest.mark.slow
def test_a_clone_learns_which_move_is_strongest(battles: Path) -> None:
    """Beside the baselines on the very samples: the rule that was cloned is right always, the clone nearly."""
    settings = {"num_epochs": 8, "learning_rate": 3e-3, "label_smoothing": 0.0, "split_ratio": (0.8, 0.2, 0.0)}
    model = BC("pokemon/entity(width=64, trunk_width=64)", toy_battle(), dataset=battles, seed=1, **settings)
    found = last_metrics(model)
    model.learn()
    assert found["val/max_power_accuracy"] == 1
    assert found["val/accuracy"] > 0.85 > found["val/prior_accuracy"]
    assert 1 / found["val/mean_legal"] < found["val/uniform_accuracy"] < 0.35
    assert found["val/share_moves"] + found["val/share_switches"] == pytest.approx(1)
    kinds = ("free", "forced_switch", "single")
    assert sum(found[f"val/share_{kind}"] for kind in kinds if f"val/share_{kind}" in found) == pytest.approx(1)
    assert found["val/perplexity"] == pytest.approx(np.exp(found["val/nll"]))
    shares = [found[f"val/share_{one}"] * found[f"val/accuracy_{one}"] for one in ("moves", "switches")]
    assert sum(shares) == pytest.approx(found["val/accuracy"])


@pytest.mark.parametrize("network", [NETWORKS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in NETWORKS[1:])])
def test_every_network_learns_by_cloning(battles: Path, network: str) -> None:
    """The loss falls, also of networks with a memory, which learn from whole battles."""
    model = BC(network, toy_battle(), dataset=battles, num_epochs=1, learning_rate=3e-3)
    found = last_metrics(model)
    model.learn()
    assert found["val/nll"] < found["val/uniform_nll"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [PPO, VTrace])
@pytest.mark.parametrize("network", NETWORKS[:2])
def test_self_play_starts_from_a_clone_and_copes_with_seats_that_wait(
    battles: Path, tmp_path: Path, kind: Any, network: str
) -> None:
    """Weights of the clone are those that self-play begins with; losses stay finite, and the file loads."""
    clone = BC(network, toy_battle(), dataset=battles, num_epochs=1)
    clone.learn()
    clone.save(tmp_path / "clone.ludory")
    small = {"batch_columns": 8} if kind is VTrace else {"batch_size": 64}
    model = kind(
        network, toy_battle(), num_envs=8, n_steps=8, seats="all", init_from=str(tmp_path / "clone.ludory"), **small
    )
    for name, weights in clone.policy.state_dict().items():
        assert torch.equal(model.policy.state_dict()[name], weights)
    found = last_metrics(model)
    model.learn(512)
    assert found
    assert all(np.isfinite(value) for value in found.values() if isinstance(value, float))
    model.save(tmp_path / "played.ludory")
    again = kind.load(tmp_path / "played.ludory", env=toy_battle())
    assert again.num_timesteps == model.num_timesteps
    assert ludory.evaluate([again, Strongest()], game=toy_battle(), games=10).returns.shape == (10, 2)


def test_the_default_network_is_the_one_that_reads_the_observation() -> None:
    """A plain perceptron would take ids for quantities."""
    assert PPO("auto", toy_battle(), num_envs=2).policy_spec.id == "pokemon/entity"
