"""P(make) and what is bid by it: intervals, exact values, played contracts, and the rules of the bidder."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from support.golden_texas42 import load

import ludory
from ludory.agents.evaluation.intervals import wilson
from ludory.agents.make import make_agent
from ludory.agents.texas42.bidding.bidder import bid_of
from ludory.agents.texas42.bidding.fitted_make_probability import (
    calibrated,
    calibration_json,
    read_calibration,
    shipped,
)
from ludory.agents.texas42.bidding.hand_cues import NAMES, cues
from ludory.agents.texas42.bidding.make_probability import BIDS, convergence, double_dummy, of_points, rollout
from ludory.agents.texas42.play.choice import Averager, question_of
from ludory.agents.texas42.play.rollout import deals_around, play_out
from ludory.agents.texas42.play.tricks import hand_lines
from ludory.agents.texas42.solver.solver import Solver, positions
from ludory.algorithms.texas42.data.contracts import fit
from ludory.cli import main
from ludory.envs.make import make_game
from ludory.envs.texas42.sight import past_tricks
from ludory.envs.texas42.state import BID_30, DECLARE_0, ONE_MARK, PASS
from ludory.envs.texas42.tiles import STRAIGHT, mask_of, parse_tile
from ludory.errors import DataError, OptionError


def tiles(text: str) -> int:
    return mask_of(parse_tile(tile) for tile in text.split())


STRONG = tiles("6-6 6-5 6-4 6-2 6-1 6-0 2-2")
ALL_SIXES = tiles("6-6 6-5 6-4 6-3 6-2 6-1 6-0")
WEAK = tiles("6-4 5-3 4-2 3-1 2-0 1-0 5-0")


def test_wilson_as_published():
    for made, n, low, high in ((375, 500, 0.7102, 0.7860), (0, 50, 0, 0.0714), (0, 0, 0, 1)):
        found = wilson(made, n, z=1.96)
        assert (round(float(found.low), 4), round(float(found.high), 4)) == (low, high)


@pytest.mark.slow
def test_deals_around_a_hand_are_whole_and_uniform():
    dealt = deals_around(STRONG, 300, 3)
    assert (dealt[:, 0] == STRONG).all()
    assert (np.bitwise_or.reduce(dealt, axis=1) == (1 << 28) - 1).all()
    held = (dealt[:, :, None] >> np.arange(28)) & 1
    assert (held.sum(axis=2) == 7).all()
    free = np.flatnonzero(held[0, 0] == 0)
    assert np.abs(held[:, 1:, free].mean(axis=0) - 1 / 3).max() < 0.14  # 5 standard errors
    assert (deals_around(STRONG, 300, 3) == dealt).all()


@pytest.mark.slow
def test_double_dummy_counts_points_from_0_to_42_and_each_bid_by_the_solver():
    """Points are 0..42, not 0..84; a bid of 30 needs V >= 18, seat 0 leading."""
    found = double_dummy(WEAK, 12, 5, (4,))
    assert found.points.min() >= 0
    assert found.points.max() <= 42
    from ludory.agents.texas42.bidding.make_probability import _key

    given = positions(deals_around(WEAK, 12, _key(5, 4)), 4, 0)
    for bid in (30, 36, 42):
        assert found.chance(4, bid) == pytest.approx(Solver().makes(given, bid).mean())
    assert found.chance(4, 84) == found.chance(4, 42)


def test_all_bids_come_from_one_set_of_points():
    points = np.array([[42, 30, 29, 35]], np.int8)
    found = of_points("rollout", "x", STRONG, (6,), points)
    assert found.p[0].tolist() == [sum(p >= bid for p in (42, 30, 29, 35)) / 4 for bid in BIDS]
    assert found.swing(6, 84) == 2 * (2 * 0.25 - 1)
    other = of_points("rollout", "x", STRONG, (6,), points, np.array([[42, 41]], np.int8))
    assert other.p[0, -1] == 0.5
    assert (other.p[0, :-1] == found.p[0, :-1]).all()


def test_parts_of_a_sample_come_nearer_to_the_whole_as_wilson_says():
    draw = np.random.default_rng(0)
    points = np.where(draw.random((3, 4000)) < np.array([[0.3], [0.6], [0.4]]), 35, 20).astype(np.int8)
    few, more = convergence([points, points], 30, [10, 100, 4000])
    assert (few.samples, more.samples) == (10, 100), "the whole has nothing to be held against"
    assert few.half_width == pytest.approx(0.25, abs=0.01)
    assert more.half_width == pytest.approx(0.095, abs=0.005)
    assert few.error == pytest.approx((0.6 * 0.4 / 10) ** 0.5, rel=0.1)
    assert more.error == pytest.approx((0.6 * 0.4 / 100) ** 0.5, rel=0.3)
    assert more.covered > 0.9
    assert few.best < 0.9 < more.best
    assert few.lost == pytest.approx(
        np.mean([0.6 - (0.3, 0.6, 0.4)[k] for k in (points.reshape(3, 400, 10) > 30).sum(axis=2).argmax(axis=0)]),
        abs=0.02,
    )
    assert convergence([np.full((2, 20), 42, np.int8)], 41, [10])[0].covered == 1
    with pytest.raises(OptionError, match=r"bid=42: must lie in 30\.\.41"):
        convergence([points], 42, [10])
    with pytest.raises(OptionError, match=r"sizes=\[4000\]: one must lie in 1\.\.3999"):
        convergence([points], 30, [4000])


@pytest.mark.slow
def test_the_convergence_is_told_of_files_and_of_a_hand(tmp_path, capsys):
    job = ["texas42", "bids", "--out", str(tmp_path), "--seeds", "3", "--mode", "double_dummy", "--samples", "20"]
    assert main(job) == 0
    capsys.readouterr()
    look = ["texas42", "bids-converge"]
    assert main([*look, str(tmp_path), "--sizes", "5", "10", "--json", "--svg", str(tmp_path / "x.svg")]) == 0
    assert [step["samples"] for step in json.loads(capsys.readouterr().out)] == [5, 10]
    assert (tmp_path / "x.svg").read_text().count("half_width") == 1
    assert main([*look, "--hand", "6-6,6-5,6-4,5-5,5-4,3-3,2-2", "--mode", "double_dummy", "--samples", "11"]) == 0
    assert "1 hands, 11 samples each" in capsys.readouterr().out
    for options, message in (
        ([], "name tables of `ludory texas42 bids`, or a hand"),
        ([str(tmp_path / "none")], "no such file or folder"),
        ([str(tmp_path), "--bid", "20"], "bid=20: must lie in 30..41"),
        ([str(tmp_path), "--svg", "x.png"], "must end in .svg"),
    ):
        assert main([*look, *options]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
def test_hands_are_played_by_the_rules_and_by_what_each_seat_may_know():
    averager = Averager(Solver(), 2, "mean")
    dealt = deals_around(STRONG, 6, 1)
    played = play_out(averager, dealt, [6, 6, 9, 7, 2, 6], bidder=0, key=4)
    for k in range(6):
        decl = [6, 6, 9, 7, 2, 6][k]
        whole = past_tricks(decl, played.tiles[k].tolist(), played.seats[k].tolist())
        assert len(whole) == 7
        assert sum(trick.points for trick in whole if trick.winner % 2 == 0) == played.points[k]
        for before, after in pairwise(whole):
            assert after.plays[0][0] == before.winner
        for seat in range(4):
            mine = mask_of(t for t, s in zip(played.tiles[k], played.seats[k], strict=True) if s == seat)
            assert mine == dealt[k, seat]
    again = play_out(averager, dealt, [6, 6, 9, 7, 2, 6], bidder=0, key=4)
    assert (again.tiles == played.tiles).all()


@pytest.mark.slow
def test_a_question_does_not_change_with_hidden_hands():
    engine = ludory.make_engine("Texas42Play-v0", num_games=1, seed=5)
    engine.reset(options={"decl": 3})
    for _ in range(6):
        engine.step(engine.legal().argmax(axis=1))
    seat, other = int(engine.to_move[0]), engine.clone()
    other.redeal(seat, 11)
    assert (other.state.held != engine.state.held).any()
    assert question_of(engine.state, 0, engine.legal()[0], 7) == question_of(other.state, 0, other.legal()[0], 7)


@pytest.mark.slow
def test_batched_and_single_decisions_are_the_same():
    game = make_game("Texas42Play-v0")
    agent = make_agent("texas42/pimc(worlds=3)", game)
    engine = ludory.make_engine(game, num_games=5, seed=2)
    engine.reset(options={"decl": 5, "leader": 0})
    from ludory.agents.seat import Seat

    together = agent.choose(engine, 0, np.arange(5), None)
    assert together.tolist() == [agent.decide(Seat(engine, 0, row), None) for row in range(5)]


@pytest.mark.slow
def test_hidden_hands_make_fewer_contracts_than_open_ones():
    """The bias that bidding from solved deals would have."""
    hand, deals = tiles("5-5 5-4 5-1 4-4 3-2 6-1 2-0"), 20
    opened = double_dummy(hand, 60, 1, (5,)).p[0, :8].mean()
    played = rollout(hand, deals, 1, (5,), worlds=3, for_42=False).p[0, :8].mean()
    assert played < opened


@pytest.mark.slow
def test_a_lost_hand_is_shown_trick_by_trick():
    row = load("hands.parquet")[0]
    dealt = [mask_of(row["deal"][7 * seat : 7 * seat + 7]) for seat in range(4)]
    decl = row["decl"]
    whole = past_tricks(decl, row["plays"], row["seats"])
    assert [trick.winner for trick in whole] == row["trick_winners"]
    assert [trick.points for trick in whole] == row["trick_points"]
    lines = hand_lines(dealt, decl, row["plays"], row["seats"])
    assert f"{row['team0_points']}-{row['team1_points']}" in lines[-1]
    assert lines[-1].endswith(f" {row['team0_points']}")


@pytest.mark.slow
def test_files_of_chances(tmp_path):
    import pyarrow.parquet as pq

    from ludory.algorithms.texas42.data.shards import chances_of, make_bids
    from ludory.data.formats.texas42.bid_tables import BidName, read_bids

    name = BidName(905, "double_dummy", 3, 10, 0)
    file = tmp_path / name.path
    assert str(name.path) == "val/seed_00000905.parquet"
    make_bids(file, name)
    assert pq.read_schema(file).names[:2] == ["seed", "hand"]
    assert len(pq.read_schema(file).names) == 365
    found, chances = read_bids(file, name), chances_of(name)
    assert (found.points == chances.points).all()
    assert found.figures[0] == pytest.approx(chances.p)
    assert found.figures[1:] == pytest.approx(np.stack([chances.low, chances.high]))
    with pytest.raises(DataError, match="samples is 3, asked for 4"):
        read_bids(file, name._replace(samples=4))


# --- The fitted model -----------------------------------------------------------------------------------------------------


def test_cues_of_a_known_hand():
    found = dict(zip(NAMES, cues(STRONG, 6), strict=True))
    assert found["trumps"] == 6
    assert found["trumps on top"] == 3  # 6-6 6-5 6-4, then 6-3 is out
    assert found["sure tiles beside trumps"] == 1
    assert found["losing tiles"] == 0


def test_calibrated_chances_fall_with_the_bid_and_rise_with_the_hand():
    for hand in (STRONG, WEAK):
        assert (np.diff(calibrated(hand).p, axis=1) <= 0).all()
    assert calibrated(STRONG).best(30) == 6
    assert calibrated(STRONG).chance(6, 30) > 0.85 > 0.5 > calibrated(WEAK).p[:, 0].max()


def test_a_fit_finds_the_model_that_made_its_data():
    draw = np.random.default_rng(0)
    given = np.zeros((1500, 30))
    given[:, 0], given[:, 1] = 1, draw.normal(size=1500)
    chance = 1 / (1 + np.exp(-(1.5 * given[:, 1:2] + np.linspace(0.5, -1.9, 13))))
    made = draw.random((1500, 1)) < chance
    found = fit(given, made, np.zeros_like(chance))
    assert found.slope == 0
    assert abs(found.p(given) - chance).mean() < 0.05


def test_calibrations_are_written_and_read(tmp_path):
    file = tmp_path / "model.json"
    file.write_text(calibration_json(shipped()))
    assert (read_calibration(file).plain.weights == shipped().plain.weights).all()
    content = json.loads(file.read_text())
    content["plain"]["thresholds"][3] = 9.0
    file.write_text(json.dumps(content))
    with pytest.raises(DataError, match="13 that fall"):
        read_calibration(file)


# --- The bidder -----------------------------------------------------------------------------------------------------------


def bidding(hand: int, bids: list[int], minima: str = "", **options):
    """Action of the bidder with `hand` after these bids; all others hold anything."""
    game = make_game("Texas42-v0", **options)
    agent = make_agent(f"texas42/bidder(play='random'{minima})", game)
    seat = len(bids)
    deal = [t for mask in np.roll(deals_around(hand, 1, 0)[0], seat) for t in range(28) if int(mask) >> t & 1]
    engine = ludory.make_engine(game, num_games=1)
    engine.reset(options={"deal": deal, "shaker": 3, **({"bids": bids} if bids else {})})
    assert int(engine.to_move[0]) == seat
    return int(agent.choose(engine, seat, np.array([0]), None)[0])


@pytest.mark.plain
def test_what_is_bid():
    assert bidding(WEAK, []) == PASS
    fair = tiles("5-5 5-4 5-2 5-1 4-4 1-1 3-0")
    assert calibrated(fair).chance(calibrated(fair).best(30), 30) > 0.6
    assert bidding(fair, []) == BID_30
    assert bidding(fair, [PASS, BID_30]) == BID_30 + 1, "over an opponent"
    assert bidding(fair, [BID_30, PASS]) == PASS, "the partner has it"
    assert bidding(ALL_SIXES, []) == ONE_MARK + 1, "two marks"
    assert bidding(ALL_SIXES, [ONE_MARK + 1]) == ONE_MARK + 2, "one more than an opponent"
    good = tiles("0-0 2-0 4-0 5-0 6-0 6-4 6-5")
    assert 0.5 < calibrated(good).chance(calibrated(good).best(42), 42) < 0.75
    assert bidding(good, [ONE_MARK]) == PASS, "not two marks, over an opponent either"
    assert bidding(WEAK, [PASS, PASS, PASS], all_pass="forced") == BID_30
    assert [bid_of(a) for a in (1, 12, 13, 14, 19)] == [30, 41, 42, 84, 294]


@pytest.mark.plain
def test_minima_by_place_in_the_auction():
    fair = tiles("5-5 5-4 5-2 5-1 4-4 1-1 3-0")
    for place in range(4):
        minima = [1.0] * 4
        minima[place] = 0.5
        for other in range(4):
            bids = [PASS] * other
            assert bidding(fair, bids, f", threshold={minima}") == (BID_30 if other == place else PASS)
            if other:
                bids[-1] = BID_30
                assert bidding(fair, bids, f", against={minima}") == (BID_30 + 1 if other == place else PASS)
            if other > 1:
                bids[-2:] = BID_30, PASS
                over = bidding(fair, bids, f", against=0.0, over_partner={minima}")
                assert over == (BID_30 + 1 if other == place else PASS)


def test_the_bidder_declares_what_its_hand_is_best_at():
    game = make_game("Texas42-v0")
    agent = make_agent("texas42/bidder(play='random')", game)
    deal = [t for mask in deals_around(STRONG, 1, 0)[0] for t in range(28) if int(mask) >> t & 1]
    engine = ludory.make_engine(game, num_games=1)
    engine.reset(options={"deal": deal, "shaker": 3, "bids": [BID_30, PASS, PASS, PASS]})
    assert agent.choose(engine, 0, np.array([0]), None)[0] == DECLARE_0 + calibrated(STRONG).best(30)
    assert calibrated(STRONG).decls == STRAIGHT


def test_bidders_refuse_what_they_can_not_do():
    with pytest.raises(OptionError, match="has no auction"):
        make_agent("texas42/bidder", "Texas42Play-v0")
    with pytest.raises(OptionError, match="threshold=2"):
        make_agent("texas42/bidder(threshold=2)", "Texas42-v0")
    for wrong in ("against=[0.5, 0.5]", "over_partner=(0, 0, 0, 2)", "against='much'", "threshold=None"):
        with pytest.raises(OptionError, match="four such numbers, by place"):
            make_agent(f"texas42/bidder({wrong})", "Texas42-v0")
    with pytest.raises(OptionError, match="did you mean threshold"):
        make_agent("texas42/bidder(treshold=0.5)", "Texas42-v0")
    with pytest.raises(OptionError, match="mode"):
        make_agent("texas42/bidder(mode='guess')", "Texas42-v0")


@pytest.mark.slow
def test_one_agent_bids_and_another_plays():
    game = "Texas42Match-v0"
    bidder = "texas42/bidder(play='texas42/quick')"
    one = ludory.evaluate([bidder, "texas42/quick", bidder, "texas42/quick"], game, games=6, seed=2)
    seat = "texas42/seat(bid='texas42/bidder', play='texas42/quick')"
    other = ludory.evaluate([seat, "texas42/quick", seat, "texas42/quick"], game, games=6, seed=2)
    np.testing.assert_array_equal(one.returns, other.returns)
    dull = ludory.evaluate(
        ["texas42/seat(bid='random', play='texas42/quick')", *["texas42/quick"] * 3], game, games=6, seed=2
    )
    assert (dull.returns != one.returns).any()
    with pytest.raises(OptionError, match="Texas42Play-v0 has no auction"):
        make_agent("texas42/seat", "Texas42Play-v0")
