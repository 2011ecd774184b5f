"""The observation `tactical`: it tells what the scripted styles work out for themselves, and begins with `full`."""

from __future__ import annotations

import numpy as np
import pytest
from reference.arena_by_hand import Hand, U, facing_each_other

from ludory.agents.make import make_agent
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.make import make_game

GAMES, ROUNDS = 32, 60


def test_it_begins_with_full_and_names_its_segments():
    start = facing_each_other(6, crates=[[-3 * U, 0], *[[0, 13 * U]] * 5])
    tactical, full = Hand(start=start, observation="tactical"), Hand(start=start, observation="full")
    seen = tactical.seen(0)
    assert list(seen)[6:] == ["nearest", "rings", "aim", "ways", "near_crates"]
    for name, values in full.seen(0).items():
        assert seen[name].tolist() == values.tolist()


def test_distance_aim_and_ways_by_hand():
    start = facing_each_other(6.25, hp=[10_000, 2_500], crates=[[-3 * U, U], *[[0, 13 * U]] * 5])
    hand = Hand(start=start, observation="tactical")
    seen = hand.seen(0)
    assert seen["nearest"] == pytest.approx([1, 6.25 / 12, 0, 0.25, 0, 0], abs=1e-3)
    assert seen["rings"] == pytest.approx([1] * 6 + [0.25] + [0] * 5, abs=1e-3)
    assert seen["aim"] == pytest.approx([6.25 / 12, 0, 0.25, 0, 0, 1], abs=1e-3)
    assert seen["ways"][:4].tolist() == [1, 0, 1, 0], "straight at the rival"
    assert seen["ways"][4:6].tolist() == [0, 1], "across"
    assert seen["near_crates"][:6] == pytest.approx([1, 0.125 / 12, 1 / 12, 0, 1, 1], abs=5e-3)
    assert not seen["near_crates"][6:].any()


def test_a_rival_out_of_sight_leaves_no_trace():
    seen = Hand(start=facing_each_other(12.01), observation="tactical").seen(0)
    assert not np.concatenate([seen["nearest"], seen["rings"], seen["aim"], seen["ways"][:8]]).any()


@pytest.mark.slow
def test_aim_and_way_are_those_of_the_styles():
    players = 3
    game = make_game(f"Arena{players}P-v0", observation="tactical")
    rusher, engine = make_agent("arena/rusher", game), KernelEngine(game, GAMES, seed=3)
    engine.reset()
    segments = {segment.name: slice(segment.start, segment.start + segment.length) for segment in game.facts.segments}
    rows, compared = np.arange(GAMES), 0
    for _ in range(ROUNDS):
        seen = engine.observe()
        actions = np.stack(
            [rusher.choose(engine, seat, rows, rusher.initial_memory(GAMES)) for seat in range(players)], 1
        )
        for seat in range(players):
            nearest, aim = seen[:, seat, segments["nearest"]], seen[:, seat, segments["aim"]]
            zone, ways = seen[:, seat, segments["zone"]], seen[:, seat, segments["ways"]]
            fights = (nearest[:, 0] == 1) & engine.alive[:, seat].astype(bool)
            compared += int(fights.sum())
            assert (bins(aim[:, 2:4], 9) == actions[:, seat, 2:4])[fights].all()
            assert (aim[:, 5] == 1)[fights & (actions[:, seat, 4] == 1)].all(), "who shoots is on target"
            inside = fights & (zone[:, 3] > 0)
            assert (bins(ways[:, 2:4], 5) == actions[:, seat, :2])[inside].all()
        engine.step(actions)
    assert compared > 500


def bins(centres, number):
    """Bins from their centres in -1 to 1."""
    return np.rint((centres + 1) / 2 * (number - 1)).astype(int)
