"""A network learns E[Q] from records: what it reads, what it loses, how it is stopped, scored and seated, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import ludory
from ludory.agents.networks.build import PolicySpec, build_policy
from ludory.agents.texas42.expected_value.decision_value import WorldSampling
from ludory.agents.texas42.solver.solver import Solver
from ludory.algorithms.texas42.data.eq import EqSettings, record_game
from ludory.algorithms.texas42.student import Texas42Student
from ludory.algorithms.texas42.student.student import batches, no_tally, read_split, score_student, scores, tally
from ludory.cli import main
from ludory.data.formats.texas42.eq_records import EqName, read_eq, write_eq
from ludory.envs.make import make_engine, make_game
from ludory.errors import DataError, OptionError

pytestmark = pytest.mark.slow

SMALL = "transcript(width=32, num_layers=2, num_heads=4, feedforward=64, dropout=0.0)"
QUICK = EqSettings(WorldSampling(worlds=2, enumerate_below=2))
GAME = make_game("Texas42Play-v0", observation="transcript")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Records of a few deals, for training and validation."""
    place, solver = tmp_path_factory.mktemp("eq"), Solver(threads=1)
    for seed in (*range(8), 900, 901):
        write_eq(place / EqName(seed).path, record_game(seed, QUICK, solver))
    return place


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
    """A model of many epochs, and its file."""
    options = {"dataset": folder, "num_epochs": 40, "batch_size": 32, "learning_rate": 3e-3, "seed": 1}
    model = Texas42Student(SMALL, **options).learn()
    file = tmp_path_factory.mktemp("model") / "net.ludory"
    model.save(file)
    return model, file


def test_rows_are_the_decisions_with_a_choice_as_the_seat_saw_them(folder):
    data = read_split(folder, "val")
    assert int(data.legal.sum(1).min()) > 1
    game = read_eq(folder / EqName(900).path)
    engine = make_engine(GAME, 1)
    engine.reset(options={"deal": game.header["deal"], "decl": game.header["decl_id"], "bidder": 0, "leader": 0})
    row = 0
    for decision, tile in enumerate(game.tiles):
        legal = engine.legal()[0]
        if legal.sum() > 1:
            assert int(data.decision[row]) == decision
            assert np.array_equal(data.observation[row], engine.observe()[0])
            assert np.array_equal(data.legal[row], legal)
            slot = int(game.columns["action_taken"][decision])
            assert float(data.mean[row, tile]) == float(game.columns["e_q_mean"][decision, slot])
            row += 1
        engine.step(np.array([tile]))
    assert row > 10


