"""The exact solver of Texas 42 against recorded values, and against plain minimax on small positions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.golden_texas42 import load

from ludory.agents.texas42.solver.search import twin_of
from ludory.agents.texas42.solver.solver import ILLEGAL, Solver, positions, positions_of, strength_of
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.texas42 import make_play
from ludory.envs.texas42.tiles import COUNT, FOLLOW, HIGH, LED, LOW, RANK, mask_of, tiles_of
from ludory.errors import OptionError


@pytest.fixture(scope="module")
def solver():
    return Solver()


def test_places_are_ordered_as_ranks():
    for decl in range(14):
        table = strength_of(decl)
        assert (table.tile[table.place] == np.arange(28)).all()
        for led in range(28):
            suit, at = int(LED[decl, led]), int(table.place[led])
            ranks = [int(rank) for rank in RANK[decl, suit, table.tile]]  # by place
            able = [place for place in range(28) if int(table.wins[at]) >> place & 1]
            assert able == [place for place in range(28) if ranks[place] > 0]
            assert [ranks[place] for place in able] == sorted(ranks[place] for place in able)
            for place in able:
                level = {p for p in able if int(table.level[place]) >> p & 1}
                assert level == {p for p in able if p > place and ranks[p] == ranks[place]}
            assert int(table.follows[at]) == mask_of(table.place[tiles_of(int(FOLLOW[decl, suit]))])


def whole_deals(rows):
    held = [[mask_of(row["deal"][7 * seat : 7 * seat + 7]) for seat in range(4)] for row in rows]
    leaders = [row["leader"] for row in rows]
    return positions(held, [row["decl"] for row in rows], leaders, bidder=leaders)


@pytest.mark.slow
def test_whole_deals(solver):
    rows = load("full_deals.parquet")
    given = whole_deals(rows)
    values, q = solver.q_values(given)
    assert values.tolist() == [row["v"] for row in rows]
    for k, row in enumerate(rows):
        hand = sorted(row["deal"][7 * row["leader"] :][:7])
        assert q[k, hand].tolist() == row["q"]
        assert (np.delete(q[k], hand) == ILLEGAL).all()
    part = positions(given.held[::4], given.decl[::4], given.leader[::4])
    assert (solver.value(part) == values[::4]).all()


@pytest.mark.slow
def test_making_a_bid_is_what_the_value_says(solver):
    rows = load("full_deals.parquet")[::5]
    given = whole_deals(rows)
    values, q = solver.q_values(given)
    side = np.where(given.bidder % 2 == 0, 1, -1)
    for bid in (30, 36, 42, 84):
        points = (42 + side * values) / 2
        assert (solver.makes(given, bid) == (points >= min(bid, 42))).all()
        after = (42 + side[:, None] * q.astype(int)) / 2
        assert (solver.make_after(given, bid) == ((after >= min(bid, 42)) & (q != ILLEGAL))).all()


@pytest.mark.plain
@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_late_positions(solver, every):
    """At any moment of a trick; the bid is made if the points so far and those to come are enough."""
    for row in load("late_positions.parquet")[::every]:
        given = positions(row["held_masks"], row["decl"], row["leader"], row["trick"], bidder=1)
        values, q = solver.q_values(given)
        assert values[0] == row["v"]
        assert q[0, row["tiles"]].tolist() == row["q"]
    for row in load("late_positions.parquet")[:: 7 * every]:
        given = positions(row["held_masks"], row["decl"], row["leader"], row["trick"], bidder=1)
        left = 42 - row["team0_points"] - row["team1_points"]
        final = row["team1_points"] + (left - row["v"]) / 2
        for bid in (30, 35, 42):
            assert solver.makes(given, bid, row["team1_points"])[0] == (final >= bid)


@pytest.mark.slow
def test_the_teams_change_places_under_rotation(solver):
    given = whole_deals(load("full_deals.parquet")[::37])
    values = solver.value(given)
    for turn, sign in ((1, -1), (2, 1), (3, -1)):
        turned = positions(np.roll(given.held, turn, axis=1), given.decl, (given.leader + turn) % 4)
        assert (solver.value(turned) == sign * values).all()


# --- Plain minimax, with nello and sevens ---------------------------------------------------------------------------------


def plain_value(held, decl, leader, trick, bidder):
    """Minimax by the tables of the rules, memoised; the value as `Solver` has it."""
    nello, sevens = decl in (10, 11, 12), decl == 13
    out, size = (bidder + 2) % 4 if nello else -1, 3 if nello else 4

    def after(seat):
        following = (seat + 1) % 4
        return (following + 1) % 4 if following == out else following

    def worth(plays):
        suit = LED[decl, plays[0][1]]
        winner = max(plays, key=lambda play: RANK[decl, suit, play[1]])[0]
        points = 1 + sum(int(COUNT[tile]) for _, tile in plays)
        if nello or sevens:
            broken = winner == bidder if nello else winner % 2 != bidder % 2
            return winner, int(broken) * (-1 if bidder % 2 == 0 else 1)
        return winner, points if winner % 2 == 0 else -points

    @cache
    def value(hands, plays, seat):
        hand = tiles_of(hands[seat])
        if not hand:
            return 0
        if sevens:
            near = min(abs(HIGH[t] + LOW[t] - 7) for t in hand)
            legal = [t for t in hand if abs(HIGH[t] + LOW[t] - 7) == near]
        else:
            suit = LED[decl, plays[0][1]] if plays else 0
            legal = [t for t in hand if plays and FOLLOW[decl, suit] >> t & 1] or hand
        found = []
        for tile in legal:
            rest = tuple(h & ~(1 << tile) if s == seat else h for s, h in enumerate(hands))
            lying = (*plays, (seat, tile))
            if len(lying) < size:
                found.append(value(rest, lying, after(seat)))
            else:
                winner, points = worth(lying)
                found.append(points + value(rest, (), winner))
        return max(found) if seat % 2 == 0 else min(found)

    plays, seat = [], leader
    for tile in trick:
        plays.append((seat, tile))
        seat = after(seat)
    return value(tuple(int(h) for h in held), tuple(plays), seat)


@pytest.mark.parametrize("decl", [3, 7, 9, 10, 11, 12, 13])
def test_values_are_those_of_plain_minimax(solver, decl):
    """Positions of random games, from the fourth trick on (under sevens, where there is little choice, from the first)."""
    game = make_play(decl=decl, bid=84, reward="make", bidder=1)
    engine = KernelEngine(game, 12, seed=decl)
    engine.reset()
    generator, size, seen = np.random.default_rng(1), 3 if decl in (10, 11, 12) else 4, 0
    for step in range(7 * size - 1):
        if step >= (0 if decl == 13 else 4 * size):
            given = positions_of(engine.state)
            values = solver.value(given)
            for k in range(engine.num_games):
                trick = [tile for tile in given.trick[k].tolist() if tile >= 0]
                assert values[k] == plain_value(given.held[k], decl, int(given.leader[k]), trick, 1)
                seen += values[k] != 0
            if decl >= 10:
                broken = engine.state.tricks[:, 0 if decl == 13 else 1]
                assert (solver.makes(given, 84, broken) == ((values == 0) & (broken == 0))).all()
        legal = engine.legal()
        engine.step(np.where(legal, generator.random(legal.shape), -1).argmax(axis=1))
    assert seen > 10


@pytest.mark.plain
def test_twins_may_change_places():
    """The search leaves out a tile whose twin it tries: with the two exchanged, all tiles left follow and beat each other as before."""
    draw, found = np.random.default_rng(5), 0
    for k in range(2000):
        decl = k % 13
        table, left = strength_of(decl), draw.permutation(28)[: draw.integers(6, 20)].tolist()
        hand = left[:4]
        masks = mask_of(table.place[hand]), mask_of(table.place[left]), 0
        for tile in hand:
            bit = 1 << int(table.place[tile])
            twin = twin_of(bit, *masks, table.follows, table.shared, *map(int, table.counts))
            if not twin:
                continue
            found += 1
            other = int(table.tile[twin.bit_length() - 1])
            assert other in hand
            assert COUNT[tile] == COUNT[other]
            swapped = {one: one for one in left} | {tile: other, other: tile}
            for led in left:
                suit, instead = LED[decl, led], LED[decl, swapped[led]]
                for one in left:
                    assert FOLLOW[decl, suit] >> one & 1 == FOLLOW[decl, instead] >> swapped[one] & 1
                    for two in left:
                        if {one, two} != {tile, other}:
                            before = RANK[decl, suit, one] > RANK[decl, suit, two]
                            assert before == (RANK[decl, instead, swapped[one]] > RANK[decl, instead, swapped[two]])
    assert found > 100


def test_impossible_positions_are_refused():
    with pytest.raises(OptionError, match="two seats hold the same tile"):
        positions([1, 1, 2, 4], 0, 0)
    with pytest.raises(OptionError, match="decl"):
        positions([1, 2, 4, 8], 14, 0)


@pytest.mark.slow
def test_threads_change_nothing():
    given = whole_deals(load("full_deals.parquet")[:48])
    assert (Solver(threads=3).value(given) == Solver(threads=1).value(given)).all()
