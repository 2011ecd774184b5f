"""The arena's rules, case by case: what each ability does, who stops it, and what is the same for everybody."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.arena_by_hand import Hand, U, facing_each_other

from ludory.envs.arena.tables import CHECKSUM, CIRCLE, MOVE, ROOT, UNIT, checksum

RIGHT, LEFT, UP = {"move": (1, 0)}, {"move": (-1, 0)}, {"move": (0, -1)}


def duel(distance, **more):
    return Hand(start=facing_each_other(distance, **more))


# --- Walking ---------------------------------------------------------------------------------------------------------------


def test_a_body_walks_five_units_a_second():
    hand = duel(8)
    for _ in range(3):
        hand.play(RIGHT)
    assert hand.at(0) == (-4 + 2, 0)


def test_half_a_step_is_half_as_fast_and_diagonals_are_not_faster():
    hand = duel(8)
    hand.play({"move": (0.5, 0)}, {"move": (-1, -1)})
    assert hand.at(0)[0] == pytest.approx(-4 + 1 / 3, abs=0.002)
    x, y = hand.at(1)
    assert np.hypot(x - 4, y) == pytest.approx(2 / 3, abs=0.002)
    assert y < 0, "up is -1"


def test_the_wall_stops_bodies():
    hand = duel(28)
    for _ in range(8):
        hand.play(LEFT)
        assert hand.state.x[0, 0] >= -hand.state.setup[0, 1]
    assert hand.at(0)[0] == pytest.approx(-15274 * 1.15 / U, abs=0.01)


def test_bodies_walk_through_each_other():
    hand = duel(1)
    for _ in range(3):
        hand.play(RIGHT, LEFT)
    assert hand.at(0)[0] > hand.at(1)[0]


# --- Shots -----------------------------------------------------------------------------------------------------------------


def test_a_shot_takes_eight_hit_points_and_one_of_the_ammunition():
    hand = duel(3)
    hand.play({"fire": True, "aim": (1, 0)})
    assert hand.hp() == [100, 92]
    assert hand.state.ammunition[0].tolist() == [19, 20]


def test_a_shot_without_aim_flies_along_the_facing():
    hand = duel(3, facing=[[0, 5], [-1, 0]])
    hand.play({"fire": True}, {"fire": True})
    assert hand.hp() == [92, 100]


def test_a_shot_flies_sixteen_units_and_no_farther():
    reached, missed = duel(16.4), duel(16.8)
    for hand in (reached, missed):
        hand.play({"fire": True})
        for _ in range(6):
            hand.play()
    assert reached.hp() == [100, 92]
    assert missed.hp() == [100, 100]


def test_the_next_shot_is_ready_after_eight_ticks():
    hand = duel(8)
    hand.play({"fire": True})
    for _ in range(3):
        assert "fire" not in hand.legal(0)
        hand.play()
    assert "fire" in hand.legal(0)


def test_one_shot_strikes_one_body_the_first_in_its_way():
    line = [[-4 * U, 0], [2 * U, 0], [0, 0]]
    hand = Hand(3, start={"position": line, "facing": [[1, 0]] * 3})
    for _ in range(3):
        hand.play({"fire": True} if hand.state.t[0] == 0 else {})
    assert hand.hp() == [100, 100, 92]


def test_without_ammunition_there_is_no_shot():
    assert "fire" not in duel(8, ammunition=[0, 1]).legal(0)


@given(st.integers(-3000, 3000), st.integers(-3000, 3000), st.integers(-3000, 3000), st.integers(-3000, 3000))
def test_the_hit_test_is_the_distance_of_a_segment_from_a_point(fx, fy, sx, sy):
    from ludory.envs.arena.constants import BODY
    from ludory.envs.arena.phases.weapons import is_hit
    from ludory.testing.kernels.interpreted import interpreted

    a, b = sx * sx + sy * sy, fx * sx + fy * sy
    if a:
        nearest = min(1.0, max(0.0, -b / a))
        distance = np.hypot(fx + nearest * sx, fy + nearest * sy)
        if abs(distance - BODY) > 1e-6:
            assert interpreted(is_hit)(a, b, fx * fx + fy * fy - BODY * BODY) == (distance < BODY)


# --- Abilities -------------------------------------------------------------------------------------------------------------


def test_a_dash_covers_five_units_along_the_move_pair_and_costs_25():
    hand = duel(4)
    hand.play({"ability": "dash", "move": (0, -1)})
    hand.play(RIGHT)
    assert hand.at(0) == (-2, -5), "in its fourth tick a dash is still a dash"
    assert hand.state.energy[0].tolist() == [1500 - 375 + 4 * 8, 1500]


def test_a_dash_without_a_move_goes_where_the_aim_points():
    hand = duel(4)
    hand.play({"ability": "dash", "aim": (0, 1)})
    hand.play()
    assert hand.at(0) == (-2, 5)


def test_a_shield_stops_shots_for_twelve_ticks():
    hand = duel(3)
    hand.play({"fire": True}, {"ability": "shield"})
    for _ in range(3):
        hand.play()
    hand.play({"fire": True})
    assert hand.hp() == [100, 100]
    hand.play()
    assert hand.state.shield[0, 1] == 0
    hand.play()
    hand.play()
    hand.play({"fire": True})
    assert hand.hp() == [100, 92]


def test_behind_a_shield_one_walks_slowly_gains_no_energy_and_does_nothing_else():
    hand = duel(3)
    hand.play({"ability": "shield"})
    energy = hand.state.energy[0, 0]
    hand.play(UP)
    assert hand.at(0)[1] == pytest.approx(-2 * 160 / U)
    assert hand.state.energy[0, 0] == energy == 1200
    assert not {"fire", "nova", "interact"} & hand.legal(0)


def test_a_nova_fires_in_its_sixth_tick_and_pushes():
    hand = duel(3)
    for turn in range(3):
        assert hand.hp() == [100, 100]
        hand.play({"ability": "nova"} if turn == 0 else {})
    assert hand.hp() == [100, 60]
    assert hand.at(1) == (1.5 + 2, 0)


def test_novas_fired_at_once_both_count():
    hand = duel(3)
    for turn in range(3):
        hand.play(*[{"ability": "nova"} if turn == 0 else {}] * 2)
    assert hand.hp() == [60, 60]
    assert (hand.at(0), hand.at(1)) == ((-3.5, 0), (3.5, 0))


def test_a_shield_parries_a_nova_and_stuns_the_attacker():
    hand = duel(3)
    hand.play({"ability": "nova"})
    hand.play({}, {"ability": "shield"})
    hand.play()
    assert hand.hp() == [100, 100]
    assert hand.state.stun[0].tolist() == [21, 0]
    assert hand.legal(0) == set()
    hand.play(UP)
    assert hand.at(0)[1] == 0, "the stunned stand still"


def test_a_nova_reaches_three_units_and_a_fifth():
    hand = duel(3.3)
    for turn in range(3):
        hand.play({"ability": "nova"} if turn == 0 else {})
    assert hand.hp() == [100, 100]


def test_a_mine_hurts_and_stuns_the_rival_that_comes_near_and_never_its_owner():
    hand = duel(3)
    hand.play({"ability": "mine"})
    for _ in range(3):
        hand.play(LEFT)
    assert hand.hp() == [100, 100]
    hand.play({}, LEFT)
    hand.play({}, LEFT)
    assert hand.hp() == [100, 100]
    hand.play({}, LEFT)
    assert hand.hp() == [100, 85]
    assert hand.state.stun[0, 1] in (10, 11)
    assert (hand.state.mine_life[0] == 0).all(), "a mine bursts once"


def test_a_shield_spends_a_mine_unhurt():
    hand = duel(1)
    hand.play({"ability": "mine"}, {"ability": "shield"})
    assert hand.hp() == [100, 100]
    assert (hand.state.mine_life[0] == 0).all()


def test_a_third_mine_replaces_the_one_with_the_least_life():
    hand = duel(20)
    for turn in range(47):
        hand.play({"move": (0, -1), "ability": "mine" if turn % 23 == 0 else ""} if turn % 23 == 0 else UP)
    lives = sorted(hand.state.mine_life[0, 0].tolist())
    assert lives == [300 - 48, 300 - 2]


def test_abilities_need_their_energy():
    assert duel(8, energy=[374, 299]).legal(0) == {"fire", "shield", "mine"}
    assert duel(8, energy=[374, 299]).legal(1) == {"fire"}
    assert duel(8, energy=[525, 0]).legal(0) == {"fire", "dash", "shield", "nova", "mine"}


# --- Crates ----------------------------------------------------------------------------------------------------------------


def at_crates(**more):
    crates = [[-3 * U, 0], [-3 * U, 0], *[[0, 13 * U]] * 4]
    return duel(6, crates=crates, hp=[5000, 5000], energy=[100, 100], **more)


def test_a_crate_pays_out_after_sixteen_ticks_and_comes_back_180_later():
    hand = at_crates()
    for _ in range(8):
        assert hand.hp() == [50, 50]
        hand.play({"interact": True})
    assert hand.hp() == [75, 50], "of two at one place the lower index"
    assert hand.state.crate_wait[0, :2].tolist() == [180, 0]
    for _ in range(89):
        hand.play()
    assert hand.state.crate_wait[0, 0] == 2
    hand.play()
    assert hand.state.crate_wait[0, 0] == 0
    assert (hand.state.crate_x[0, 0], hand.state.crate_y[0, 0]) != (-3 * U, 0)


def test_supply_gives_ammunition_and_energy():
    hand = at_crates()
    for _ in range(16):
        hand.play({"interact": True})
    assert hand.state.ammunition[0].tolist() == [30, 20]
    assert hand.state.energy[0].tolist() == [100 + 600 + 32 * 8, 100 + 32 * 8]


def test_who_is_hurt_or_lets_go_begins_anew():
    hand = at_crates()
    for _ in range(3):
        hand.play({"interact": True})
    assert hand.state.channel[0, 0] == 6
    hand.play({"interact": True}, {"fire": True})
    for _ in range(2):
        hand.play({"interact": True})
    assert hand.state.channel[0, 0] == 1, "hit in the first tick of this decision"
    hand.play()
    assert hand.state.channel[0, 0] == 0


def test_two_who_open_a_crate_at_once_are_both_paid():
    hand = Hand(start=facing_each_other(1, crates=[[0, 0], *[[0, 13 * U]] * 5], hp=[100, 100]))
    for _ in range(8):
        hand.play({"interact": True}, {"interact": True})
    assert hand.hp() == [26, 26]


# --- The zone, deaths and rewards -----------------------------------------------------------------------------------------


def test_the_zone_stays_fifteen_seconds_then_closes_and_hurts():
    hand = duel(29)
    for _ in range(112):
        hand.play()
    assert hand.state.zone_radius[0] == hand.state.setup[0, 1]
    assert hand.hp() == [100, 100]
    for _ in range(25):
        hand.play()
    assert hand.hp()[0] < 100
    assert hand.hp()[0] == hand.hp()[1]


def test_the_last_one_standing_wins():
    hand = duel(3, hp=[800, 800])
    hand.play({"fire": True})
    assert hand.state.terminated[0]
    assert hand.returns.tolist() == [1, -1]
    assert hand.game.look.info(hand.state, 0)["place"] == [1, 2]
    assert hand.game.look.info(hand.state, 0)["kills"] == [1, 0]
    assert hand.state.seat_terminated[0].tolist() == [1, 1]


def test_who_die_together_share_the_place():
    hand = duel(3, hp=[800, 800])
    hand.play({"fire": True}, {"fire": True})
    assert hand.returns.tolist() == [0, 0]
    assert hand.game.look.info(hand.state, 0)["place"] == [1.5, 1.5]


def test_a_game_in_which_nobody_does_anything_ends_in_a_draw_in_the_zone():
    hand = duel(10)
    while not hand.state.terminated[0]:
        hand.play()
    assert hand.returns.tolist() == [0, 0]
    assert hand.state.t[0] < 1350


def test_after_ninety_seconds_the_living_share_the_first_places():
    hand = duel(0, hp=[10_000, 10_000], crates=[[0, 0]] * 6)
    hand.state.t[0] = 1348
    hand.play()
    assert hand.state.terminated[0]
    assert hand.state.alive[0].tolist() == [1, 1]
    assert hand.game.look.info(hand.state, 0)["place"] == [1.5, 1.5]


def test_the_dead_are_settled_at_once_and_only_once():
    hand = Hand(3, start={"position": [[-3 * U, 0], [0, 0], [9 * U, 0]], "facing": [[1, 0]] * 3, "hp": [900, 800, 900]})
    hand.play({"fire": True})
    assert hand.state.rewards[0].tolist() == [0, -1, 0]
    assert hand.state.seat_terminated[0].tolist() == [0, 1, 0]
    assert hand.mask(1).sum() == 7, "one legal value for each head"
    assert not any(part.any() for part in hand.seen(1).values())
    hand.play()
    assert hand.state.rewards[0].tolist() == [0, 0, 0]
    assert hand.state.seat_terminated[0].tolist() == [0, 0, 0]


# --- Heads that matter -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ({}, {"move_x", "move_y", "fire", "ability"}),
        ({"fire": True}, {"move_x", "move_y", "aim_x", "aim_y", "fire", "ability"}),
        ({"ability": "shield"}, {"move_x", "move_y", "ability"}),
        ({"ability": "dash"}, {"move_x", "move_y", "aim_x", "aim_y", "fire", "ability"}),
        ({"ability": "dash", "move": (1, 0)}, {"move_x", "move_y", "fire", "ability"}),
    ],
)
def test_heads_that_matter(wish, expected):
    hand = duel(6)
    assert used(hand, wish) == expected


def test_who_opens_a_crate_chooses_nothing_else():
    assert used(at_crates(), {"interact": True}) == {"interact"}
    assert "interact" in used(at_crates(), {})


def used(hand, wish):
    out = np.zeros(7, bool)
    hand.call("used", 0, hand.act(**wish), out)
    return {name for name, matters in zip(hand.facts.head_names, out, strict=True) if matters}


# --- Tables and symmetry ---------------------------------------------------------------------------------------------------


def test_tables():
    assert checksum() == CHECKSUM
    assert CIRCLE[256].tolist() == [0, 16384]
    assert ROOT[1023] == 16380
    assert len(UNIT) == len(MOVE) == 25 + 81 + 121
    lengths = np.hypot(*UNIT.T)
    assert (np.abs(lengths - 16384) < 1).sum() == 224, "all but the three centre pairs"
    assert np.hypot(*MOVE.T).max() < 16385


@pytest.mark.parametrize("order", [[1, 0, 2], [2, 0, 1], [1, 2, 0]])
def test_relabelling_the_seats_relabels_the_game(order):
    generator = np.random.default_rng(order)
    position, crates = generator.integers(-2 * U, 2 * U, (3, 2)), generator.integers(-4 * U, 4 * U, (6, 2))
    facing = generator.integers(1, 99, (3, 2))
    common = {"crates": crates, "final_centre": [900, -2000]}
    one = Hand(3, start={"position": position, "facing": facing, **common})
    other = Hand(3, start={"position": position[order], "facing": facing[order], **common})
    for _ in range(40):
        actions = np.stack([random_action(one, seat, generator) for seat in range(3)])
        one.step(actions)
        other.step(actions[order])
        for name, spec in one.game.rules.fields.items():
            mine, theirs = getattr(one.state, name)[0], getattr(other.state, name)[0]
            np.testing.assert_array_equal(mine[order] if spec.shape[:1] == (3,) else mine, theirs, err_msg=name)
    assert one.state.taken.sum() > 4000, "they fought"


def random_action(hand, seat, generator):
    parts = np.split(hand.mask(seat), hand.offsets[1:])
    return np.array([generator.choice(np.flatnonzero(part)) for part in parts])
