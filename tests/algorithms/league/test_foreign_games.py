"""Leagues of games whose rules run elsewhere: a running game is neither copied nor saved."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import ludory
from ludory.algorithms.league.log.events import read_events, standing
from ludory.algorithms.league.run import League, resume_league
from ludory.cli import main
from ludory.errors import OptionError

pytest.importorskip("pettingzoo", reason="the foreign games are those of PettingZoo")
NIM = "pettingzoo:games.foreign_nim"
LEARNERS = {
    "ppo": {"num_envs": 8, "n_steps": 16, "batch_size": 64},
    "vtrace": {"num_envs": 8, "n_steps": 8, "batch_columns": 8},
}


def league(folder: Path, learner: str = "ppo", env: str = NIM, policy: str = "mlp(hidden=(16,))") -> Any:
    rules: dict[str, Any] = {"unit": 400, "slice_steps": 128, "games_per_match": 4, "evaluation_games": 4, "seed": 3}
    return ludory.make_algorithm(
        "league",
        env=env,
        policy=policy,
        folder=folder,
        learner=learner,
        learner_options=LEARNERS[learner],
        anchors=("random",),
        **rules,
    )


def _killed_in_its_third_turn(folder: Path) -> None:
    """Main function of a process: the turn is played, and not committed."""
    checkpoint = League._checkpoint

    def die_or_write(self: League, player: str) -> None:
        if self.state.turn == 3:
            self.log.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        checkpoint(self, player)

    League._checkpoint = die_or_write  # type: ignore[method-assign]
    league(folder).learn(1_500)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked process")
def test_a_killed_league_goes_on_with_new_games_and_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "league"
    child = multiprocessing.get_context("fork").Process(target=_killed_in_its_third_turn, args=(folder,))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    with resume_league(folder) as resumed:
        state = resumed.state
        assert state.turn == 2, "the third turn was not committed"
        assert not state.open_matches, "their games cannot go on"
        first = state.next_match
        assert resumed.run()
        assert state.closed
        assert state.env_steps >= 1_500
    events = standing(read_events(folder))
    began = next(place for place, event in enumerate(events) if event.type == "resumed")
    assert events[began].body["games"] == "new"
    results = [event.body["match"] for event in events[began:] if event.type == "result"]
    assert results
    assert min(results) >= first
    assert main(["league", "report", str(folder), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {"main0", "main0@0", "random"} <= {player["id"] for player in report["players"]}


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mlp(hidden=(16,))", "gru(hidden=(16,), memory_size=16)"])
def test_vtrace_learns_too_with_and_without_a_memory(tmp_path: Path, policy: str) -> None:
    model = league(tmp_path / "league", "vtrace", policy=policy).learn(600)
    state = model.opened_league().state
    assert state.matches > 0
    assert all(player.env_steps > 0 for player in state.learners)


@pytest.mark.slow
def test_a_game_of_pettingzoo_itself(tmp_path: Path) -> None:
    pytest.importorskip(
        "pettingzoo.classic.tictactoe_v3", reason="pettingzoo[classic] is not installed", exc_type=ImportError
    )
    assert league(tmp_path / "league", env="pettingzoo:tictactoe_v3").learn(600).opened_league().state.matches > 0


def test_workers_are_refused_since_each_turn_would_begin_new_games(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"cannot be saved, so each turn at a worker .* leave --jobs and --ray out"):
        league(tmp_path / "league").sample_at(None, 2)
