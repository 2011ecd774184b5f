"""Learning from new deals without files, and the network that is told which tile follows and beats which."""

from __future__ import annotations

import json
from itertools import chain

import numpy as np
import pytest
import torch

from ludory.agents.texas42.networks.domino_mlp import DominoMlp
from ludory.agents.texas42.networks.open_states import OpenStates, RuleTables, open_states
from ludory.agents.texas42.networks.state_reader import FEW, StateReader
from ludory.agents.texas42.play.tokens import tokenise
from ludory.agents.texas42.solver.solver import Positions, Solver, strength_of
from ludory.agents.texas42.solver.states import movers, open_positions
from ludory.algorithms.texas42.oracle import Texas42Oracle
from ludory.algorithms.texas42.oracle.fresh import fresh_states, states_of_deals, unseen_states
from ludory.algorithms.texas42.oracle.onnx_file import export_onnx
from ludory.algorithms.texas42.oracle.oracle import SCORED
from ludory.cli import main
from ludory.envs.make import make_game
from ludory.envs.texas42.tiles import COUNT, HIGH, LOW, in_suit, led_suit, rank, tiles_of
from ludory.errors import OptionError

FACTS = make_game("Texas42Play-v0").facts
SMALL = {"fresh_states": 600, "fresh_deals": 4, "batch_size": 128, "num_epochs": 2}


@pytest.fixture(scope="module")
def states():
    return fresh_states(400, (1, 0))


def network(seed=0):
    torch.manual_seed(seed)
    return DominoMlp(FACTS, hidden=(24,)).eval()


def as_tensors(states):
    tokens = tokenise(states.deal, states.decl, states.state)
    return open_states(torch.from_numpy(tokens.tokens), torch.from_numpy(tokens.mask))


def renamed(decl, tile):
    """The tile when the trump is called six and the pips above it move down."""
    pips = [(6 if p == decl else p - (decl < p)) if decl < 7 else p for p in (HIGH[tile], LOW[tile])]
    return max(pips) * (max(pips) + 1) // 2 + min(pips)


# States


def test_states_are_as_many_as_asked_for_with_a_choice_and_solved(states):
    assert len(states.state) == 400
    assert ((states.q != -128).sum(1) > 1).all()
    given, tiles = open_positions(states.deal, states.decl, states.state)
    values, q = Solver(threads=1).q_values(given)
    assert (values == states.value).all()
    assert (np.take_along_axis(q, tiles, 1) == states.q).all()
    # most states are of the last tricks, and no trick is left out for ever
    assert np.median(states.decision) > 12


def test_equal_seeds_draw_equal_states_and_others_other_deals(states):
    again, other = fresh_states(300, (1, 0)), fresh_states(300, (1, 1))
    assert (again.state == states.state[:300]).all()
    assert not {*map(tuple, other.deal)} & {*map(tuple, states.deal)}


def test_all_states_of_a_deal_are_those_with_a_choice():
    found = states_of_deals(20, (3,))
    assert set(found.decision) <= set(range(24))
    assert (np.bincount(found.decision)[:24:4] == 20).sum() >= 5  # who leads nearly always has a choice
    np.testing.assert_allclose(np.bincount(found.decision, found.weights()).std(), 0, atol=1e-3)


# The network


