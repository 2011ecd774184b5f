"""Networks learn from the oracle: tokens, losses, counts, the run itself, what plays and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lightning.pytorch import LightningModule
from support.golden_texas42 import load

import ludory
from ludory.agents.texas42.networks.domino import DominoTransformer
from ludory.agents.texas42.play.greedy import greedy_tiles
from ludory.agents.texas42.play.tokens import NOT_CALLED, SIZES, tokenise
from ludory.agents.texas42.solver.states import movers, unpack
from ludory.algorithms.texas42.data.labels import play_and_label
from ludory.algorithms.texas42.data.shards import make_shard
from ludory.algorithms.texas42.oracle import Texas42Oracle
from ludory.algorithms.texas42.oracle.data import OracleData, read_split, shuffled_batches, to_batch
from ludory.algorithms.texas42.oracle.lightning_file import EMBEDDINGS
from ludory.algorithms.texas42.oracle.loss import oracle_loss
from ludory.algorithms.texas42.oracle.tally import PLAYERS, REACHED, added, scores, tally
from ludory.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from ludory.cli import main
from ludory.data.formats.texas42.labels import LabelSettings, LabelsName, write_labels
from ludory.data.formats.texas42.names import ShardName
from ludory.envs.make import make_game
from ludory.envs.texas42.tiles import COUNT, HIGH, LOW
from ludory.errors import CheckpointError, DataError, OptionError, TrainingError

pytestmark = pytest.mark.slow

SMALL = "domino(width=24, num_layers=1, num_heads=2, feedforward=24)"
QUICK = LabelSettings(paths=2, worlds=1)
FACTS = make_game("Texas42Play-v0").facts


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Labels of a few deals, for training and validation."""
    place = tmp_path_factory.mktemp("labels")
    for first, number in ((0, 12), (900, 6)):
        name = LabelsName(first)
        write_labels(place / name.path, name, QUICK, play_and_label(range(first, first + number), QUICK))
    return place


@pytest.fixture(scope="module")
def golden():
    """Golden states: deal (n, 28), declaration (n,), state (n,), V, q."""
    deals = {row["seed"]: sum(row["deal"], []) for row in load("shard_counts.json")}  # noqa: RUF017
    rows = [row for row in load("shard_states.parquet") if any(row[f"q{k}"] != -128 for k in range(7))][::7]
    columns = [deals[row["seed"]] for row in rows], [row["decl"] for row in rows], [row["state"] for row in rows]
    q = np.array([[row[f"q{k}"] for k in range(7)] for row in rows], np.int8)
    deal, decl, state = (np.array(column) for column in columns)
    return OracleData(
        deal.astype(np.int8), decl.astype(np.int8), state, np.array([row["V"] for row in rows], np.int8), q
    )


# Tokens


