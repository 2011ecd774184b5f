"""The tracker agrees with the simulator's truth at every decision of the recorded battles, for all that the seat may know."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from support.pokemon_battles import decisions, recorded_battles
from support.pokemon_parity import differences

from ludory.envs.pokemon.tracker import Tracker

BATTLES = range(100)


@pytest.mark.parametrize("index", BATTLES)
def test_what_a_seat_knows_is_true(index: int) -> None:
    battle = recorded_battles()[index]
    for seat in (0, 1):
        tracker = Tracker(battle["gen"], seat, strict=True)
        for lines, _, truth in decisions(battle, seat):
            tracker.feed_all(lines)
            assert differences(tracker.snapshot(), truth, seat) == []
        tracker.feed_all(battle["seats"][seat]["stream"][battle["seats"][seat]["decisions"][-1]["at"] :])
        assert tracker.unknown == []
        assert tracker.winner is not None


@pytest.mark.parametrize("index", range(0, 100, 11))
def test_a_snapshot_is_what_a_fresh_tracker_knows(index: int) -> None:
    battle = recorded_battles()[index]
    stream = battle["seats"][1]["stream"]
    tracker, snapshots = Tracker(battle["gen"], 1), []
    for lines, decision, _ in decisions(battle, 1):
        tracker.feed_all(lines)
        snapshots.append((decision["at"], tracker.snapshot()))
    for at, snapshot in snapshots:
        fresh = Tracker(battle["gen"], 1)
        fresh.feed_all(stream[:at])
        assert fresh.snapshot() == snapshot


def test_a_snapshot_does_not_change_later() -> None:
    battle = recorded_battles()[3]
    tracker = Tracker(battle["gen"], 0)
    kept = []
    for lines, _, _ in decisions(battle, 0):
        tracker.feed_all(lines)
        snapshot = tracker.snapshot()
        kept.append((snapshot, copy.deepcopy(snapshot)))
    assert all(snapshot == before for snapshot, before in kept)


def test_a_copy_goes_its_own_way() -> None:
    battle = recorded_battles()[3]
    tracker = Tracker(battle["gen"], 0)
    parts = list(decisions(battle, 0))
    for lines, _, _ in parts[:5]:
        tracker.feed_all(lines)
    twin = tracker.copy()
    before = tracker.snapshot()
    for lines, _, _ in parts[5:]:
        twin.feed_all(lines)
    assert tracker.snapshot() == before
    for lines, _, _ in parts[5:]:
        tracker.feed_all(lines)
    assert tracker.snapshot() == twin.snapshot()
    assert np.array_equal(tracker.state, twin.state)


@pytest.mark.parametrize("index", range(0, 100, 9))
def test_a_spectator_reads_both_sides(index: int) -> None:
    """Protocol lines of one seat, as a spectator and from the other chair: the same battle with the sides exchanged."""
    battle = recorded_battles()[index]
    lines = [line for line in battle["seats"][0]["stream"] if not line.startswith("R{")]
    spectator, chair = Tracker(battle["gen"], None, strict=True), Tracker(battle["gen"], 1, strict=True)
    spectator.feed_all(lines)
    chair.feed_all(lines)
    one, two = spectator.snapshot(), chair.snapshot()
    assert one.own.pokemon == two.foe.pokemon
    assert one.foe.pokemon == two.own.pokemon
    assert one.own.conditions == two.foe.conditions
    assert one.winner == two.winner