def test_it_is_told_what_follows_and_beats_what(states):
    rows = np.concatenate([np.flatnonzero(states.decision == k)[:2] for k in range(24)])
    states = states.rows(rows)
    read = StateReader()(as_tensors(states)).numpy()
    given, _ = open_positions(states.deal, states.decl, states.state)
    mover = movers(states.state)
    for row, features in enumerate(read):
        decl, trick = int(states.decl[row]), [int(tile) for tile in given.trick[row] if tile >= 0]
        hands = [tiles_of(int(given.held[row, (mover[row] + r) & 3])) for r in range(4)]
        parts = iter(np.split(features, np.cumsum([112, 84, 13, 28, 28, 28, 28, 32, 32, 3, 1, 256, 256, 16, 64])[:-1]))

        def plane(tiles, decl=decl):
            return {renamed(decl, tile) for tile in tiles}

        holds = next(parts).reshape(4, 28)
        assert [set(np.flatnonzero(one)) for one in holds] == [plane(hand) for hand in hands]
        lies = next(parts).reshape(3, 28)
        assert set(np.flatnonzero(lies.sum(0))) == plane(trick)
        assert all(lies[3 - len(trick) + k, renamed(decl, tile)] == 1 for k, tile in enumerate(trick))
        assert np.flatnonzero(next(parts)).tolist() == [decl, 10 + (0 if decl < 7 else decl - 6 if decl < 9 else 2)]
        suit = led_suit(decl, trick[0]) if trick else None
        able = [tile for tile in hands[0] if trick and in_suit(decl, suit, tile)]
        legal = able or hands[0]
        assert set(np.flatnonzero(next(parts))) == plane(legal)
        best = max((rank(decl, suit, tile) for tile in trick), default=99)
        winning = [tile for tile in legal if rank(decl, suit, tile) > best] if trick else []
        assert set(np.flatnonzero(next(parts))) == plane(winning)
        everywhere = list(chain(*hands))
        highest = [
            tile
            for tile in everywhere
            if all(
                rank(decl, led_suit(decl, tile), other) <= rank(decl, led_suit(decl, tile), tile)
                for other in everywhere
                if in_suit(decl, led_suit(decl, tile), other)
            )
        ]
        assert set(np.flatnonzero(next(parts))) == plane(highest)
        assert next(parts).sum() * 10 == sum(COUNT[tile] for tile in everywhere)
        many, tops = next(parts).reshape(4, 8), next(parts).reshape(4, 8)
        sizes = [[sum(in_suit(decl, suit, tile) for tile in hand) for suit in range(8)] for hand in hands]
        assert [sorted(one) for one in (4 * many).tolist()] == [sorted(one) for one in sizes]
        assert (tops.sum(0) == (many.sum(0) > 0)).all()
        winner, points = next(parts), next(parts)
        assert winner.sum() == bool(trick)
        if trick:
            ahead = [rank(decl, suit, tile) for tile in trick].index(best)
            assert winner.argmax() + 1 == 4 - (len(trick) - ahead)
        assert points * 10 == sum(COUNT[tile] for tile in trick)
        follows, beats, there, _ = (next(parts) for _ in range(4))
        slots = [None] * 16
        if max(map(len, hands)) <= FEW:
            for r, hand in enumerate(hands):
                slots[4 * r : 4 * r + len(hand)] = sorted(hand, key=lambda tile: -strength_of(decl).place[tile])
        assert there.tolist() == [tile is not None for tile in slots]
        for a, lead in enumerate(slots):
            for b, tile in enumerate(slots):
                pair = lead is not None and tile is not None and a != b
                led = led_suit(decl, lead) if pair else None
                assert follows[16 * a + b] == bool(pair and in_suit(decl, led, tile))
                assert beats[16 * a + b] == bool(pair and rank(decl, led, tile) > rank(decl, led, lead))


def test_a_tile_is_worth_what_it_wins_and_what_is_won_after_it(states):
    before = as_tensors(states)
    legal = RuleTables().legal(before)
    assert (legal.numpy() == (states.q != -128)).all()
    rows, places = legal.nonzero(as_tuple=True)
    after = RuleTables().after(OpenStates(*(part[rows] for part in before)), places)
    tile, held, lying = (part.numpy() for part in (after.states.tile, after.states.held, after.states.lying))
    hands = (held << tile).reshape(-1, 4, 7).sum(2).astype(np.int32)
    trick = np.where(lying, after.states.trick.numpy(), -1)
    following = Positions(hands, -lying.sum(1) % 4, trick, after.states.decl.numpy(), np.zeros(len(hands), np.int64))
    values, _ = Solver(threads=1).q_values(following)
    mover = np.where(movers(states.state) % 2 == 0, 1, -1)[rows]
    worth = states.q[rows, places] * mover
    np.testing.assert_array_equal(after.gain.numpy() + after.side.numpy() * values, worth)
    left = RuleTables().points_left(before).numpy()
    assert ((left[rows] - worth) % 2 == 0).all()
    assert (abs(worth) <= left[rows]).all()


def test_odds_are_of_what_can_be_won(states):
    tokens = tokenise(states.deal, states.decl, states.state)
    said = network()(torch.from_numpy(tokens.tokens), torch.from_numpy(tokens.mask))
    legal, chances = states.q != -128, said.odds.detach().exp().numpy()
    np.testing.assert_allclose(chances.sum(2), legal, atol=1e-5)
    np.testing.assert_allclose(said.q.detach().numpy(), chances @ np.arange(-42, 43), atol=1e-3)
    side = np.where(movers(states.state) % 2 == 0, 1, -1)[:, None]
    exact = np.where(legal, states.q * side, 0).astype(int)
    assert (np.take_along_axis(chances, exact[..., None] + 42, 2)[..., 0] > 0)[legal].all()


def test_a_hand_may_stand_in_any_order(states):
    net, tokens = network(), tokenise(states.deal, states.decl, states.state)
    shown, mask = torch.from_numpy(tokens.tokens), torch.from_numpy(tokens.mask)
    order = torch.tensor([3, 0, 6, 1, 5, 4, 2])
    turned = shown.clone()
    turned[:, 1:8], turned[:, 15:22] = shown[:, 1:8][:, order], shown[:, 15:22][:, order]
    said, other = net(shown, mask), net(turned, mask)
    torch.testing.assert_close(other.q, said.q[:, order])
    torch.testing.assert_close(other.value, said.value)