@pytest.mark.parametrize("version", [1, 2])
def test_tokens_say_what_the_state_says(golden, version):
    tokens, mask, player = tokenise(golden.deal, golden.decl, golden.state, version)
    assert tokens.shape == (len(golden.state), 32, 12)
    assert tokens.dtype == np.int8
    assert (tokens < np.array(SIZES)).all()
    assert (tokens >= 0).all()
    for i in range(0, len(tokens), 5):
        state, hands = unpack(int(golden.state[i])), golden.deal[i].reshape(4, 7)
        assert player[i] == state.to_move
        for p in range(4):
            seat = p if version == 1 else (state.to_move + p) % 4
            for k, tile in enumerate(hands[seat]):
                token, offset = tokens[i, 1 + 7 * p + k], (seat - state.to_move) % 4
                assert token[:4].tolist() == [HIGH[tile], LOW[tile], HIGH[tile] == LOW[tile], COUNT[tile] // 5]
                assert token[5:9].tolist() == [offset, offset == 0, offset == 2, state.held[seat] >> k & 1]
                assert token[9:].tolist() == [1 + p, golden.decl[i], (state.leader - state.to_move) % 4]
        assert mask[i].tolist() == [True] * 29 + [k < len(state.trick) for k in range(3)]
        for k, local in enumerate(state.trick):
            seat = (state.leader + k) % 4
            tile = hands[seat][local]
            assert tokens[i, 29 + k, [0, 1, 5, 8, 9]].tolist() == [
                HIGH[tile],
                LOW[tile],
                (seat - state.to_move) % 4,
                0,
                5 + k,
            ]
        assert not tokens[i, ~mask[i]].any()


def test_the_called_tiles_are_ranked_from_the_top():
    deal, states = np.arange(28)[None], np.array([(1 << 28) - 1 | 0o777 << 32])
    ranks = {decl: tokenise(deal, np.array([decl]), states, 1).tokens[0, 1:29, 4] for decl in (6, 7, 9)}
    assert [int(ranks[6][tile]) for tile in (27, 26, 25, 24, 23, 22, 21)] == list(range(7))  # 6-6, 6-5, 6-4, ..., 6-0
    assert [int(ranks[7][tile]) for tile in (27, 20, 14, 9, 5, 2, 0)] == list(range(7))  # 6-6, 5-5, ..., 0-0
    assert (ranks[6] == NOT_CALLED).sum() == (ranks[7] == NOT_CALLED).sum() == 21
    assert (ranks[9] == NOT_CALLED).all()


def test_tokens_of_version_2_do_not_know_the_mover_s_number(golden):
    rows = golden.rows(np.flatnonzero(golden.state >> 28 & 0b1111 == 0)[:20])  # seat 0 leads
    turned = rows.deal.reshape(-1, 4, 7)[:, [3, 0, 1, 2]].reshape(-1, 28)
    held = rows.state & ((1 << 28) - 1)
    states = rows.state & ~((1 << 30) - 1) | 1 << 28 | (held << 7 | held >> 21) & ((1 << 28) - 1)
    before, after = (tokenise(deal, rows.decl, state, 2) for deal, state in ((rows.deal, rows.state), (turned, states)))
    assert (before.player == 0).all()
    assert (after.player == 1).all()
    assert np.array_equal(before.tokens, after.tokens)
    version_1 = [
        tokenise(deal, rows.decl, state, 1).tokens for deal, state in ((rows.deal, rows.state), (turned, states))
    ]
    assert not np.array_equal(*version_1)


def test_there_are_no_tokens_of_nello():
    with pytest.raises(OptionError, match=r"declarations 0\.\.9, got 10"):
        tokenise(np.arange(28)[None], np.array([10]), np.array([0]))


# The network


def test_sizes_are_those_of_the_published_networks():
    assert DominoTransformer(FACTS).num_parameters == 816_904
    assert DominoTransformer(FACTS, width=256, num_layers=6).num_parameters == 3_256_865


def test_tiles_of_a_hand_may_stand_in_any_order_and_absent_ones_do_not_matter(golden):
    torch.manual_seed(0)
    network = DominoTransformer(FACTS, width=24, num_layers=2, num_heads=2, feedforward=24).eval()
    tokens, mask, _ = (
        torch.from_numpy(part) for part in tokenise(golden.deal[:50], golden.decl[:50], golden.state[:50])
    )
    said = network(tokens, mask)
    order = torch.tensor([3, 0, 6, 1, 5, 4, 2])
    turned = tokens.clone()
    turned[:, 1:8] = tokens[:, 1:8][:, order]
    assert torch.allclose(network(turned, mask).q, said.q[:, order], atol=1e-5)
    noise = torch.where(mask[..., None], tokens, 1)
    assert torch.allclose(network(noise, mask).q, said.q, atol=1e-6)


# Losses


def test_the_losses_are_least_where_the_network_is_right():
    exact, legal = torch.tensor([[3.0, 9.0, 9.0, 0, 0, 0, 0]]), torch.tensor([[True] * 3 + [False] * 4])
    value = torch.tensor([9.0])
    right = oracle_loss(exact, value / 42, exact, value, legal)
    assert right.item() == 0
    assert oracle_loss(exact + 4.2, value / 42, exact, value, legal).item() == pytest.approx(0.01)
    assert oracle_loss(exact, value / 42 + 0.2, exact, value, legal).item() == pytest.approx(0.02)
    illegal = exact.clone()
    illegal[0, 5] = 1e9
    assert oracle_loss(illegal, value / 42, exact, value, legal).item() == 0


def test_all_best_tiles_are_equally_right_for_a_policy():
    exact, legal = torch.tensor([[9.0, 9.0, -20.0]]), torch.ones(1, 3, dtype=torch.bool)
    first, second = torch.tensor([[5.0, 0, -9]]), torch.tensor([[0.0, 5, -9]])
    losses = [
        oracle_loss(one, torch.zeros(1), exact, torch.zeros(1), legal, "policy").item() for one in (first, second)
    ]
    assert losses[0] == pytest.approx(losses[1])
    even = oracle_loss(torch.tensor([[2.5, 2.5, -9]]), torch.zeros(1), exact, torch.zeros(1), legal, "policy").item()
    assert even < losses[0]
    assert np.isfinite(
        oracle_loss(first, torch.zeros(1), exact, torch.zeros(1), torch.tensor([[True, True, False]]), "policy").item()
    )


# Counting


def test_counts_by_hand():
    legal = torch.tensor([[True, True, True], [True, True, False]])
    batch = to_batch_by_hand(torch.tensor([[4.0, 4, -20], [1, 12, 0]]), legal, decision=[0, 5], greedy=[2, 1])
    q, value = torch.tensor([[0.0, 1, 5], [3, 2, 99]]), torch.tensor([4 / 42, 0.0])
    counted = tally(q, value, batch)
    network, anything, greedy = (scores(counted, k)[0] for k in range(len(PLAYERS)))
    assert network["q_gap"] == pytest.approx((24 + 11) / 2)
    assert (network["q_gap_max"], network["zero_regret"], network["blunder"]) == (24, 0, 1)
    assert network["q_mae"] == pytest.approx(((4 + 3 + 25) / 3 + (2 + 10) / 2) / 2)
    assert network["value_mae"] == pytest.approx(6)
    assert network["tie_ceiling"] == pytest.approx((0.5 + 1) / 2)
    assert anything["q_gap"] == pytest.approx((24 / 3 + 11 / 2) / 2)
    assert greedy["q_gap"] == pytest.approx(24 / 2)
    first, sixth = REACHED[0], REACHED[5]
    uniform = (first * 24 + sixth * 11) / (first + sixth) * sum(REACHED)
    assert network["q_gap_states"] == pytest.approx(uniform), "forced states, 0.37 of all, lose nothing"
    assert scores(counted, 0, "declaration")[0]["q_gap_states"] == pytest.approx(uniform)
    by_decision = scores(counted, 0, "decision")
    assert [k for k, one in enumerate(by_decision) if one] == [0, 5]
    assert by_decision[5]["q_gap"] == 11
    double = added(counted, counted)
    assert scores(double)[0]["q_gap"] == network["q_gap"]


def to_batch_by_hand(q, legal, decision, greedy):
    from ludory.algorithms.texas42.oracle.data import OracleBatch

    n = len(q)
    value = torch.where(legal, q, -torch.inf).amax(-1)
    whole = torch.tensor(decision), torch.zeros(n, dtype=torch.long), torch.tensor(greedy)
    return OracleBatch(torch.zeros(n), torch.zeros(n), torch.zeros(n), legal, q, value, torch.ones(n), *whole)


def test_every_decision_counts_the_same_however_many_states_it_has():
    legal = torch.ones(11, 3, dtype=torch.bool)
    q = torch.tensor([[6.0, 0, 0]]).expand(11, 3)
    batch = to_batch_by_hand(q, legal, decision=[0] + [20] * 10, greedy=[0] * 11)
    chosen = torch.tensor([[0.0, 1, 0]] + [[1.0, 0, 0]] * 10)
    assert scores(tally(chosen, torch.zeros(11), batch))[0]["q_gap"] == pytest.approx(3)


def test_greedy_play_wins_what_it_can(golden):
    legal = golden.q != -128
    chosen = greedy_tiles(golden.deal, golden.decl, golden.state, legal)
    assert legal[np.arange(len(chosen)), chosen].all()
    signed = np.where(legal, golden.q * np.where(movers(golden.state) % 2 == 0, 1, -1)[:, None], -99)
    regret = signed.max(1) - signed[np.arange(len(chosen)), chosen]
    random = np.where(legal, signed.max(1)[:, None] - signed, 0).sum(1) / legal.sum(1)
    assert regret.mean() < 0.7 * random.mean()


# Data


def test_of_a_shard_every_decision_gets_as_many_states_where_there_are_so_many(tmp_path):
    name = ShardName(930, 0)
    make_shard(tmp_path / name.path, name, max_states=20_000)
    data = read_split(tmp_path, "val", 50, 0)
    counts = np.bincount(data.decision, minlength=28)
    assert counts.max() == 50
    assert (counts[16:20] == 50).all()
    assert not counts[24:].any()  # nobody has a choice in the last trick
    assert ((data.q != -128).sum(axis=1) > 1).all()
    again = read_split(tmp_path, "val", 50, 0)
    assert np.array_equal(again.state, data.state)
    assert not np.array_equal(read_split(tmp_path, "val", 50, 1).state, data.state)
    weights = data.weights()
    sums = np.bincount(data.decision, weights, 24)
    assert np.allclose(sums[sums > 0], sums.max())


def test_values_are_turned_to_the_mover_s_side(golden):
    batch = to_batch(golden, golden.weights(), 2)
    assert torch.equal(torch.where(batch.legal, batch.q, -99.0).amax(-1), batch.value)
    assert set((batch.player % 2).tolist()) == {0, 1}


def test_an_epoch_has_every_state_once_in_another_order(golden):
    epochs = [
        torch.cat([b.value + 100 * b.decision for b in shuffled_batches(golden, 64, 2, 3, epoch)]) for epoch in (0, 1)
    ]
    assert not torch.equal(*epochs)
    assert torch.equal(*(epoch.sort().values for epoch in epochs))
    rest = torch.cat([b.value + 100 * b.decision for b in shuffled_batches(golden, 64, 2, 3, 1, first=2)])
    assert torch.equal(rest, epochs[1][128:])


def test_files_in_the_wrong_place_are_named(folder, tmp_path):
    (tmp_path / "train").mkdir()
    moved = tmp_path / "train" / "labels_00000900.parquet"
    moved.write_bytes((folder / "val" / moved.name).read_bytes())
    with pytest.raises(DataError, match=r"labels_00000900.parquet: seed 900 belongs to val"):
        read_split(tmp_path, "train", 10, 0)
    with pytest.raises(DataError, match=r"val: no labels or shards"):
        read_split(tmp_path, "val", 10, 0)
    (tmp_path / "train" / "other.parquet").write_bytes(b"PAR1")
    moved.unlink()
    with pytest.raises(DataError, match=r"other\.parquet: not called as shards are"):
        read_split(tmp_path, "train", 10, 0)


# Learning


@pytest.fixture(scope="module", params=["qvalue", "policy"])
def trained(request, folder, tmp_path_factory):
    """A model of two epochs, and its file."""
    options = {"dataset": folder, "num_epochs": 2, "batch_size": 64, "learning_rate": 2e-3, "seed": 1}
    model = Texas42Oracle(SMALL, loss_mode=request.param, **options)
    logged = []
    model._log = logged.append
    model.learn()
    file = tmp_path_factory.mktemp("model") / "net.ludory"
    model.save(file)
    return model, file, logged


def test_the_loss_falls_and_the_test_split_is_not_looked_at(trained):
    _, _, (first, second) = trained
    assert second["train/loss"] < first["train/loss"]
    assert {"val/q_gap", "val/random_q_gap", "val/greedy_q_gap", "val/q_gap_0", "val/zero_regret_20"} <= set(second)


def test_a_run_that_was_stopped_ends_with_the_same_numbers(folder, tmp_path):
    options = {"dataset": folder, "num_epochs": 2, "batch_size": 64, "learning_rate": 2e-3, "seed": 1}
    whole = Texas42Oracle(SMALL, **options).learn()
    half = Texas42Oracle(SMALL, **options).learn(150)
    half.save(tmp_path / "half.ludory")
    rest = Texas42Oracle.load(tmp_path / "half.ludory", dataset=folder).learn(reset_num_timesteps=False)
    assert rest.num_timesteps == whole.num_timesteps
    for name, tensor in whole.policy.state_dict().items():
        assert torch.equal(tensor, rest.policy.state_dict()[name]), name


@pytest.mark.parametrize("game", ["Texas42Play-v0", "Texas42-v0"])
def test_a_trained_network_sits_at_any_table(trained, game):
    file = trained[1]
    agents = [f"{file}", "random", f"{file}(worlds=2)", "random"]
    result = ludory.evaluate(agents, game=game, games=2, seed=1)
    assert result.games == 2
    again = ludory.evaluate(agents, game=game, games=2, seed=1)
    assert np.array_equal(result.returns, again.returns)


def test_a_network_with_open_hands_says_so_and_one_without_does_not_look(trained):
    file = str(trained[1])
    assert ludory.make_agent(f"{file}(open_hands=True)", game="Texas42-v0").privileged
    agent = ludory.make_agent(file, game="Texas42Play-v0")
    assert not agent.privileged
    engine = ludory.make_engine("Texas42Play-v0", num_games=3, seed=4)
    engine.reset(options={"decl": 3})
    for _ in range(9):
        legal, seat = engine.legal(), int(engine.to_move[0])
        rows = np.flatnonzero(engine.to_move == seat)
        other = engine.clone()
        other.redeal(seat, 99)
        chosen = [agent.choose(one, seat, rows, None) for one in (engine, other)]
        assert chosen[0].tolist() == chosen[1].tolist()
        engine.step(legal.argmax(axis=1))


def test_observations_are_not_what_it_reads(trained):
    with pytest.raises(OptionError, match="reads open hands"):
        trained[0].predict(np.zeros(582))


def test_other_games_and_policies_are_refused(trained):
    with pytest.raises(OptionError, match="plays Texas 42 only"):
        ludory.make_agent(str(trained[1]), game="Hanabi2P-v0")
    with pytest.raises(OptionError, match="learns with 'domino_mlp' or 'domino'"):
        Texas42Oracle("mlp")
    with pytest.raises(OptionError, match="loss_mode='q'"):
        Texas42Oracle(SMALL, loss_mode="q")
    with pytest.raises(OptionError, match="tokens=3"):
        Texas42Oracle("domino(tokens=3)")


def test_damaged_and_foreign_checkpoints_are_named_and_refused(trained, tmp_path):
    file = tmp_path / "net.ludory"
    file.write_bytes(trained[1].read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=str(file)):
        ludory.load(file)
    header, tensors = read_checkpoint(trained[1])
    del tensors["policy/q_head.weight"]
    write_checkpoint(file, header, tensors)
    with pytest.raises(CheckpointError, match=r"(?s)net\.ludory.*q_head\.weight"):
        ludory.load(file)
    write_checkpoint(file, header | {"algorithm": "ppo-v1"}, tensors)
    with pytest.raises(CheckpointError, match="written by 'ppo-v1'"):
        Texas42Oracle.load(file)


def test_steps_grow_and_then_shrink_to_nothing():
    model = Texas42Oracle(SMALL, learning_rate=1e-3, warmup=0.1)
    rates = [model.learning_rate_at(done) for done in (0, 0.05, 0.1, 0.5, 1)]
    assert rates == sorted(rates[:3]) + sorted(rates[3:], reverse=True)
    assert rates[2] == pytest.approx(1e-3, rel=0.05)
    assert rates[4] == 0


def test_a_loss_that_is_no_number_stops_the_run(folder):
    model = Texas42Oracle(SMALL, dataset=folder, num_epochs=1)
    with torch.no_grad():
        model.policy.value_head.bias.fill_(torch.inf)
    with pytest.raises(TrainingError, match="lower learning_rate"):
        model.learn()


# The command line


def test_the_way_from_labels_to_a_promoted_network(folder, tmp_path, capsys):
    file, kept = tmp_path / "net.ludory", tmp_path / "models"
    training = ["--policy", SMALL, "--data", str(folder), "--num-epochs", "1", "--eval-games", "4"]
    training += ["--out", str(file)]
    assert main(["texas42", "train", *training]) == 0
    assert "by tiles played" in capsys.readouterr().out
    assert main(["texas42", "evaluate", str(file), "--data", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == set(PLAYERS)
    assert found["network"]["by_decision"]["0"]["states"] == 12
    assert main(["texas42", "evaluate", str(file), "--data", str(folder)]) == 0
    assert "fives" in capsys.readouterr().out
    assert main(["texas42", "evaluate", str(file), "--data", str(folder), "--split", "test"]) == 2
    assert "test: no labels or shards" in capsys.readouterr().err
    promoting = ["texas42", "promote", str(file), "--data", str(folder), "--catalogue", str(kept)]
    assert main(promoting) == 0
    assert "ludory eval" in capsys.readouterr().out
    assert main(promoting) == 2
    assert "has been promoted before" in capsys.readouterr().err
    assert main(["texas42", "models", "--catalogue", str(kept)]) == 0
    assert "1 networks" in capsys.readouterr().out
    network = next(kept.glob("domino-qvalue-*.ludory"))
    assert ludory.make_agent(str(network), game="Texas42-v0").name == "texas42_oracle-v1"
    network.write_bytes(b"other")
    assert main(["texas42", "models", "--catalogue", str(kept)]) == 1
    assert "CHANGED SINCE IT WAS PROMOTED" in capsys.readouterr().out
    (kept / "catalogue.json").write_text("{}")
    assert main(["texas42", "models", "--catalogue", str(kept)]) == 2
    assert "not a catalogue" in capsys.readouterr().err


def test_tokens_are_written_for_other_programs(folder, tmp_path, capsys):
    command = ["texas42", "tokenise", "--data", str(folder), "--out", str(tmp_path), "--splits", "val"]
    assert main(command) == 0
    tokens, qvals, legal = (np.load(tmp_path / "val" / f"{name}.npy") for name in ("tokens", "qvals", "legal"))
    assert tokens.dtype == np.int8
    assert tokens.shape[1:] == (32, 12)
    assert np.array_equal(qvals != -128, legal)
    players, targets, values = (np.load(tmp_path / "val" / f"{name}.npy") for name in ("players", "targets", "values"))
    assert np.array_equal(qvals[np.arange(len(targets)), targets], values)
    assert set(players) == {0, 1, 2, 3}
    capsys.readouterr()
    assert main(command) == 2
    assert "exists; name another folder" in capsys.readouterr().err


def test_a_network_is_never_given_tokens_of_the_other_version(folder, golden, tmp_path, capsys):
    assert (
        main(["texas42", "tokenise", "--input", str(folder), "--output", str(tmp_path / "new"), "--splits", "val"]) == 0
    )
    assert "tokens of version 2" in capsys.readouterr().out
    written = [
        torch.from_numpy(np.load(tmp_path / "new" / "val" / f"{name}.npy")) for name in ("tokens", "masks", "players")
    ]
    default = Texas42Oracle(SMALL).policy.eval()
    assert default(*written).q.shape == (len(written[0]), 7), (
        "what is written by default is what networks read by default"
    )
    absolute = Texas42Oracle(SMALL[:-1] + ", tokens=1)").policy.eval()
    with pytest.raises(OptionError, match=r"tokens of version 1, .* version 2 .*tokenise --tokens 1"):
        absolute(written[0], written[1], written[2].long())
    old = [torch.from_numpy(part) for part in tokenise(golden.deal, golden.decl, golden.state, 1)]
    assert absolute(*old).q.shape == (len(golden.state), 7)
    with pytest.raises(OptionError, match=r"tokens of version 2, .* version 1 .*tokenise --tokens 2"):
        default(*old)
    with pytest.raises(OptionError, match="version 1 need the mover"):
        absolute(old[0], old[1])


def test_training_names_a_folder_of_tokens(folder, tmp_path):
    main(["texas42", "tokenise", "--data", str(folder), "--out", str(tmp_path)])
    with pytest.raises(DataError, match=r"train: tokens \(NumPy\).*name the labels or shards that they were made from"):
        Texas42Oracle(SMALL, dataset=str(tmp_path)).learn()


def test_options_of_the_first_pipeline_s_network_say_what_to_type(folder, capsys):
    assert main(["texas42", "train", "--data", str(folder), "--epochs", "1", "--n-layers", "4"]) == 2
    assert "--n-layers: layers are the network's: --policy \"domino(num_layers=4" in capsys.readouterr().err


def test_states_without_a_choice_are_kept_or_counted(tmp_path, capsys):
    shards, name = tmp_path / "shards", ShardName(0, 3)
    make_shard(shards / name.path, name, max_states=20_000)
    plain, every = (read_split(shards, "train", 50, 0, keep_forced=keep) for keep in (False, True))
    assert plain.left_out > 0 == every.left_out
    choices = (every.q != -128).sum(axis=1)
    assert set(choices) >= {1, 2}
    assert choices.min() == 1, "the end of the hand is no state to learn from"
    assert {24, 27} <= set(every.decision), "of the last trick, too"
    command = ["texas42", "tokenise", "--data", str(shards), "--per-decision", "50", "--splits", "train"]
    assert main([*command, "--out", str(tmp_path / "some")]) == 0
    assert f"{len(plain.q):,} states in" in (said := capsys.readouterr().out)
    assert f"{plain.left_out:,} without a choice left out, --keep-forced keeps them" in said
    assert main([*command, "--keep-forced", "--out", str(tmp_path / "all")]) == 0
    assert f"{len(every.q):,} states in" in (said := capsys.readouterr().out)
    assert "left out" not in said


@pytest.mark.parametrize("tokens", [1, 2])
def test_an_onnx_file_answers_as_the_network_does(tokens, tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from ludory.algorithms.texas42.oracle import onnx_file

    monkeypatch.setattr(onnx_file, "STATES", 260)
    model = Texas42Oracle(f"domino(width=24, num_layers=2, num_heads=2, feedforward=24, tokens={tokens})", seed=2)
    found = onnx_file.export_onnx(model, tmp_path / "net.onnx")
    assert found.states == 260
    assert found.greatest <= 1e-4
    other = Texas42Oracle(f"domino(width=24, num_layers=2, num_heads=2, feedforward=24, tokens={tokens})", seed=3)
    states = onnx_file.sample_states(260, tokens)
    assert not onnx_file.compare(tmp_path / "net.onnx", other.policy.eval(), states).same
    (tmp_path / "half.onnx").write_bytes((tmp_path / "net.onnx").read_bytes()[:1000])
    with pytest.raises(CheckpointError, match=r"half\.onnx: no ONNX file"):
        onnx_file.compare(tmp_path / "half.onnx", other.policy, states)


class FirstPipelines(LightningModule):
    """The network of the first pipeline, from PyTorch's own parts under its names."""

    def __init__(self, embed_dim, n_heads, n_layers, ff_dim, dropout, loss_mode) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.model = torch.nn.Module()
        for name, size, wide in zip(EMBEDDINGS, SIZES, (2, 2, 1, 1, 2, 1, 1, 1, 1, 2, 2, 1), strict=True):
            self.model.add_module(f"{name}_embed", torch.nn.Embedding(size, embed_dim * wide // 12))
        layer = torch.nn.TransformerEncoderLayer(embed_dim, n_heads, ff_dim, dropout, batch_first=True)
        self.model.input_proj = torch.nn.Linear(17 * (embed_dim // 12), embed_dim)
        self.model.transformer = torch.nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        self.model.output_proj, self.model.value_head = torch.nn.Linear(embed_dim, 1), torch.nn.Linear(embed_dim, 1)

    def forward(self, tokens, mask, player):
        parts = [getattr(self.model, f"{name}_embed")(tokens[..., k]) for k, name in enumerate(EMBEDDINGS)]
        x = self.model.transformer(self.model.input_proj(torch.cat(parts, -1)), src_key_padding_mask=mask == 0)
        own = x[torch.arange(len(x))[:, None], 1 + 7 * player[:, None] + torch.arange(7)]
        return self.model.output_proj(own)[..., 0], self.model.value_head(x[:, 0])[:, 0]


def test_a_checkpoint_of_the_first_pipeline_says_what_the_network_says(golden, tmp_path, capsys):
    file, out = tmp_path / "net.ludory", tmp_path / "net.pt"
    model = Texas42Oracle("domino(width=24, num_layers=2, num_heads=2, feedforward=32, tokens=1)", seed=2)
    model.save(file)
    assert main(["texas42", "export", str(file), "--out", str(out)]) == 0
    assert "tensors of a DominoLightningModule" in capsys.readouterr().out
    content = torch.load(out, weights_only=True)
    assert content["hyper_parameters"]["loss_mode"] == "qvalue"
    theirs = FirstPipelines.load_from_checkpoint(out, map_location="cpu", weights_only=True).eval()
    part = tokenise(golden.deal[:60], golden.decl[:60], golden.state[:60], 1)
    tokens, mask, player = (torch.from_numpy(one) for one in part)
    with torch.no_grad():
        said, ours = theirs(tokens.long(), mask, player.long()), model.policy.eval()(tokens, mask, player.long())
    torch.testing.assert_close(said, tuple(ours), rtol=0, atol=1e-6)
    assert main(["texas42", "export", str(file), "--out", str(out)]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["texas42", "export", str(file), "--out", str(tmp_path / "net.bin")]) == 2
    assert "must end in .onnx, .pt or .ckpt" in capsys.readouterr().err
    Texas42Oracle(SMALL).save(file)
    assert main(["texas42", "export", str(file), "--out", str(tmp_path / "two.pt")]) == 2
    said = capsys.readouterr().err
    assert "tokens of version 2" in said
    assert '`ludory train texas42_oracle --policy "domino(' in said
    assert "num_layers=1" in said
    assert "tokens=1)" in said
    assert not (tmp_path / "two.pt").exists()


@given(st.integers(0, 10**8 - 1), st.integers(0, 9), st.none() | st.integers(0, 99))
def test_names_are_read_as_they_are_written(seed, decl, other):
    from ludory.data.formats.texas42.names import parse_name

    assert parse_name(ShardName(seed, decl, other).file) == ShardName(seed, decl, other)


def test_no_other_algorithm_takes_its_network():
    with pytest.raises(OptionError, match="learnt by texas42_oracle-v1 only"):
        ludory.make_algorithm("ppo", policy="domino", env="Texas42Play-v0")
