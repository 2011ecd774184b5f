"""The observation `evasive`: it begins with `tactical`, and its dangers are the hits that the rules then count."""

from __future__ import annotations

import pytest
from reference.arena_by_hand import Hand, U, facing_each_other

WAYS = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
AIMS = [(-1, 0), (-1, 0.25), (-1, -0.25), (-0.75, 0.25)]


def shot_at(distance: float, aim: tuple[float, float]) -> Hand:
    """Seat 1 has fired at seat 0, and the shot flies."""
    hand = Hand(start=facing_each_other(distance), observation="evasive")
    hand.play({}, {"aim": aim, "fire": True})
    return hand


def test_it_begins_with_tactical_and_names_its_segments():
    start = facing_each_other(6, crates=[[-3 * U, 0], *[[0, 13 * U]] * 5])
    seen = Hand(start=start, observation="evasive").seen(0)
    assert list(seen)[-2:] == ["threat", "dangers"]
    assert not seen["threat"].any(), "no shot flies"
    assert not seen["dangers"].any(), "no shot flies"
    for name, values in Hand(start=start, observation="tactical").seen(0).items():
        assert seen[name].tolist() == values.tolist()


@pytest.mark.parametrize("distance", [4.0, 7.0, 9.5, 11.5])
@pytest.mark.parametrize("aim", AIMS, ids=str)
def test_dangers_are_the_hits_of_a_body_that_goes_on(distance, aim):
    said = shot_at(distance, aim).seen(0)["dangers"].tolist()
    hits = []
    for way in WAYS:
        hand = shot_at(distance, aim)
        for _ in range(6):  # twelve ticks: the shot's life
            hand.play({"move": way}, {})
        hits.append(float(hand.hp()[0] < 100))
    assert said == hits


def test_a_threat_by_hand():
    hand = Hand(start=facing_each_other(8, position=[[-4 * U, 300], [4 * U, 0]]), observation="evasive")
    hand.play({}, {"aim": (-1, 0), "fire": True})
    there, time, miss, *way = hand.seen(0)["threat"].tolist()
    assert there == 1
    flown = 4 * U - float(hand.state.shot_x[0, 1, 0])
    assert time == pytest.approx((8 * U - flown) / 1600 / 12, abs=1e-3)
    assert miss == pytest.approx(300 / (4 * 720), abs=1e-3)
    assert way == pytest.approx([0, 1, 0, 1], abs=1e-3), "out of the line on the side where the seat stands"
    assert not hand.seen(1)["threat"].any(), "one's own shot is none"


def test_a_shot_out_of_sight_is_no_danger():
    hand = Hand(start=facing_each_other(15), observation="evasive")
    hand.play({}, {"aim": (-1, 0), "fire": True})
    assert not hand.seen(0)["dangers"].any()
    assert not hand.seen(0)["threat"].any()
