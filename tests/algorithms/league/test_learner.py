"""A league behind the calls of any other learner: made by id, trained, saved, loaded, gone on with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.leagues import high_card, offer

import ludory
from ludory.algorithms.league.config import LeagueConfig
from ludory.algorithms.league.log.events import read_events, standing
from ludory.algorithms.league.run import resume_league
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.checkpoints.learner_folder import FILE
from ludory.errors import CheckpointError, OptionError, OutputError

SMALL: dict[str, Any] = {
    "unit": 400,
    "slice_steps": 200,
    "games_per_match": 4,
    "evaluation_games": 4,
    "anchors": ("random",),
    "seed": 5,
}
OPTIONS = {
    "vtrace": {"num_envs": 16, "n_steps": 8, "batch_columns": 16},
    "ppo": {"num_envs": 16, "n_steps": 8, "batch_size": 64},
    "nim-reinforce": {"num_envs": 16},
}


@pytest.fixture(autouse=True)
def offered(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch)


def league(learner: str = "ppo", env: str = "HighCard-v0", **changes: Any) -> Any:
    options = {**SMALL, "learner": learner, "learner_options": OPTIONS[learner], **changes}
    return ludory.make_algorithm("league", env=env, policy="mlp(hidden=(16,))", **options)


def said(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """What happened, without times and without the events of pauses."""
    volatile = ("seconds", "sha256", "budget", "versions", "config")
    events = [event for event in standing(read_events(folder)) if event.type not in ("resumed", "committed", "closed")]
    return [(e.type, {k: v for k, v in e.body.items() if k not in volatile}) for e in events]


@pytest.mark.parametrize("learner", OPTIONS)
def test_any_algorithm_learns_in_a_league_of_a_game_in_turns(learner: str, tmp_path: Path) -> None:
    seen: list[int] = []
    model = league(learner, folder=tmp_path / "league")
    assert model.learn(1_000, callback=lambda known, _: not seen.append(known["self"].num_timesteps)) is model
    assert len(seen) >= 4, "callbacks are asked after every slice"
    assert seen == sorted(seen)
    state = model.opened_league().state
    assert model.num_timesteps == state.env_steps == seen[-1] >= 1_000
    assert state.closed
    assert state.matrix, "frozen players have met"
    assert {player.role for player in state.players} == {"main", "main_exploiter", "league_exploiter", "anchor"}
    first, last = (
        ludory.make_agent(str(tmp_path / "league" / "players" / f"main0@{number}.ludory"), "HighCard-v0")
        for number in (0, state.player("main0").copies - 1)
    )
    ours, theirs = (torch.cat([p.flatten() for p in agent.policy.parameters()]) for agent in (first, last))
    assert not torch.equal(ours, theirs), "the main has learnt"


@pytest.mark.slow
def test_a_league_of_few_steps_plays_training_matches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = league("vtrace", unit=0, slice_steps=0, games_per_match=64, learner_options={}, folder=tmp_path / "league")
    model.learn(2_000)
    state = model.opened_league().state
    assert "league is short: unit=1000, slice_steps=125, games_per_match=2" in capsys.readouterr().out
    assert min(player.env_steps for player in state.learners) > 0, "every learner has turns"
    assert state.env_steps < 3_000
    assert state.matches > 10


def test_what_was_chosen_of_a_short_league_stays() -> None:
    chosen = {"num_envs": 4, "n_steps": 8}
    short = LeagueConfig(
        env="HighCard-v0", init_from="net", budget_steps=1_000, games_per_match=1, learner_options=chosen
    )
    changes = short.shortened(3)
    assert changes["games_per_match"] == 1
    assert changes["learner_options"].items() >= chosen.items()
    assert replace(short, slice_steps=10).shortened(3) == replace(short, budget_steps=50_000).shortened(3) == {}


def test_a_league_without_a_finished_match_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = league(games_per_match=5_000, folder=tmp_path / "league").learn(300)
    assert "no training match ended" in (said := capsys.readouterr().out)
    assert "-- --num-envs 8" in said
    assert model.opened_league().state.matches == 0
    league(games_per_match=1, folder=tmp_path / "other").learn(300)
    assert "no training match ended" not in capsys.readouterr().out


def test_rewards_of_opponents_moves_reach_the_learner(tmp_path: Path) -> None:
    model = league(folder=tmp_path / "league")
    model.learn(200)
    with resume_league(tmp_path / "league", budget_steps=1_000) as running:
        learner = running.learners["main0"].algorithm
        rollout, stats = learner.sampler.collect(learner.policy, 60, learner.generator)
    assert rollout is not None
    assert rollout.valid is not None
    ended = rollout.valid & rollout.terminated
    assert int(ended.sum()) > len(stats.returns) * 0.5
    assert (rollout.rewards[ended] != 0).all(), "every game of high card is won or lost"
    assert (rollout.rewards[rollout.valid & ~rollout.terminated] == 0).all()
    assert len(stats.returns) > 50
    assert (np.abs(stats.returns) >= 1).all()
    assert abs(stats.returns.mean()) < 1, "an untrained network against its like wins and loses"


@pytest.mark.slow
def test_a_league_of_two_parts_is_that_of_one(tmp_path: Path) -> None:
    whole = league("vtrace", folder=tmp_path / "whole").learn(1_000)
    part = league("vtrace", folder=tmp_path / "parts")
    part.learn(1_000, callback=lambda known, _: known["self"].num_timesteps < 400)
    assert part.num_timesteps < 1_000
    again = ludory.load(tmp_path / "parts")
    assert type(again) is type(part)
    assert again.num_timesteps == part.num_timesteps
    assert again.config == part.config
    again.learn(1_000 - part.num_timesteps, reset_num_timesteps=False)
    assert said(tmp_path / "parts") == said(tmp_path / "whole")
    ours, theirs = (torch.cat([p.flatten() for p in one.as_agent().policy.parameters()]) for one in (again, whole))
    assert torch.equal(ours, theirs)


def test_learning_again_goes_on_behind_what_was_learnt(tmp_path: Path) -> None:
    model = league(folder=tmp_path / "league").learn(300)
    before = model.opened_league().state.env_steps
    model.learn(300)
    assert model.opened_league().state.env_steps >= before + 300
    assert 300 <= model.num_timesteps == model.opened_league().state.env_steps - before


def test_a_league_without_a_folder_moves_to_where_it_is_saved(tmp_path: Path) -> None:
    model = league().learn(200)
    temporary = model.folder
    model.save(tmp_path / "saved")
    assert model.folder == tmp_path / "saved"
    assert not temporary.exists()
    model.save(tmp_path / "saved")
    model.save(tmp_path / "copy")
    assert model.folder == tmp_path / "saved"
    for place in ("saved", "copy"):
        assert ludory.load(tmp_path / place).num_timesteps == model.num_timesteps
    with pytest.raises(OutputError, match="exists already; name another folder"):
        model.save(tmp_path / "copy")
    with pytest.raises(OutputError, match=r"holds a run already; ludory\.load"):
        league(folder=tmp_path / "copy")


def test_the_runner_of_all_learners_runs_it_too(tmp_path: Path) -> None:
    file = tmp_path / "league.ludory"
    assert train_to_file(league(), 400, file) == 0
    assert (file / FILE).is_file()
    assert len((tmp_path / "league.csv").read_text().splitlines()) > 2
    assert ludory.load(file).num_timesteps >= 400


def test_a_saved_league_that_has_not_begun_is_loaded_as_such(tmp_path: Path) -> None:
    model = league()
    model.save(tmp_path / "new")
    again: Any = ludory.load(tmp_path / "new")
    assert again.num_timesteps == 0
    assert again.config == model.config
    with pytest.raises(CheckpointError, match=r"call learn\(\) first"):
        again.as_agent()
    assert again.learn(100).num_timesteps >= 100


def test_what_no_league_plays_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="HanabiTiny2P-v0: reward 'shared'; a league plays zero-sum games"):
        league(env="HanabiTiny2P-v0")
    for learner in ("bc", "sb3_ppo"):
        with pytest.raises(OptionError, match=rf"learner='{learner}': a league needs an algorithm that plays games by"):
            ludory.make_algorithm("league", env="HighCard-v0", learner=learner)
    with pytest.raises(OptionError, match="has no id; register the game"):
        ludory.make_algorithm("league", env=high_card(), learner="ppo")
    (tmp_path / "other").mkdir()
    with pytest.raises(CheckpointError, match="not a checkpoint of Ludory"):
        ludory.load(tmp_path / "other")
    (tmp_path / "other" / FILE).write_text('{"format": 1, "algorithm": "league-v1"}')
    with pytest.raises(CheckpointError, match="damaged"):
        ludory.load(tmp_path / "other")


def test_the_log_of_another_command_is_loaded_as_a_learner() -> None:
    old = Path(__file__).parents[2] / "golden" / "old_files" / "league"
    model: Any = ludory.load(old)
    assert model.game.id == "Arena2P-v0"
    assert model.num_timesteps == model.opened_league().state.env_steps > 0


@pytest.mark.slow
def test_teams_of_texas_42_share_a_network(tmp_path: Path) -> None:
    model = league(env="Texas42Play-v0", folder=tmp_path / "league", evaluation_games=2, games_per_match=2)
    model.learn(200)
    with resume_league(tmp_path / "league", budget_steps=1_000) as running:
        main = running.learners["main0"].algorithm
        rollout, _ = main.sampler.collect(main.policy, 14, main.generator)
        lanes = main.sampler.lanes
        against_others = [lanes.names[code] != "main0" for code in lanes._away.tolist()]
        mine = lanes._mine()
    assert rollout is not None
    assert any(against_others)
    for game, other in enumerate(against_others):
        assert int(mine[game].sum()) == (2 if other else 4)
        assert not other or mine[game, 0] == mine[game, 2] != mine[game, 1] == mine[game, 3]


@pytest.mark.slow
def test_more_opponents_than_the_pool_keeps_are_read_once_and_keep_their_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ludory.algorithms.league import player_files as pool

    monkeypatch.setattr(pool, "KEPT", 2)
    read: list[str] = []
    whole = pool.read_checkpoint

    def counted(file: Path) -> Any:
        read.append(Path(file).stem)
        return whole(file)

    options = {**SMALL, "unit": 100, "slice_steps": 100, "games_per_match": 1, "roles": (1, 0, 0)}
    learner = {"learner": "ppo", "learner_options": OPTIONS["ppo"]}
    model: Any = ludory.make_algorithm(
        "league", env="HighCard-v0", policy="gru(memory_size=8)", folder=tmp_path / "league", **learner, **options
    )
    model.learn(1_200)
    frozen = [player.id for player in model.opened_league().state.players if player.frozen]
    assert len(frozen) >= 9
    with resume_league(tmp_path / "league", budget_steps=9_999) as running:
        monkeypatch.setattr(pool, "read_checkpoint", counted)
        main = running.learners["main0"].algorithm
        lanes = main.sampler.lanes
        running.pool._recent.clear()
        lanes.opponents._runners.clear()
        lanes._away[:] = torch.tensor([lanes._code(frozen[k % 9]) for k in range(16)])
        lanes.generator = main.generator
        lanes.begin()
        runners = {name: lanes.opponents.runner(name) for name in frozen[:9]}
        for place, runner in enumerate(runners.values()):
            runner.runner.memory.fill_(place)
        assert sorted(read) == sorted(frozen[:9])
        lanes.begin()
        assert len(read) == 9, "nothing is read again, though the pool keeps two"
        for place, (name, runner) in enumerate(runners.items()):
            assert lanes.opponents.runner(name) is runner
            assert (runner.runner.memory == place).all(), "memories outlive a rollout"


@pytest.mark.slow
def test_schedules_of_a_learner_run_over_the_whole_league() -> None:
    model = league("ppo", learner_options=OPTIONS["ppo"] | {"final_learning_rate": 0.0}, roles=(1, 0, 0))
    rates: list[float] = []

    def rate(known: dict[str, Any], _: dict[str, Any]) -> bool:
        (player,) = known["self"]._league.learners.values()
        rates.append(player.algorithm.optimizer.param_groups[0]["lr"] / player.algorithm.config.learning_rate)
        return True

    model.learn(2_000, callback=rate)
    done = np.linspace(0, 1, len(rates) + 1)[1:]
    # a slice's own schedule would be almost over in the first quarter
    np.testing.assert_allclose(rates, 1 - done, atol=0.15)
