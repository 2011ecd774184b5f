"""Self-play in real battles: PPO, V-trace and a league start from a clone and make decisions that the simulator accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludory
from ludory.agents.evaluation.record import record
from ludory.algorithms.bc import BC
from ludory.algorithms.league.config import LeagueConfig
from ludory.algorithms.league.run import start_league
from ludory.algorithms.ppo import PPO
from ludory.algorithms.vtrace import VTrace
from ludory.envs.pokemon.backends.install import Installation

from .test_learning import last_metrics

GAME = "PokemonGen1RandomBattle-v0"
POLICY = "pokemon/entity(width=32, trunk_width=32)"
BOT = "pokemon/simple-heuristics"


@pytest.fixture(scope="module")
def clone(simulator: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of a few battles, recorded in this process."""
    folder = tmp_path_factory.mktemp("clone")
    record(BOT, ludory.make_game(GAME, workers=0), 6, folder / "battles", seed=1)
    model = BC(POLICY, GAME, dataset=folder / "battles", num_epochs=1, split_ratio=(1, 0, 0), value_coef=0.25)
    model.learn()
    model.save(folder / "clone.ludory")
    return folder / "clone.ludory"


@pytest.mark.parametrize("kind", [PPO, VTrace])
def test_self_play_goes_on_from_a_clone(clone: Path, kind: Any) -> None:
    """Forced switches of one side are waits of the other; all numbers stay finite, and the model plays a battle."""
    small = {"batch_columns": 4} if kind is VTrace else {"batch_size": 64, "normalize_observations": False}
    game = ludory.make_game(GAME, workers=0)
    model = kind(POLICY, game, num_envs=4, n_steps=16, seats="all", init_from=str(clone), seed=2, **small)
    found = last_metrics(model)
    model.learn(200)
    assert found
    assert all(np.isfinite(value) for value in found.values() if isinstance(value, float))
    played = ludory.evaluate([model, BOT], game=game, games=1, rotate=True)
    assert played.returns.sum() == 0


def test_a_league_of_battles_ends_with_frozen_players(clone: Path, tmp_path: Path) -> None:
    """One main and one exploiter, measured against a scripted player."""
    config = LeagueConfig(
        env=GAME,
        teacher=str(clone),
        budget_steps=300,
        unit=100,
        slice_steps=100,
        roles=(1, 1, 0),
        games_per_match=2,
        evaluation_games=2,
        evaluation_every=100,
        anchors=(BOT,),
        learner_options={"num_envs": 4, "n_steps": 8, "batch_columns": 4},
        seed=3,
    )
    with start_league(config, tmp_path / "league") as league:
        league.run()
        assert league.state.env_steps >= 300
        assert [player.id for player in league.state.players if player.frozen]
