"""Battles that `ludory record` wrote, among the recorded games of the server: played again by the simulator."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from ludory.agents.evaluation.record import record
from ludory.data.viewing.game_rows import GameFilter
from ludory.data.viewing.replay_page import replay_content
from ludory.envs.pokemon.backends import install
from ludory.errors import PluginError
from ludory.web import recorded


def test_recorded_battles_are_listed_and_played_again(
    simulator: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record("pokemon/random", "PokemonGen1RandomBattle-v0", games=2, folder=tmp_path / "set", seed=1)
    key = next(iter(recorded.find_recordings(tmp_path)))
    page = recorded.games_page(tmp_path, key, GameFilter())
    assert (page["total"], page["needs"]) == (2, "")
    settings = SimpleNamespace(data=tmp_path)
    replay = recorded.find_game(settings, page["rows"][1]["id"])
    assert (replay.finished, list(replay.returns)) == (True, list(page["rows"][1]["returns"]))
    content = replay_content(replay)
    assert len(content["positions"]) == len(replay.moves) + 1
    assert content["views"][1].startswith("seat 0 (pokemon/random")
    monkeypatch.setattr(install, "installed", lambda: None)
    assert "ludory pokemon install" in recorded.games_page(tmp_path, key, GameFilter())["needs"]
    with pytest.raises(PluginError, match="ludory pokemon install"):
        recorded.find_game(settings, page["rows"][0]["id"])
