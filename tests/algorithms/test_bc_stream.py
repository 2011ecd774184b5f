"""Behaviour cloning from games that a teacher plays meanwhile."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ludory
from ludory.agents.evaluation.record import record
from ludory.agents.make import make_agent
from ludory.algorithms.bc import BC
from ludory.algorithms.offline.stream import GameStream
from ludory.data import TrajectoryDataset
from ludory.envs.make import make_game
from ludory.errors import OptionError, UnknownIdError

TINY = "HanabiTiny2P-v0"
OPTIONS = {
    "stream": "hanabi/iggi",
    "stream_decisions": 4000,
    "stream_validation": 1000,
    "seed": 1,
    "learning_rate": 3e-3,
}


def test_a_stream_has_the_decisions_of_a_recording(tmp_path):
    """The same seed, teacher and numbers of games: the decisions that `ludory record` writes."""
    record("hanabi/iggi", TINY, 64, tmp_path / "games", seed=7)
    recorded = next(iter(TrajectoryDataset(tmp_path / "games").batches(10**6)))
    stream = GameStream(make_game(TINY), "hanabi/iggi", 10**4, 7)
    streamed = next(iter(stream.batches(10**6)))
    for name in ("observations", "masks", "actions", "rewards", "returns", "terminated", "seats", "steps"):
        ours, theirs = getattr(streamed, name)[: len(recorded.actions)], getattr(recorded, name)
        assert torch.equal(ours, theirs), name


def test_no_game_comes_twice_and_an_epoch_has_its_decisions():
    stream = GameStream(make_game(TINY), "hanabi/iggi", 5000, 3)
    epochs = [list(stream.batches(256, seed=0, epoch=epoch)) for epoch in (0, 1)]
    games = [set(torch.cat([batch.games for batch in epoch]).tolist()) for epoch in epochs]
    assert not games[0] & games[1]
    for epoch in epochs:
        made = sum(len(batch.actions) for batch in epoch)
        assert 5000 <= made < 5000 + make_game(TINY).facts.longest_game
    again = list(stream.batches(256, seed=0, epoch=1))
    assert all(torch.equal(a.actions, b.actions) for a, b in zip(again, epochs[1], strict=True))


def test_the_student_plays_and_the_teacher_is_learnt():
    game = make_game(TINY)
    student = make_agent("random", game)
    stream = GameStream(game, "hanabi/iggi", 4000, 3, student, 1.0)
    batch = next(iter(stream.batches(10**6)))
    own = next(iter(GameStream(game, "hanabi/iggi", 4000, 3).batches(10**6)))
    first = np.flatnonzero(batch.steps.numpy() == 0)
    assert torch.equal(batch.actions[first], own.actions[np.flatnonzero(own.steps.numpy() == 0)][: len(first)])
    played = ludory.evaluate(["random", "random"], TINY, games=1000, seed=3)
    at_start = batch.returns[first].mean()
    assert abs(float(at_start) - float(np.mean(played.mean))) < 0.2  # the games are the student's


@pytest.mark.slow
def test_a_clone_learns_from_a_stream():
    model = BC("mlp", TINY, num_epochs=6, batch_size=128, label_smoothing=0.0, **OPTIONS).learn()
    assert model.num_timesteps >= 6 * 4000
    clone, teacher = (
        float(np.mean(ludory.evaluate([one] * 2, TINY, games=1000, seed=5).mean)) for one in (model, "hanabi/iggi")
    )
    random = float(np.mean(ludory.evaluate(["random"] * 2, TINY, games=1000, seed=5).mean))
    assert clone > random + 0.7 * (teacher - random)


@pytest.mark.slow
def test_a_stopped_run_goes_on_as_if_it_had_not_stopped(tmp_path):
    options = {**OPTIONS, "num_epochs": 2, "batch_size": 100}
    whole = BC("mlp", TINY, **options).learn()
    part = BC("mlp", TINY, **options)
    part.learn(total_timesteps=5000)
    part.save(tmp_path / "part.ludory")
    rest = BC.load(tmp_path / "part.ludory")
    rest.learn(reset_num_timesteps=False)
    assert rest.num_timesteps == whole.num_timesteps
    for name, tensor in whole.policy.state_dict().items():
        assert torch.equal(tensor, rest.policy.state_dict()[name]), name


@pytest.mark.slow
def test_a_memory_learns_whole_games_from_a_stream():
    model = BC("gru(hidden=[16])", TINY, num_epochs=1, **OPTIONS).learn()
    assert model.num_timesteps >= 4000


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"stream": "hanabi/igi"}, UnknownIdError, "hanabi/iggi"),
        ({"stream": "hanabi/iggi", "dataset": "games"}, OptionError, "give one of them"),
        ({"student_share": 0.5}, OptionError, "needs stream="),
        ({"stream": "hanabi/iggi", "student_share": 1.5}, OptionError, r"must lie in \[0, 1\]"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        BC("mlp", TINY, **options)
