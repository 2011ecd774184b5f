"""Columns of seats: decisions, rewards and ends of each seat, against a plain walk through the moves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from games.nim import matching, nim

from ludory.agents.networks.build import build_policy, complete, parse_policy
from ludory.algorithms.sampling.lanes import make_lanes
from ludory.algorithms.sampling.rollout import by_seat, own_rewards, seat_index
from ludory.algorithms.sampling.sampler import Sampler
from ludory.envs.make import make_engine, make_game


def sampler_of(game, games=6, seats="auto", policy="gru(hidden=(8,), memory_size=5)", seed=1):
    game = make_game(game)
    engine = make_engine(game, games, seed=seed)
    torch.manual_seed(seed)
    policy = build_policy(complete(parse_policy(policy), {}), game.facts)
    torch.nn.init.normal_(policy.logits.weight, 0, 0.5)
    return Sampler(make_lanes(game, engine, seats, "random")), policy, torch.Generator().manual_seed(seed)


def test_every_decision_stands_once_in_the_column_of_its_seat():
    seats = torch.from_numpy(np.random.default_rng(0).integers(0, 3, (20, 7)))
    index = seat_index(seats, 3)
    for column in range(21):
        rows = index.rows[index.valid[:, column], column]
        expected = [t * 7 + column // 3 for t in range(20) if seats[t, column // 3] == column % 3]
        assert rows.tolist() == expected
        assert not index.valid[len(expected) :, column].any()


@pytest.mark.parametrize("game", ["HanabiTiny2P-v0", "HanabiSmall3P-v0"])
def test_unrolling_a_column_gives_what_the_policy_said_when_it_played(game):
    sampler, policy, generator = sampler_of(game)
    for _ in range(3):  # memories come in from the rollout before, games end in the middle
        rollout, _ = sampler.collect(policy, 25, generator)
        columns, _ = by_seat(rollout, sampler.lanes.facts.players)
        output = policy.unroll(columns.observations, columns.memory, columns.starts, columns.seats)
        torch.testing.assert_close(output.values[columns.valid], columns.values[columns.valid], rtol=1e-4, atol=1e-5)
        assert columns.valid.sum() == 25 * 6


def walk(seats, rewards, ends, cuts, values, players):
    """(t, b) -> reward, terminated, truncated, value of the successor (None: not known yet), move by move."""
    found = {}
    for b in range(seats.shape[1]):
        for s in range(players):
            at = [t for t in range(len(seats)) if seats[t, b] == s]
            for t in at:
                total, end, after = 0.0, None, None
                for u in range(t, len(seats)):
                    if u > t and seats[u, b] == s:
                        after = values[u, b]
                        break
                    total += rewards[u, b, s]
                    if ends[u, b]:
                        end = ends[u, b]
                        after = cuts[u, b, s] if end == 2 else 0.0
                        break
                found[t, b] = total, end == 1, end == 2, after
    return found


def test_own_rewards_are_those_of_a_walk_through_the_moves():
    sampler, policy, generator = sampler_of(
        nim(players=3, limit=4, heaps=2), games=9, seats="all", policy="mlp(hidden=(8,))"
    )
    kept = {}
    plain = own_rewards

    def spy(rollout, rewards, cut_values, players):
        kept.update(rollout=rollout, rewards=rewards, cuts=cut_values)
        return plain(rollout, rewards, cut_values, players)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ludory.algorithms.sampling.sampler.own_rewards", spy)
        columns, _ = sampler.collect(policy, 30, generator)
    moves = kept["rollout"]
    ends = moves.terminated.int() + 2 * (moves.truncated & ~moves.terminated).int()
    assert {1, 2} <= set(ends.unique().tolist())
    expected = walk(moves.seats, kept["rewards"], ends.numpy(), kept["cuts"], moves.values, 3)
    index = seat_index(moves.seats, 3)
    for column in range(columns.rewards.shape[1]):
        for k in range(int(index.valid[:, column].sum())):
            t, b = divmod(int(index.rows[k, column]), 9)
            reward, terminated, truncated, after = expected[t, b]
            assert columns.valid[k, column] == (after is not None)
            if after is not None:
                assert columns.rewards[k, column] == pytest.approx(float(reward))
                assert (columns.terminated[k, column], columns.truncated[k, column]) == (terminated, truncated)
                if not terminated:
                    assert columns.next_values[k, column] == pytest.approx(float(after), abs=1e-6)


def test_seats_that_move_at_once_are_lanes_of_their_own():
    sampler, policy, generator = sampler_of(matching(), games=4, seats="all", policy="mlp(hidden=(8,))")
    players = sampler.lanes.facts.players
    rollout, _ = sampler.collect(policy, 10, generator)
    assert rollout.actions.shape[:2] == (10, 4 * players)
    assert rollout.seats[0].tolist() == list(range(players)) * 4
