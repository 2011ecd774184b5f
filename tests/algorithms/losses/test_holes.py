"""Rows in which a seat waits: its rewards, its end and its next value belong to the decision before."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch
from games.elimination import STANDOFF
from games.external import relay
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.agents.networks.layers.distribution import MaskedHeads
from ludory.algorithms.losses.returns import Steps, close_holes, gae, td_lambda, upgo, vtrace
from ludory.algorithms.ppo import PPO
from ludory.algorithms.sampling.rollout import Rollout
from ludory.algorithms.vtrace import VTrace
from ludory.algorithms.vtrace.config import LossWeights
from ludory.algorithms.vtrace.loss import actor_critic_loss

pytestmark = pytest.mark.plain
GOLDEN = Path(__file__).parents[2] / "golden" / "returns" / "returns.npz"
EXACT = {"rtol": 0, "atol": 1e-10}
FLOATS, FLAGS = ("rewards", "values", "next_values"), ("terminated", "truncated", "valid")


def column(rewards, decided, values=None, next_values=None, **ends) -> tuple[Steps, torch.Tensor]:
    """One column from lists; `terminated=2` ends the game in row 2."""
    length = len(rewards)
    flags = {name: torch.zeros(length, 1, dtype=torch.bool) for name in ("terminated", "truncated")}
    for name, row in ends.items():
        flags[name][row] = True
    zero = [0.0] * length
    floats = (
        torch.tensor(part, dtype=torch.float64).unsqueeze(1) for part in (rewards, values or zero, next_values or zero)
    )
    return Steps(*floats, **flags), torch.tensor(decided, dtype=torch.bool).unsqueeze(1)


def advantages(steps, decided, gamma=1.0, lam=1.0, **options) -> list[float]:
    closed, index = close_holes(steps, decided, gamma=gamma, **options)
    return index.scatter(gae(closed, gamma=index.gamma, lam=lam).advantages).squeeze(1).tolist()


def test_a_reward_after_a_hole_reaches_the_decision_before_it():
    assert advantages(*column([0, 0, 1], [1, 0, 1], terminated=2)) == [1, 0, 1]


def test_a_game_that_ends_while_the_seat_waits_ends_at_its_last_decision():
    assert advantages(*column([0, -1], [1, 0], terminated=1)) == [-1, 0]
    assert advantages(*column([0, -1, 5], [1, 0, 1], terminated=1)) == [-1, 0, 5]


def test_a_game_cut_off_in_a_hole_bootstraps_from_its_final_observation():
    steps, decided = column([0, 0, 0], [1, 0, 1], next_values=[7, 3, 0], truncated=1, terminated=2)
    assert advantages(steps, decided) == [3, 0, 0]


def test_the_value_of_a_decisions_successor_is_that_of_the_next_decision():
    steps, decided = column([0, 0, 1], [1, 0, 1], values=[0, 100, 2], next_values=[100, 100, 0], terminated=2)
    assert advantages(steps, decided, lam=0.0) == [2, 0, -1]


def test_a_hole_at_the_end_of_a_column_bootstraps_as_its_last_row_does():
    assert advantages(*column([0, 1, 1], [1, 0, 0], next_values=[9, 9, 4])) == [6, 0, 0]


def test_rewards_before_the_first_decision_go_to_nobody():
    assert advantages(*column([5, 1, 5, 1], [0, 1, 0, 1], terminated=1)) == [0, 1, 0, 1]


def test_discount_runs_per_decision_or_per_step():
    steps, decided = column([0, 1, 1, 1], [1, 0, 0, 1], terminated=3)
    assert advantages(steps, decided, gamma=0.5) == [2.5, 0, 0, 1]
    assert advantages(steps, decided, gamma=0.5, discount_per="step") == [0.5 + 0.25 + 0.125, 0, 0, 1]


def test_padding_cuts_where_a_hole_does_not():
    steps, decided = column([0, 0, 0, 1], [1, 0, 0, 1], next_values=[9, 5, 9, 0], terminated=3)
    valid = torch.tensor([[True], [True], [False], [True]])
    assert advantages(steps._replace(valid=valid), decided) == [5, 0, 0, 1]


def test_steps_without_a_hole_are_returned_as_they_are():
    steps, decided = column([1, 2, 3], [1, 1, 1])
    for given_ in (decided, None):
        closed, index = close_holes(steps, given_)
        assert closed is steps
        assert index.gather(steps.rewards) is steps.rewards
        assert index.scatter(steps.rewards) is steps.rewards


def random_steps(seed: int, length: int, columns: int) -> tuple[Steps, torch.Tensor]:
    draw = np.random.default_rng(seed)
    shape = length, columns
    terminated, truncated, valid, decided = draw.random((4, *shape)) < np.array([0.1, 0.1, 0.9, 0.6]).reshape(4, 1, 1)
    floats = draw.normal(size=(3, *shape))
    floats[2][terminated] = np.nan
    floats[:, ~valid] = np.nan
    return Steps(*map(torch.from_numpy, (*floats, terminated, truncated & ~terminated, valid))), torch.from_numpy(
        decided
    )


def played(steps: Steps, decided: torch.Tensor, b: int) -> list[tuple[int, float, float | None, bool, int]]:
    """The decisions of a column by a walk: row, reward per unit of discount, value after it (None: the end), cut, rows waited."""
    rewards, values, after, terminated, truncated, valid = (part[:, b].numpy() for part in steps)
    acts, found = (valid & decided[:, b].numpy()), []
    for t in np.flatnonzero(acts):
        total, u = rewards[t], t
        while not (terminated[u] or truncated[u]) and u + 1 < len(acts) and valid[u + 1] and not acts[u + 1]:
            u += 1
            total += rewards[u]
        cut = terminated[u] or truncated[u] or u + 1 == len(acts) or not valid[u + 1]
        value = None if terminated[u] else after[u] if cut or u == t else values[u + 1]
        found.append((int(t), total, value, cut, int(u - t)))
    return found


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 4), st.sampled_from([0.0, 0.9, 1.0]))
def test_advantages_are_those_of_a_walk_from_decision_to_decision(seed, length, columns, lam):
    steps, decided = random_steps(seed, length, columns)
    closed, index = close_holes(steps, decided, gamma=0.95)
    found = index.scatter(gae(closed, gamma=index.gamma, lam=lam).advantages).numpy()
    expected = np.zeros_like(found)
    for b in range(columns):
        following = 0.0
        for t, reward, after, cut, _ in reversed(played(steps, decided, b)):
            delta = reward + 0.95 * (after or 0.0) - float(steps.values[t, b])
            expected[t, b] = following = delta + (0.0 if cut else 0.95 * lam * following)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 30))
def test_a_column_without_holes_comes_back_bit_for_bit_beside_one_with_holes(seed, length):
    steps, decided = random_steps(seed, length, 3)
    decided[:, 1] = True
    closed, index = close_holes(steps, decided)
    for before, after in zip(steps, closed, strict=True):
        assert before[:, 1].numpy().tobytes() == after[:, 1].numpy().tobytes()
    rows = torch.arange(length * 3).view(length, 3)
    assert torch.equal(index.scatter(index.gather(rows)), rows)
    assert torch.equal(closed.valid.sum(0), (steps.valid & decided).sum(0))


def tables() -> dict[str, dict[str, np.ndarray]]:
    cases: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    with np.load(GOLDEN) as archive:
        for key in archive.files:
            case, name = key.split("/", 1)
            cases[case][name] = archive[key]
    return cases


def torn(
    case: dict[str, np.ndarray], draw: np.random.Generator
) -> tuple[Steps, torch.Tensor, torch.Tensor, np.ndarray]:
    """A table's steps and log-ratios with up to two rows of waiting behind every row; and where its rows are now.

    A decision's reward and its end come in the last of these rows; what stands in the others' values may be anything.
    """
    length, columns = case["rewards"].shape
    waited = draw.integers(0, 3, (length, columns))
    if columns > 1:
        waited[:, 0] = 0  # one column stays whole
    waited = np.where(case["valid"], waited, 0)
    places = np.arange(length)[:, None] + np.concatenate([np.zeros((1, columns), int), waited.cumsum(0)[:-1]])
    tall = int((places + waited).max()) + 1
    parts = {name: draw.normal(size=(tall, columns)) * 100 for name in ("values", "next_values", "log_rhos")}
    parts |= {"rewards": np.zeros((tall, columns))} | {
        name: np.zeros((tall, columns), bool) for name in (*FLAGS, "decided")
    }
    for t, b in np.ndindex(length, columns):
        first, last = places[t, b], places[t, b] + waited[t, b]
        parts["valid"][first : last + 1, b] = case["valid"][t, b]
        parts["decided"][first, b] = True
        parts["values"][first, b] = case["values"][t, b]
        parts["log_rhos"][first, b] = case["logp_target"][t, b] - case["logp_behaviour"][t, b]
        for name in ("rewards", "next_values", "terminated", "truncated"):
            parts[name][last, b] = case[name][t, b]
    tensors = {name: torch.from_numpy(part) for name, part in parts.items()}
    return Steps(*(tensors[name] for name in Steps._fields)), tensors["decided"], tensors["log_rhos"], places


@pytest.mark.parametrize("name", tables())
def test_every_table_of_returns_survives_holes_torn_into_it(name):
    case = tables()[name]
    steps, decided, log_rhos, places = torn(case, np.random.default_rng(1))
    gamma, lam = float(case["gamma"]), float(case["lam"])
    bars = {bar: float(case[bar]) for bar in ("rho_bar", "c_bar", "pg_rho_bar")}
    closed, index = close_holes(steps, decided, gamma=gamma)
    corrected = vtrace(closed, index.gather(log_rhos), gamma=gamma, lam=lam, **bars)
    found = {
        "vtrace_vs": corrected.vs,
        "vtrace_pg_adv": corrected.pg_advantages,
        "td_lambda": td_lambda(closed, gamma=gamma, lam=lam),
        "gae_adv": gae(closed, gamma=gamma, lam=lam).advantages,
        "upgo_adv": upgo(closed, index.gather(log_rhos), gamma=gamma).advantages,
    }
    valid, columns = case["valid"], np.arange(case["valid"].shape[1])
    for what, ours in found.items():
        np.testing.assert_allclose(
            index.scatter(ours).numpy()[places, columns][valid], case[what][valid], err_msg=what, **EXACT
        )


def test_advantages_of_tokens_are_those_over_the_written_tokens_alone():
    """A prompt, an answer, text of the environment, an answer; the reward of each turn on its last written token."""
    written = np.array([0, 0, 1, 1, 1, 0, 0, 0, 1, 1], bool)
    rewards = np.array([0, 0, 0, 0, 0.5, 0, 0, 0, 0, 1.0])
    values = np.arange(10) / 10
    steps, decided = column(
        rewards.tolist(), written.tolist(), values.tolist(), [*values[1:].tolist(), 0.0], terminated=9
    )
    own = np.flatnonzero(written)
    following, expected = 0.0, np.zeros(10)
    for k in reversed(range(len(own))):
        after = values[own[k + 1]] if k + 1 < len(own) else 0.0
        expected[own[k]] = following = rewards[own[k]] + after - values[own[k]] + 0.9 * following
    np.testing.assert_allclose(advantages(steps, decided, lam=0.9), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decided": torch.ones(3, 1)}, r"decided is torch\.float32 \(3, 1\)"),
        ({"decided": torch.ones(2, 1, dtype=torch.bool)}, r"decided is torch\.bool \(2, 1\)"),
        ({"gamma": 1.5}, r"gamma=1\.5"),
        ({"discount_per": "row"}, "discount_per='row': must be 'decision' or 'step'"),
    ],
    ids=["dtype", "shape", "gamma", "discount_per"],
)
def test_wrong_inputs_are_named(change, message):
    steps, decided = column([0, 0, 0], [1, 0, 1])
    with pytest.raises(ValueError, match=message):
        close_holes(steps, **{"decided": decided} | change)


def test_the_actor_critic_loss_of_a_batch_with_holes_is_that_of_its_decisions_alone():
    steps, decided = column([0, 5, 0, 1], [1, 0, 0, 1], values=[1, 9, 9, 2], next_values=[9, 9, 2, 0], terminated=3)
    alone, _ = column([5, 1], [1, 1], values=[1, 2], next_values=[2, 0], terminated=1)
    draw = torch.Generator().manual_seed(0)
    logits, log_behaviour = (torch.randn(4, 1, n, generator=draw, dtype=torch.float64) for n in (3, 1))

    def loss(steps, rows, decided):
        policy = MaskedHeads(logits[rows], torch.ones(len(rows), 1, 3, dtype=torch.bool), (3,))
        actions = torch.ones(len(rows), 1, 1, dtype=torch.int64)
        used = torch.ones(len(rows), 1, 1, dtype=torch.bool)
        inputs = steps.values, steps, actions, log_behaviour[rows], used, None, LossWeights(c_entropy=0.1)
        return actor_critic_loss(policy, *inputs, decided=decided)[:6]

    torch.testing.assert_close(loss(steps, [0, 1, 2, 3], decided), loss(alone, [0, 3], None), **EXACT)


SMALL = {"num_envs": 8, "n_steps": 13, "seats": "all", "hidden": (8,), "seed": 1}


@pytest.mark.parametrize("kind", [PPO, VTrace])
@pytest.mark.parametrize("policy", ["mlp", "gru(hidden=(8,), memory_size=8)"])
def test_algorithms_learn_from_the_decisions_of_seats_that_wait(kind, policy):
    options = SMALL | ({} if policy == "mlp" else {"hidden": ()}) | {"discount_per": "step", "gamma": 0.9}
    model, lines = kind(policy, relay(), **options), []
    model.logger.dump = lambda step: lines.append(dict(model.logger.name_to_value))
    model.learn(200)
    assert all(torch.isfinite(p).all() for p in model.policy.parameters())
    # In a column of the second seat, the first seat's point of round 0 comes before its own first decision.
    assert max(line["rollout/unclaimed_rewards"] for line in lines) > 0


def test_only_decisions_are_counted_and_learnt_from():
    model = PPO("mlp", relay(), **SMALL)
    rollout, _ = model.sampler.collect(model.policy, 13, model.generator)
    assert torch.equal(rollout.decided.sum(0), torch.tensor([5, 4]).repeat(8))
    assert model.sampler.decisions_per_step == 8  # round 12 is the first of the third game
    update = model._update(rollout, rollout.values, rollout.values)
    assert update.count == 8 * 9


@pytest.mark.parametrize("kind", [PPO, VTrace])
def test_a_rollout_in_which_nobody_decides_is_skipped(kind, caplog):
    model = kind("mlp", relay(), **SMALL | {"n_steps": 2, "gamma": 1.0})
    plain = model.sampler.collect

    def waiting(*arguments):
        rollout, stats = plain(*arguments)
        return rollout._replace(decided=torch.zeros_like(rollout.decided)), stats

    model.sampler.collect = waiting
    before = model.policy.logits.weight.clone()
    model.learn(16)
    assert torch.equal(model.policy.logits.weight, before)
    assert "every seat waited" in caplog.text


def test_where_nobody_waits_there_is_no_column():
    model = PPO("mlp(hidden=(8,))", STANDOFF, num_envs=4, n_steps=4, seats="all")
    rollout, _ = model.sampler.collect(model.policy, 4, model.generator)
    assert rollout.decided is None
    assert rollout.learnt is rollout.valid
    assert rollout.faults() == {}


def test_rewards_before_the_first_decision_of_a_game_are_counted():
    steps, decided = column([1, 1, 0, 1, 1, 1], [0, 1, 0, 0, 0, 1], terminated=3)
    starts = torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.bool).unsqueeze(1)
    fields = dict.fromkeys(Rollout._fields[:11], torch.zeros(0))
    ends = {"terminated": steps.terminated, "truncated": steps.truncated}
    rollout = Rollout(**fields | ends | {"rewards": steps.rewards, "starts": starts}, decided=decided)
    assert rollout.unclaimed_rewards() == 2
    carried = rollout._replace(starts=starts & (torch.arange(6).unsqueeze(1) > 0))
    assert carried.unclaimed_rewards() == 1  # the first row may belong to a decision of the rollout before
