"""A small league of duels for tests: tiny networks, few games, a few seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from games.high_card import HIGH_CARD

import ludory
from ludory import plugins
from ludory.algorithms.league.config import LeagueConfig
from ludory.algorithms.league.run import League, start_league
from ludory.envs.game import Game
from ludory.plugins import Entry

GAME = "Arena2P-v0"
SHORT: dict[str, Any] = {"env": "TicTacToe-v0", "anchors": ("random",)}
"""Changes of `small_config` for a league whose games end after a few moves."""


def teacher_file(folder: Path, game: str = GAME) -> Path:
    """An untrained policy as the supervised one."""
    file = folder / f"teacher-{game}.ludory"
    if not file.exists():
        ludory.make_algorithm("vtrace", env=game, policy="mlp(hidden=(16,))", num_envs=2, seed=3).save_policy(file)
    return file


def small_config(folder: Path, **changes: Any) -> LeagueConfig:
    """Sixteen slices."""
    options = {"num_envs": 16, "n_steps": 8, "batch_columns": 16}
    plain: dict[str, Any] = {
        "env": GAME,
        "teacher": str(teacher_file(folder, changes.get("env", GAME))),
        "budget_steps": 6_000,
        "unit": 700,
        "slice_steps": 400,
        "games_per_match": 4,
        "evaluation_games": 4,
        "anchors": ("arena/rusher",),
        "learner_options": options,
        "seed": 5,
    }
    return LeagueConfig(**{**plain, **changes})


def started(folder: Path, name: str = "league", **changes: Any) -> League:
    """A league in `folder/name`, ready to run."""
    return start_league(small_config(folder, **changes), folder / name)


def weights(league: League) -> dict[str, torch.Tensor]:
    """All learners' parameters."""
    return {
        f"{id}/{name}": part.clone()
        for id, learner in league.learners.items()
        for name, part in learner.policy.state_dict().items()
    }


def high_card() -> Game:
    """A two-player game in turns, as the package of a third party offers it."""
    return HIGH_CARD


def offer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the game in turns and an algorithm of a third party."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "plugins" / "example_package"))
    for registry, id, target in (
        (plugins.games, "HighCard-v0", "support.leagues:high_card"),
        (plugins.algorithms, "nim-reinforce-v1", "ludory_nim.reinforce:Reinforce"),
    ):
        registry.ids()
        monkeypatch.setitem(registry._offers, id, [Entry(id, target, "")])