def test_what_does_not_lie_does_not_matter(states):
    net, tokens = network(), tokenise(states.deal, states.decl, states.state)
    shown, mask = torch.from_numpy(tokens.tokens), torch.from_numpy(tokens.mask)
    noise = torch.where(mask[..., None], shown, 1)
    torch.testing.assert_close(net(noise, mask).q, net(shown, mask).q)


def test_trumps_are_one_game_but_for_what_counts():
    """A state without counting tiles, under sixes, and under fives where fives and sixes have changed places."""
    hands = [["6-2", "3-1"], ["6-3", "2-2"], ["6-1", "4-2"], ["1-1", "2-1"]]
    changed = [0, 1, 2, 3, 4, 6, 5]

    def deal(rename):
        held = [[tile_id(*(rename[int(p)] for p in name.split("-"))) for name in hand] for hand in hands]
        others = [tile for tile in range(28) if all(tile not in hand for hand in held)]
        full = [sorted(hand + others[5 * seat : 5 * seat + 5]) for seat, hand in enumerate(held)]
        state = sum(1 << 7 * seat + full[seat].index(tile) for seat in range(4) for tile in held[seat])
        return np.array([list(chain(*full))]), np.array([state | 0o777 << 32])

    seen = []
    for decl, rename in ((6, range(7)), (5, changed)):
        dealt, state = deal(rename)
        tokens = tokenise(dealt, np.array([decl]), state)
        features = StateReader()(open_states(torch.from_numpy(tokens.tokens), torch.from_numpy(tokens.mask)))[0].numpy()
        seen.append(np.concatenate([features[:196], features[209:]]))
    np.testing.assert_array_equal(*seen)


def tile_id(one, other):
    return max(one, other) * (max(one, other) + 1) // 2 + min(one, other)


def test_it_needs_hidden_layers():
    with pytest.raises(OptionError, match=r"hidden=\(\): must be the widths of hidden layers"):
        DominoMlp(FACTS, hidden=())


# Learning


@pytest.mark.slow
def test_it_learns_from_new_states_in_every_epoch(capsys):
    model = Texas42Oracle(seed=1, **SMALL, learning_rate=3e-3)
    assert model.policy_spec.id == "domino_mlp"
    assert model.planned_timesteps == 1200
    model.learn()
    said = capsys.readouterr().out
    losses = [float(line.split("loss ")[1].split(",")[0]) for line in said.splitlines() if line.startswith("epoch")]
    assert losses[1] < losses[0]
    assert "q gap states" in said
    assert "zero regret states" in said
    assert "q mae states" in said


@pytest.mark.slow
def test_it_is_scored_and_kept_by_deals_that_it_has_not_seen(tmp_path, capsys):
    file, shelf = str(tmp_path / "net.ludory"), str(tmp_path / "kept")
    Texas42Oracle("domino_mlp(hidden=(8,))", seed=2, **SMALL).learn(128).save(file)
    assert main(["texas42", "evaluate", file, "--deals", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["network"]["overall"]
    assert found["states"] == len(unseen_states(3, 2).state)
    assert not {*map(tuple, unseen_states(30, 2).deal)} & {*map(tuple, states_of_deals(30, (2, SCORED)).deal)}
    assert main(["texas42", "promote", file, "--deals", "2", "--catalogue", shelf]) == 0
    assert main(["texas42", "evaluate", file, "--split", "test"]) == 2
    assert main(["texas42", "evaluate", file, "--data", str(tmp_path), "--deals", "3"]) == 2
    assert main(["texas42", "evaluate", file, "--deals", "0"]) == 2
    assert main(["texas42", "evaluate", file, "--per-decision", "5"]) == 2
    refused = capsys.readouterr().err.splitlines()
    assert "--deals" in refused[2]
    assert "--split test: is of labels or shards; new deals have no splits" in refused[0]
    assert "--per-decision: is of shards" in refused[3]
    assert "--deals is of new deals, and the states are those of" in refused[1]


@pytest.mark.slow
def test_a_run_that_was_stopped_ends_with_the_same_numbers(tmp_path):
    whole = Texas42Oracle("domino_mlp(hidden=(16,))", seed=2, **SMALL).learn()
    part = Texas42Oracle("domino_mlp(hidden=(16,))", seed=2, **SMALL).learn(700)
    assert 600 < part.num_timesteps < 1200
    part.save(tmp_path / "part.ludory")
    resumed = Texas42Oracle.load(tmp_path / "part.ludory").learn(reset_num_timesteps=False)
    assert resumed.num_timesteps == whole.num_timesteps == 1200
    for name, weights in whole.policy.state_dict().items():
        assert torch.equal(weights, resumed.policy.state_dict()[name]), name


@pytest.mark.slow
def test_an_onnx_file_answers_as_the_network_does(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr("ludory.algorithms.texas42.oracle.onnx_file.STATES", 300)
    model = Texas42Oracle("domino_mlp(hidden=(16,))", seed=2, **SMALL).learn()
    assert export_onnx(model, tmp_path / "net.onnx").same
