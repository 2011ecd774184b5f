"""Texas 42's auction, options, settlement and matches."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from games.own_games import check_variant

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.texas42 import make_hand, make_match, make_play
from ludory.envs.texas42.state import DECLARE_0, ONE_MARK, PASS, PLAY_0, PLUNGE, SPLASH
from ludory.envs.texas42.tiles import (
    DOUBLE_TILES,
    HIGH,
    LED,
    LOW,
    NELLO_HIGH,
    NELLO_LOW,
    NELLO_SUIT,
    RANK,
    SEVENS,
    mask_of,
    parse_tile,
    tiles_of,
)
from ludory.errors import OptionError

EVERYTHING = {"nello": ("high", "suit", "low"), "plunge": 4, "splash": True, "sevens": True}
BID_30, TWO_MARKS = 1, ONE_MARK + 1
DEAL = [
    "0-0,1-1,2-2,3-3,4-4,5-0,6-4",  # five doubles
    "5-5,6-6,1-0,2-0,3-0,4-0,6-0",
    "2-1,3-1,4-1,5-1,6-1,3-2,4-2",
    "5-2,6-2,4-3,5-3,6-3,5-4,6-5",
]


def engine(game, count=1, **options):
    made = KernelEngine(game, count, seed=3)
    made.reset(options=options)
    return made


def legal_ids(games, row=0):
    return set(np.flatnonzero(games.legal()[row]).tolist())


# --- Auction --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "histories"),
    [
        ({}, 3214),
        ({"all_pass": "forced"}, 3213),
        ({"plunge": 4}, 4436),
        ({"plunge": 4, "splash": True}, 5812),
    ],
    ids=str,
)
def test_number_of_auctions(options, histories):
    """Every seat is given all doubles, so that only the rules of bidding limit the tree."""
    games, found = engine(make_hand(**options), shaker=0), 0
    games.state.held[:] = DOUBLE_TILES
    games.load_fields(games.fields(), check=False)  # masks of the new hands, which no deal gives
    for _ in range(4):
        rows, actions = np.nonzero(games.legal())
        games = games.gather(rows)
        games.step(actions)
    found = games.num_games
    assert found == histories
    assert games.terminated.sum() == (options.get("all_pass") != "forced")


def test_only_who_holds_the_doubles_can_plunge_and_nobody_else_is_shown_it():
    games = engine(make_hand(**EVERYTHING), deal=DEAL, shaker=3)
    assert {PLUNGE, SPLASH} <= legal_ids(games)
    other = engine(make_hand(**EVERYTHING), deal=DEAL, shaker=0)
    assert not {PLUNGE, SPLASH} & legal_ids(other)
    hidden = games.clone()
    hidden.redeal(1, 5)
    assert (hidden.state.held[0] != games.state.held[0]).any()
    assert (hidden.observe(1) == games.observe(1)).all()


def test_a_plunge_is_declared_and_led_by_the_partner():
    games = engine(make_hand(**EVERYTHING), deal=DEAL, shaker=3, bids=[PLUNGE, PASS, PASS, PASS])
    assert games.state.bid[0] == 4 * 42
    assert games.to_move[0] == 2
    assert legal_ids(games) == {DECLARE_0 + decl for decl in (0, 1, 2, 3, 4, 5, 6, 7, 9)}
    games.step([DECLARE_0 + 1])
    assert (games.to_move[0], games.state.leader[0]) == (2, 2)


def test_a_splash_is_worth_two_or_three_marks():
    splash = make_hand(splash=True)
    assert engine(splash, deal=DEAL, shaker=3, bids=[SPLASH, PASS, PASS, PASS]).state.bid[0] == 2 * 42
    late = engine(splash, deal=DEAL, shaker=0, bids=[TWO_MARKS, PASS, PASS])
    assert SPLASH in legal_ids(late)
    late.step([SPLASH])
    assert late.state.bid[0] == 3 * 42
    assert SPLASH not in legal_ids(engine(splash, deal=DEAL, shaker=0, bids=[TWO_MARKS, ONE_MARK + 2, PASS]))


def test_nello_and_sevens_need_a_plain_mark_bid():
    special = {DECLARE_0 + decl for decl in (NELLO_HIGH, NELLO_SUIT, NELLO_LOW, SEVENS)}
    game = make_hand(**EVERYTHING)
    assert special <= legal_ids(engine(game, deal=DEAL, shaker=3, bids=[ONE_MARK, PASS, PASS, PASS]))
    for bid in (BID_30, SPLASH):
        assert not special & legal_ids(engine(game, deal=DEAL, shaker=3, bids=[bid, PASS, PASS, PASS]))
    plain = make_hand(nello=("low",))
    assert special & legal_ids(engine(plain, shaker=3, deal=DEAL, bids=[ONE_MARK, PASS, PASS, PASS])) == {
        DECLARE_0 + NELLO_LOW
    }


# --- Play -----------------------------------------------------------------------------------------------------------------


def plain_nello_winner(form, tiles):
    """Place of the winner by a definition of its own: strengths are written out per suit."""
    order = []
    for tile in tiles:
        high, low = HIGH[tile], LOW[tile]
        order.append((high, low, high == low))
    high, _, double = order[0]
    doubles_led = form == NELLO_SUIT and double

    def strength(tile):
        h, low, is_double = tile
        if doubles_led:
            return h if is_double else -1
        if is_double and form == NELLO_SUIT:
            return -1
        if high not in (h, low):
            return -1
        other = low if h == high else h
        return (99 if form == NELLO_HIGH else -0.5) if is_double else other

    strengths = [strength(tile) for tile in order]
    return strengths.index(max(strengths))


@pytest.mark.parametrize("form", [NELLO_HIGH, NELLO_SUIT, NELLO_LOW])
def test_winners_of_all_tricks_of_three_tiles(form):
    tricks = np.array(list(permutations(range(28), 3)))
    assert len(tricks) * 12 == 235_872  # with four bidders and three leaders
    ranks = RANK[form, LED[form, tricks[:, 0]][:, None], tricks]
    plain = [plain_nello_winner(form, trick) for trick in tricks.tolist()]
    assert (ranks.argmax(axis=1) == plain).all()


@pytest.mark.parametrize("bidder", range(4))
def test_under_nello_the_partner_sits_out(bidder):
    games = engine(make_play(decl=NELLO_HIGH, bid=42, bidder=bidder, reward="make"), 40)
    partner, seen = (bidder + 2) % 4, np.zeros(40, int)
    for _ in range(21):
        assert (games.to_move != partner).all()
        seen += games.to_move == bidder
        games.step(games.legal().argmax(axis=1))
    assert games.terminated.all()
    assert (seen == 7).all()
    dealt = games.state.dealt[:, partner]
    assert (games.state.held[:, partner] == dealt).all()
    won = games.state.tricks[:, bidder % 2] == 0
    assert (games.rewards[:, bidder] == np.where(won, 1, -1)).all()
    assert 0 < won.sum() < 40


def test_sevens_plays_what_is_nearest_and_the_first_of_equals_wins():
    games = engine(make_play(decl=SEVENS, bid=42, reward="make"), 200)
    for _ in range(28):
        rows = np.arange(200)
        held = games.state.held[rows, games.to_move]
        before = games.state.leader.copy()
        lying = [(int(s), t) for s, t in zip(games.to_move, games.state.trick.tolist(), strict=True)]
        for row in range(0, 200, 20):
            distances = {t: abs(HIGH[t] + LOW[t] - 7) for t in tiles_of(int(held[row]))}
            nearest = {t for t, d in distances.items() if d == min(distances.values())}
            assert legal_ids(games, row) == nearest
        chosen = games.legal().argmax(axis=1)
        full = games.state.trick_len == 3
        games.step(chosen)
        for row in np.flatnonzero(full)[::20]:
            tiles = [t for t in lying[row][1] if t >= 0] + [int(chosen[row])]
            distances = [abs(HIGH[t] + LOW[t] - 7) for t in tiles]
            assert games.state.leader[row] == (before[row] + distances.index(min(distances))) % 4
    made = games.state.tricks[:, 0] == 7
    assert (games.rewards[:, 0] == np.where(made, 1, -1)).all()


@pytest.mark.slow
def test_stopping_early_changes_no_result():
    options = {"nello": ("high", "suit", "low"), "sevens": True}
    whole, early = engine(make_hand(**options), 400), engine(make_hand(**options, early_stop=True), 400)
    total, lengths = {}, {}
    for name, games in (("whole", whole), ("early", early)):
        generator, total[name] = np.random.default_rng(5), np.zeros((400, 4))
        for _ in range(33):
            noise = generator.random((400, 64))
            games.step(np.where(games.legal(), noise, -1).argmax(axis=1))
            total[name] += games.rewards
        assert games.terminated.all()
        lengths[name] = games.state.plays.astype(int)
    assert (total["whole"] == total["early"]).all()
    assert (lengths["early"] <= lengths["whole"]).all()
    assert (lengths["early"] < lengths["whole"]).sum() > 200


def test_point_rewards_sum_to_the_points_won():
    games = engine(make_play(), 50)
    total = np.zeros(50)
    for _ in range(28):
        games.step(games.legal().argmax(axis=1))
        total += games.rewards[:, 0]
    points = games.state.points.astype(int)
    assert (points.sum(axis=1) == 42).all()
    assert np.allclose(42 * total, points[:, 0] - points[:, 1], atol=1e-4)


# --- Matches --------------------------------------------------------------------------------------------------------------


def play_out(games, seed):
    generator, total, shakers = np.random.default_rng(seed), np.zeros((games.num_games, 4)), []
    while (games.to_move >= 0).any():
        legal = games.legal()
        shakers.append(games.state.shaker.copy())
        games.step(np.where(legal, generator.random(legal.shape), -1).argmax(axis=1))
        total += games.rewards
    return total, np.array(shakers)


@pytest.mark.parametrize("reward", [pytest.param("win", marks=pytest.mark.slow), "marks"])
def test_a_match_is_played_to_its_target(reward):
    games = engine(make_match(reward=reward), 60)
    total, shakers = play_out(games, 1)
    marks = games.state.marks.astype(int)
    assert games.terminated.all()
    assert (marks.max(axis=1) >= 7).all()
    assert (marks.min(axis=1) < 7).all()
    lead = marks[:, 0] - marks[:, 1]
    assert (total[:, 0] == (np.sign(lead) if reward == "win" else lead)).all()
    moves = np.diff(shakers, axis=0) % 4
    assert set(np.unique(moves)) == {0, 1}


def test_a_match_in_which_all_pass_is_cut_off_after_64_deals():
    games = engine(make_match(), 2)
    for deal in range(64):
        assert (games.state.attempt == deal).all()
        for _ in range(4):
            games.step([PASS, PASS])
    assert games.truncated.all()
    assert not games.terminated.any()
    assert not games.rewards.any()


# --- Injected starts ------------------------------------------------------------------------------------------------------


def test_a_position_is_reached_by_its_bids_and_plays():
    plays = [parse_tile(tile) for tile in ("0-0", "1-0", "2-1", "5-2")]
    games = engine(make_hand(), 2, deal=DEAL, shaker=3, bids=[BID_30, 0, 0, 0], decl=0, plays=plays)
    assert (games.to_move == 0).all()
    assert (games.state.points == [1, 0]).all()
    assert not games.rewards.any()
    step_by_step = engine(make_hand(), 2, deal=DEAL, shaker=3)
    for action in [BID_30, 0, 0, 0, DECLARE_0, *(PLAY_0 + tile for tile in plays)]:
        step_by_step.step([action, action])
    for name in set(games.state._fields) - {"random", "rewards"}:
        assert (getattr(games.state, name) == getattr(step_by_step.state, name)).all(), name
    games.reset()
    assert (games.state.plays == 0).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"deal": [*range(27), 0]}, "6-6 missing, 0-0 more than once"),
        ({"deal": [["6-6"]]}, "must be 28 tile ids"),
        ({"deal": DEAL, "seed_deal": 1}, "not both"),
        ({"shaker": 4}, "from 0 to 3"),
        ({"bids": [1]}, "need deal"),
        (
            {"deal": DEAL, "shaker": 0, "bids": [2, 1]},
            r"action 1 \(bid 30\) is not legal; legal: 0 \(pass\), 3 \(bid 32\)",
        ),
        ({"deals": DEAL}, "did you mean 'deal'"),
        ({"deal": ["6-7,1-1"] * 4}, "'6-7' is no domino"),
    ],
)
def test_bad_starts_are_refused(options, words):
    games = KernelEngine(make_hand(), 1, seed=1)
    with pytest.raises(OptionError, match=words):
        games.reset(options=options)


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (make_hand, {"nello": ("upside",)}, "must be one of 'high', 'suit', 'low'"),
        (make_hand, {"plunge": 8}, "from 0 to 7"),
        (make_hand, {"target": 3}, "use Texas42Match-v0"),
        (make_hand, {"rounds": 3}, "no option 'rounds'"),
        (make_hand, {"observation": "transcript"}, "use Texas42Play-v0"),
        (make_play, {"decl": 10}, "needs a mark bid"),
        (make_play, {"decl": 10, "bid": 42}, "give reward='make'"),
        (make_play, {"bid": 43}, "30..41 points"),
    ],
)
def test_bad_options_are_refused(make, options, words):
    with pytest.raises(OptionError, match=words):
        make(**options)


def test_deals_are_uniform():
    games = engine(make_hand(), 20_000)
    tiles = (games.state.dealt[:, :, None] >> np.arange(28)) & 1
    assert (tiles.sum(axis=1) == 1).all()
    assert (tiles.sum(axis=2) == 7).all()
    counts = tiles.sum(axis=0)
    assert np.abs(counts - 5000).max() < 5 * np.sqrt(20_000 * 3 / 16)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hand", "match", "play"])
def test_the_contract_of_a_game_holds_with_every_option(name):
    game = {
        "hand": lambda: make_hand(**EVERYTHING, all_pass="forced", early_stop=True),
        "match": lambda: make_match(**EVERYTHING, reward="marks", target=2),
        "play": lambda: make_play(observation="transcript", decl=NELLO_LOW, bid=42, bidder=1, reward="make"),
    }[name]()
    check_variant(game, games=2, compiled=False)


def test_parsing_tiles():
    assert parse_tile("6-4") == parse_tile("4-6") == parse_tile("64") == 25
    assert mask_of(tiles_of(DOUBLE_TILES)) == DOUBLE_TILES
