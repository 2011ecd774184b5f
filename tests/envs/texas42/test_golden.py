"""Texas 42's tables, rules and masks against data made by independent programs."""

from __future__ import annotations

import numpy as np
import pytest
from support.golden_texas42 import load

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.engine.storage import new_records, views
from ludory.envs.texas42 import make_hand, make_play
from ludory.envs.texas42.rules import outcome, record_result
from ludory.envs.texas42.start import seed_deal
from ludory.envs.texas42.state import DECLARE_0, PLAY_0, TRICK_POINTS
from ludory.envs.texas42.tiles import COUNT, FOLLOW, LED, RANK, mask_of
from ludory.envs.texas42.trick import playable
from ludory.testing.kernels.interpreted import interpreted


def test_tricks():
    for row in load("tricks.json"):
        decl, tiles = row["decl"], row["tiles"]
        suit = LED[decl, tiles[0]]
        assert suit == row["led_suit"]
        assert (row["leader"] + int(np.argmax(RANK[decl, suit, tiles]))) % 4 == row["winner"]
        assert 1 + COUNT[tiles].sum() == row["points"]


def test_following():
    follow = interpreted(playable)
    for row in load("following.json"):
        legal = follow(row["decl"], mask_of(row["hand"]), int(LED[row["decl"], row["lead"]]))
        assert legal == mask_of(row["legal"])


def test_seed_deals():
    for row in load("seed_deals.json"):
        assert seed_deal(row["seed"]) == row["deal"]


def column(rows, name):
    return np.array([row[name] for row in rows])


@pytest.fixture(scope="module")
def hands():
    rows = load("hands.parquet")
    return {name: column(rows, name) for name in rows[0]}


def excluded(voids, decl):
    """Masks (N, 4) of the tiles that seats cannot hold, from bits 8 * seat + suit (N,)."""
    shown = (voids[:, None] >> np.arange(32)).reshape(-1, 4, 8) & 1
    return np.bitwise_or.reduce(shown * FOLLOW[decl][:, None, :], axis=2)


def replay(engine, hands, offset):
    """Play the recorded hands from their first lead on and compare every position."""
    for k in range(28):
        masks = (hands["legal_masks"][:, k, None] >> np.arange(28)) & 1 == 1
        assert (engine.legal()[:, offset : offset + 28] == masks).all()
        assert (engine.to_move == hands["seats"][:, k]).all()
        engine.step(hands["plays"][:, k] + offset)
        assert (engine.state.cannot == excluded(hands["voids_after"][:, k], hands["decl"])).all()
        if k % 4 == 3:
            assert (engine.state.leader == hands["trick_winners"][:, k // 4]).all()
            assert (engine.state.last[:, TRICK_POINTS] == hands["trick_points"][:, k // 4]).all()
    assert (engine.state.points == np.stack([hands["team0_points"], hands["team1_points"]], axis=1)).all()
    assert engine.terminated.all()


@pytest.mark.slow
def test_hands_of_fixed_contract(hands):
    engine = KernelEngine(make_play(), len(hands["decl"]), seed=1)
    engine.reset(options={"deal": hands["deal"], "decl": hands["decl"], "leader": hands["leader"]})
    replay(engine, hands, 0)


@pytest.mark.plain
def test_hands_that_were_bid_for(hands):
    callable_rows = hands["decl"] != 8
    hands = {name: values[callable_rows] for name, values in hands.items()}
    count = len(hands["decl"])
    engine = KernelEngine(make_hand(), count, seed=1)
    shaker = (hands["leader"] + 3) % 4
    engine.reset(options={"deal": hands["deal"], "shaker": shaker, "bids": [1, 0, 0, 0], "decl": hands["decl"]})
    assert (engine.state.bidder == hands["leader"]).all()
    replay(engine, hands, PLAY_0)
    own = hands["leader"] % 2
    points = np.where(own == 0, hands["team0_points"], hands["team1_points"])
    gain = np.where((points >= 30) == (own == 0), 1, -1)
    assert (engine.rewards == gain[:, None] * np.array([1, -1, 1, -1])).all()


def bid_id(bid):
    return 0 if bid == 0 else bid - 29 if bid < 42 else 12 + bid // 42


@pytest.mark.plain
@pytest.mark.parametrize("forced", [False, True])
def test_auctions(forced):
    rows = [row for row in load("auctions.json") if row["forced"] == forced]
    engine = KernelEngine(make_hand(all_pass="forced" if forced else "reshake"), len(rows), seed=1)
    engine.reset(options={"shaker": 3})
    for k in range(4):
        for game, row in enumerate(rows):
            assert set(np.flatnonzero(engine.legal()[game])) == set(map(bid_id, row["legal"][k]))
        engine.step(np.array([bid_id(row["bids"][k]) for row in rows]))
    for game, row in enumerate(rows):
        if row["winner"] is None:
            assert engine.terminated[game]
            assert not engine.rewards[game].any()
        else:
            assert engine.state.bidder[game] == row["winner"] == engine.to_move[game]
            assert engine.state.bid[game] == row["bid"]
            assert set(np.flatnonzero(engine.legal()[game])) == {DECLARE_0 + d for d in (0, 1, 2, 3, 4, 5, 6, 7, 9)}


def test_marks_of_the_auctions():
    rows = [row for row in load("auctions.json") if row["winner"] is not None]
    game = make_hand()
    state = views(game.rules.fields, new_records(game.rules.fields, len(rows)))
    settle, note = interpreted(outcome), interpreted(record_result)
    for i, row in enumerate(rows):
        state.bid[i], state.bidder[i], state.leader[i], state.decl[i] = row["bid"], row["winner"], 0, 9
        team = row["winner"] % 2
        state.points[i, team] = row["bidding_team_points"]
        state.points[i, 1 - team] = 42 - row["bidding_team_points"]
        gain = note(state, i, settle(state, i)) * (1 if team == 0 else -1)
        assert [max(gain, 0), max(-gain, 0)] == row["marks"]
