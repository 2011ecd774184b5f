"""Against players that draw, a seed decides a run, and a resumed one ends at the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from games.external import tic_tac_toe
from games.nim import nim

import ludory
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.ppo import PPO
from ludory.algorithms.sb3_ppo import SB3PPO
from ludory.algorithms.vtrace import VTrace
from ludory.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from ludory.envs.game import Game

GAME = nim(heaps=2)
COMMON: dict[str, Any] = {"num_envs": 8, "n_steps": 8, "hidden": (8,), "seed": 3, "seats": "1"}
LEARNERS: dict[type[Algorithm], dict[str, Any]] = {
    PPO: {"batch_size": 32, "n_epochs": 1},
    VTrace: {},
    SB3PPO: {"batch_size": 32, "n_epochs": 1},
}
STEPS = 512
learners = pytest.mark.parametrize(
    "learner",
    [pytest.param(one, id=one.__name__, marks=[] if one is PPO else pytest.mark.slow) for one in LEARNERS],
)


def trained(learner: type[Algorithm], steps: int = STEPS, **changes: Any) -> Algorithm:
    options = COMMON | LEARNERS[learner] | changes
    return learner("mlp", GAME, **options).learn(steps)


def weights(model: Algorithm) -> list[torch.Tensor]:
    return list(model.policy.state_dict().values())


def equal(one: Algorithm, other: Algorithm) -> bool:
    return all(map(torch.equal, weights(one), weights(other)))


@learners
def test_a_seed_decides_a_run_and_it_resumes_to_the_same_numbers(learner: type[Algorithm], tmp_path: Path) -> None:
    whole, again = trained(learner), trained(learner)
    assert equal(whole, again)
    assert not equal(whole, trained(learner, others="mixture(random, random)")), "opponents have to matter"
    trained(learner, STEPS // 2).save(tmp_path / "half.ludory")
    rest = learner.load(tmp_path / "half.ludory", env=GAME).learn(STEPS // 2, reset_num_timesteps=False)
    assert equal(whole, rest)


@pytest.mark.parametrize("others", [pytest.param("random(seed=3)", marks=pytest.mark.slow), "mixture(random, random)"])
def test_players_by_any_name_resume(others: str, tmp_path: Path) -> None:
    trained(PPO, STEPS // 2, others=others).save(tmp_path / "half.ludory")
    rest = PPO.load(tmp_path / "half.ludory", env=GAME).learn(STEPS // 2, reset_num_timesteps=False)
    assert equal(trained(PPO, others=others), rest)


def test_a_network_that_draws_is_resumed(tmp_path: Path) -> None:
    """Its memory through time and the key of its draws are kept."""
    model = ludory.make_algorithm("ppo", env="HanabiTiny2P-v0", policy="gru(memory_size=8)", hidden=(8,), num_envs=2)
    model.save_policy(tmp_path / "partner.ludory")
    options = COMMON | LEARNERS[PPO] | {"others": f"{tmp_path}/partner.ludory(deterministic=False)"}
    whole, half = (PPO("mlp", "HanabiTiny2P-v0", **options).learn(steps) for steps in (256, 128))
    half.save(tmp_path / "half.ludory")
    assert equal(whole, PPO.load(tmp_path / "half.ludory").learn(128, reset_num_timesteps=False))


@learners
def test_a_checkpoint_without_the_players_state_starts_new_games(learner: type[Algorithm], tmp_path: Path) -> None:
    file = tmp_path / "old.ludory"
    trained(learner, STEPS // 2).save(file)
    header, tensors = read_checkpoint(file)
    write_checkpoint(file, header, {name: part for name, part in tensors.items() if "/others/" not in name})
    loaded = learner.load(file, env=GAME)
    assert equal(trained(learner, STEPS // 2), loaded)
    loaded.learn(STEPS // 2, reset_num_timesteps=False)
    assert loaded.num_timesteps == STEPS


@pytest.mark.parametrize(
    "game", ["TicTacToe-v0", "HanabiTiny2P-v0", tic_tac_toe()], ids=["kernels", "shared", "engine"]
)
@pytest.mark.parametrize(
    ("chosen", "own"), [({"others": "random"}, 0), ({"others": "self"}, None), ({"others": "self", "seats": "1"}, 1)]
)
def test_who_names_others_learns_one_seat(game: str | Game, chosen: dict[str, str], own: int | None) -> None:
    model = PPO("mlp", game, num_envs=8, n_steps=8, batch_size=32, **chosen)
    lanes = model.sampler.lanes
    sides = getattr(lanes, "policy_seats", None)
    assert (None if sides is None else sides.own) == own