def test_the_order_of_the_plays_counts_and_what_lies_behind_the_transcript_does_not(folder):
    data = read_split(folder, "val")
    late = data.rows(torch.arange(len(data.decision))[data.decision > 12][:8])
    network = build_policy(PolicySpec("transcript", {"width": 32, "num_heads": 4}), GAME.facts).eval()
    with torch.no_grad():
        plain = network(late.observation).logits
        swapped, behind = late.observation.clone(), late.observation.clone()
        for row in range(len(swapped)):
            last = 1 + 8 * int(swapped[row, 0])
            tokens = swapped[row, last - 16 : last].reshape(2, 8).flip(0)
            swapped[row, last - 16 : last] = tokens.flatten()
            behind[row, last:] = 1
        assert not torch.allclose(network(swapped).logits, plain)
        torch.testing.assert_close(network(behind).logits, plain)
    assert ((plain != 0).sum(1) == 7 - late.decision // 4).all(), "one logit for each tile in hand"


def test_counts_are_those_of_plain_arithmetic(folder):
    data = read_split(folder, "val").rows(torch.arange(20))
    logits = torch.randn(20, 28, generator=torch.Generator().manual_seed(0)) * 20
    found = scores(tally(logits, data))
    regrets = {}
    for row in range(20):
        legal = np.flatnonzero(data.legal[row])
        mean = data.mean[row].numpy()
        chosen = legal[logits[row].numpy()[legal].argmax()]
        regrets.setdefault(int(data.decision[row]), []).append(mean[legal].max() - mean[chosen])
    by_decision = {k: np.mean(values) for k, values in regrets.items()}
    assert found["regret"] == pytest.approx(np.mean(list(by_decision.values())), abs=1e-4)
    for k, regret in by_decision.items():
        assert found[f"regret_{k}"] == pytest.approx(regret, abs=1e-4)
    parts = sum((tally(logits[k : k + 7], data.rows(torch.arange(20)[k : k + 7])) for k in (0, 7, 14)), no_tally())
    assert scores(parts) == pytest.approx(found)


def test_it_learns_what_it_is_shown(trained, folder):
    model, _ = trained
    found = score_student(model.policy, read_split(folder, "train"))
    assert found["regret"] < found["random_regret"] / 2
    assert found["zero_regret"] > 0.6


def test_an_epoch_has_every_decision_once_in_another_order(folder):
    data = read_split(folder, "train")
    first, second = (torch.cat([b.mean.sum(1) for b in batches(data, 32, 3, epoch)]) for epoch in (0, 1))
    assert not torch.equal(first, second)
    torch.testing.assert_close(first.sort().values, second.sort().values)


def test_a_run_that_was_stopped_ends_with_the_same_numbers(folder, tmp_path):
    options = {"dataset": folder, "num_epochs": 2, "batch_size": 32, "learning_rate": 2e-3, "seed": 1}
    whole = Texas42Student(SMALL, **options).learn()
    half = Texas42Student(SMALL, **options).learn(150)
    half.save(tmp_path / "half.ludory")
    rest = Texas42Student.load(tmp_path / "half.ludory", dataset=folder).learn(reset_num_timesteps=False)
    assert rest.num_timesteps == whole.num_timesteps
    for name, tensor in whole.policy.state_dict().items():
        assert torch.equal(tensor, rest.policy.state_dict()[name]), name


def test_it_sits_at_the_table_without_seeing_other_hands(trained):
    result = ludory.evaluate(
        [str(trained[1]), "random", str(trained[1]), "random"], game="Texas42Play-v0", games=4, seed=1
    )
    assert result.games == 4
    assert not ludory.make_agent(str(trained[1]), game="Texas42Play-v0").privileged


def test_the_commands_train_and_score(folder, tmp_path, capsys):
    file = str(tmp_path / "net.ludory")
    command = ["texas42", "train-eq", "--data", str(folder), "--epochs", "1", "--policy", SMALL, "--eval-games", "0"]
    assert main([*command, "--out", file]) == 0
    assert "random regret" in capsys.readouterr().out
    assert main(["texas42", "evaluate-eq", file, "--data", str(folder), "--json"]) == 0
    assert {"regret", "random_regret", "regret_0"} <= set(json.loads(capsys.readouterr().out))
    assert main(["texas42", "evaluate-eq", file, "--data", str(folder), "--split", "test"]) == 2
    assert "test: no E[Q] records" in capsys.readouterr().err


def test_what_it_cannot_learn_from_says_what_to_type(folder, tmp_path):
    with pytest.raises(DataError, match=r"train: no E\[Q\] records .*`ludory texas42 eq --seeds 0-899 --out"):
        read_split(tmp_path, "train")
    moved = tmp_path / "train" / "seed_00000900.safetensors"
    moved.parent.mkdir()
    moved.write_bytes((folder / "val" / moved.name).read_bytes())
    with pytest.raises(DataError, match="seed 900 belongs to val"):
        read_split(tmp_path, "train")
    with pytest.raises(OptionError, match="observation='transcript'"):
        Texas42Student(env=make_game("Texas42Play-v0"))
    with pytest.raises(OptionError, match="learns with 'transcript'"):
        Texas42Student("mlp(hidden=(8,))")
