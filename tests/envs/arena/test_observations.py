"""What a seat of the arena sees, number by number, and what its critic is told."""

from __future__ import annotations

import numpy as np
import pytest
from reference.arena_by_hand import Hand, U, facing_each_other

SEGMENTS = {"self": 22, "zone": 7, "rivals": 15, "crates": 30, "shots": 36, "mines": 6}


def duel(distance, observation, **more):
    return Hand(start=facing_each_other(distance, **more), observation=observation)


def test_ego19_at_the_start():
    seen = duel(6, "ego19", hp=[10_000, 2_500], ammunition=[15, 20], crates=[[0, 0], *[[0, 13 * U]] * 5]).seen(0)
    wall = 15274 * 1.15 / U
    assert seen["self"].tolist() == [1, 1, 0.5, 0, 0]
    assert seen["zone"] == pytest.approx([3 / wall, 0, 1 - 3 / wall, 0], abs=1e-4)
    assert seen["rival"].tolist() == [0.5, 0, 0.25, 0, 0]
    assert seen["crate"].tolist() == [0.25, 0, 1]
    assert seen["threat"].tolist() == [0]
    assert seen["rivals"].tolist() == [1]


def test_ego19_of_a_rival_that_runs_away_behind_a_shield():
    hand = duel(6, "ego19")
    hand.play({}, {"move": (1, 0)})
    assert hand.seen(0)["rival"][4] == 1, "receding at five units a second"
    hand.play({}, {"move": (-1, 0), "ability": "shield"})
    assert hand.seen(0)["rival"][3:] == pytest.approx([1, -0.4])


def test_ego19_shows_nobody_beyond_twelve_units():
    hand = duel(12.01, "ego19")
    assert not hand.seen(0)["rival"].any()
    assert hand.seen(0)["rivals"].tolist() == [1]


def test_ego19_feels_the_side_on_which_a_shot_will_pass():
    for y, sign in ((0.9, -1), (-0.9, 1)):
        hand = duel(8, "ego19")
        hand.state.y[0, 1] = y * U  # the shot flies in -x and passes seat 0 at this height
        hand.play({}, {"fire": True})
        left = (8 * U - 2 * 1600) / 1600
        assert hand.seen(0)["threat"] == pytest.approx([sign * (1 - left / 15)], abs=1e-6)
        assert hand.seen(1)["threat"].tolist() == [0]


def test_seed19_in_raw_units():
    hand = duel(6, "seed19", hp=[5000, 2500], crates=[[0, U], [0, -U], *[[0, 14 * U]] * 4])
    hand.play({"move": (1, 0)})
    seen = np.concatenate(list(hand.seen(0).values()))
    x = -3 + 2 / 3
    expected = [x, 0, 5, 0, 50, 20, 0, 0, 15274 * 1.15 / U, 1, 3, 0, 25, 0, 1, 1, 2, 3 - x, np.hypot(x, 1)]
    assert seen == pytest.approx(expected, abs=2e-3)


def test_segments_of_full():
    hand = duel(6, "full")
    assert {segment.name: segment.length for segment in hand.facts.segments} == SEGMENTS
    assert hand.facts.observation.size == 116
    assert Hand(8, observation="full").facts.observation.size == 101 + 15 * 7


def test_full_of_the_own_body_the_rival_and_mines():
    hand = duel(6, "full", crates=[[-3 * U, 0], *[[0, 13 * U]] * 5])
    hand.play({"ability": "mine", "move": (0, 1)}, {"ability": "nova", "move": (0, -1)})
    own, rival, mines = (hand.seen(0)[name] for name in ("self", "rivals", "mines"))
    assert own[[0, 19, 20, 21]].tolist() == [1, 1, 0.5, 1]
    assert own[9:14].tolist() == pytest.approx([0, 0, 0, 0, 42 / 44])
    assert rival[:2].tolist() == [1, 1]
    assert rival[5:7].tolist() == [0, -0.5]
    assert rival[8:13].tolist() == pytest.approx([0, 0, 4 / 6, 0, 0])
    assert mines == pytest.approx([0, -2 / 3 / 12, 298 / 300, 0, 0, 0], abs=1e-4)
    assert not hand.seen(1)["mines"].any(), "a rival's mines are hidden"


def test_full_lists_the_shots_still_to_pass_first():
    line = [[0, 0], [6 * U, 0], [-8 * U, 0]]
    hand = Hand(3, start={"position": line, "facing": [[0, 1], [0, 1], [1, 0]]}, observation="full")
    hand.play({}, {"fire": True}, {"fire": True})
    hand.play()
    shots = hand.seen(0)["shots"].reshape(6, 6)
    assert shots[:, 0].tolist() == [1, 1, 0, 0, 0, 0]
    assert shots[0, 1:3] == pytest.approx([(-8 + 16 / 3) / 12, 0], abs=1e-3)
    assert shots[0, 3:].tolist() == pytest.approx([1, 0, 8 / 12])
    assert shots[1, 3:5].tolist() == [0, 1]


def test_the_critic_is_told_of_all_seats_the_asking_one_first():
    hand = Hand(3, start={"position": [[-15 * U, 0], [15 * U, 0], [0, 15 * U]]}, observation="full")
    size = hand.facts.observation.size
    out = np.zeros(hand.facts.critic.size, np.float32)
    hand.call("critic", 1, out)
    parts = out.reshape(3, size)
    assert parts[:, 3:5] == pytest.approx(np.array([[15, 0], [0, 15], [-15, 0]]) * U / 21511, abs=1e-4)
    own = np.concatenate(list(hand.seen(1).values()))
    assert parts[0, :22].tolist() == own[:22].tolist()
    assert own[29 + 1] == 0, "nobody in sight"
    assert parts[0, 29 + 1] == 1, "but the critic sees them"
