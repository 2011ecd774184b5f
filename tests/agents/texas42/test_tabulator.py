"""The tabulator of Texas 42 against recorded numbers of states and values, and against the solver."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden_texas42 import load

from ludory.agents.texas42.solver.solver import Solver, positions
from ludory.agents.texas42.solver.states import OpenState, pack, root, unpack
from ludory.agents.texas42.solver.tabulator import Tabulation
from ludory.envs.texas42.tiles import mask_of
from ludory.errors import OptionError


@pytest.mark.slow
def test_reachable_states_and_their_values():
    states = defaultdict(list)
    for row in load("shard_states.parquet"):
        states[row["seed"]].append(row)
    for row in load("shard_counts.json"):
        deal = [tile for hand in row["deal"] for tile in hand]
        table = Tabulation(deal, row["decl"])
        assert table.states_per_level[::-1].tolist() == row["states_per_level"]
        assert table.states == row["states"]
        value, q = table.root()
        assert (value, q.tolist()) == (row["root_v"], row["root_q"])
        rows = states[row["seed"]]
        values, q = table.look_up([state["state"] for state in rows])
        assert values.tolist() == [state["V"] for state in rows]
        assert q.tolist() == [[state[f"q{k}"] for k in range(7)] for state in rows]


def test_the_solver_agrees_on_states_within_tricks():
    deals = {row["seed"]: row["deal"] for row in load("shard_counts.json")}
    solver = Solver()
    for row in load("shard_states.parquet")[::11]:
        hands, state = deals[row["seed"]], unpack(row["state"])
        held = [mask_of(t for k, t in enumerate(hand) if state.held[s] >> k & 1) for s, hand in enumerate(hands)]
        trick = [hands[(state.leader + k) % 4][local] for k, local in enumerate(state.trick)]
        if any(held):
            values, q = solver.q_values(positions(held, row["decl"], state.leader, trick))
            assert values[0] == row["V"]
            assert q[0, hands[state.to_move]].tolist() == [row[f"q{k}"] for k in range(7)]


@pytest.mark.slow
@pytest.mark.parametrize("leader", [1, 2])
def test_any_seat_may_lead(leader):
    rows = [r for r in load("full_deals.parquet") if r["leader"] == leader and r["decl"] == 6][:1]
    for row in rows:
        value, q = Tabulation(row["deal"], row["decl"], leader).root()
        assert (value, q.tolist()) == (row["v"], row["q"])


@given(
    st.tuples(*[st.integers(0, 127)] * 4),
    st.integers(0, 3),
    st.lists(st.integers(0, 6), max_size=3).map(tuple),
)
def test_states_are_packed_without_loss(held, leader, trick):
    state = OpenState(held, leader, trick)
    assert unpack(pack(state)) == state
    assert 0 <= pack(state) < 1 << 41


def test_the_root_is_all_ones_and_no_trick():
    assert root(0) == (1 << 28) - 1 | 7 << 32 | 7 << 35 | 7 << 38


def test_declarations_without_points_are_refused():
    with pytest.raises(OptionError, match=r"must be 0\.\.9"):
        Tabulation(range(28), 10)
