"""Returns against the obvious loop, and the properties that define them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.algorithms.losses.returns import (
    Steps,
    affine_scan,
    gae,
    monte_carlo,
    n_step,
    normalise,
    td_lambda,
    upgo,
    vtrace,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "returns" / "returns.npz"
EXACT, ROUNDED = {"rtol": 0, "atol": 1e-10}, {"rtol": 1e-5, "atol": 2e-5}


def load_cases(path: Path) -> dict[str, dict[str, np.ndarray]]:
    cases: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    with np.load(path) as archive:
        for key in archive.files:
            case, name = key.split("/", 1)
            cases[case][name] = archive[key]
    return cases


CASES = load_cases(GOLDEN)


def case_of(name: str, dtype: torch.dtype) -> tuple[Steps, torch.Tensor, dict[str, np.ndarray]]:
    """Steps with NaN where next_values must not be read, log-ratios, and the whole case."""
    case = CASES[name]
    fields = {field: torch.from_numpy(case[field]) for field in Steps._fields}
    steps = Steps(**{k: v.to(dtype) if v.is_floating_point() else v for k, v in fields.items()})
    steps.next_values[steps.terminated] = torch.nan
    return steps, torch.from_numpy(case["logp_target"] - case["logp_behaviour"]).to(dtype), case


@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, EXACT), (torch.float32, ROUNDED)], ids=["f64", "f32"])
@pytest.mark.parametrize("name", CASES)
def test_every_table(name, dtype, close):
    steps, log_rhos, case = case_of(name, dtype)
    gamma, lam = float(case["gamma"]), float(case["lam"])
    bars = {bar: float(case[bar]) for bar in ("rho_bar", "c_bar", "pg_rho_bar")}
    paper, mixed = (vtrace(steps, log_rhos, gamma=gamma, lam=lam, **bars, pg_lambda=flag) for flag in (False, True))
    advantage, up = gae(steps, gamma=gamma, lam=lam), upgo(steps, log_rhos, gamma=gamma)
    lam_t = torch.from_numpy(case["lam_t"]).to(dtype)
    found = {
        "vtrace_vs": paper.vs,
        "vtrace_pg_adv": paper.pg_advantages,
        "vtrace_pg_adv_lam": mixed.pg_advantages,
        "td_lambda": td_lambda(steps, gamma=gamma, lam=lam),
        "td_lambda_t": td_lambda(steps, gamma=gamma, lam=lam_t),
        "monte_carlo": monte_carlo(steps, gamma=gamma),
        "gae_adv": advantage.advantages,
        "gae_returns": advantage.returns,
        "gae_adv_normalised": normalise(advantage.advantages, steps.valid),
        "upgo": up.returns,
        "upgo_adv": up.advantages,
    } | {f"n_step_{n}": n_step(steps, n, gamma=gamma) for n in (1, 2, 3, 5)}
    for what, ours in found.items():
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours[steps.valid].numpy(), case[what][case["valid"]], err_msg=what, **close)
        outside = ours[~steps.valid]
        assert torch.equal(outside, torch.zeros_like(outside) if "adv" in what else steps.values[~steps.valid])


def loop_gae(rewards, values, next_values, terminated, truncated, valid, gamma, lam):
    """Backwards in time, one number at a time."""
    steps, columns = rewards.shape
    advantages = np.zeros_like(rewards)
    for b in range(columns):
        following = 0.0
        for t in reversed(range(steps)):
            if not valid[t, b]:
                following = 0.0
                continue
            cut = terminated[t, b] or truncated[t, b] or t == steps - 1 or not valid[t + 1, b]
            successor = 0.0 if terminated[t, b] else next_values[t, b]
            delta = rewards[t, b] + gamma * successor - values[t, b]
            following = delta + (0.0 if cut else gamma * lam * following)
            advantages[t, b] = following
    return advantages


def example(seed: int, steps: int, columns: int) -> dict[str, torch.Tensor]:
    draw = np.random.default_rng(seed)
    terminated = draw.random((steps, columns)) < 0.1
    truncated = ~terminated & (draw.random((steps, columns)) < 0.1)
    numbers = {name: draw.normal(size=(steps, columns)) for name in ("rewards", "values", "next_values")}
    numbers["next_values"][terminated] = np.nan  # never to be read
    flags = {"terminated": terminated, "truncated": truncated, "valid": draw.random((steps, columns)) < 0.9}
    return {name: torch.from_numpy(array) for name, array in (numbers | flags).items()}


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 5), st.sampled_from([0.0, 0.9, 1.0]), st.floats(0, 1))
def test_gae_equals_the_loop(seed, steps, columns, gamma, lam):
    data = example(seed, steps, columns)
    result = gae(Steps(**data), gamma=gamma, lam=lam)
    expected = loop_gae(*(data[name].numpy() for name in data), gamma, lam)
    np.testing.assert_allclose(result.advantages.numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(result.returns.numpy(), expected + data["values"].numpy(), atol=1e-12)


def test_two_episodes_in_one_column_equal_two_columns():
    data = example(3, 20, 1)
    data["terminated"][:], data["truncated"][:], data["valid"][:] = False, False, True
    data["next_values"] = torch.nan_to_num(data["next_values"])
    data["terminated"][9] = True
    whole = gae(Steps(**data), gamma=0.9, lam=0.8).advantages
    parts = [
        gae(Steps(**{k: v[s] for k, v in data.items()}), gamma=0.9, lam=0.8).advantages
        for s in (slice(10), slice(10, 20))
    ]
    torch.testing.assert_close(whole, torch.cat(parts), rtol=0, atol=1e-12)


def test_lam_one_without_values_gives_the_discounted_sum_of_rewards():
    rewards = torch.tensor([[1.0], [2.0], [4.0]])
    zero, no = torch.zeros(3, 1), torch.zeros(3, 1, dtype=torch.bool)
    ended = torch.tensor([[False], [False], [True]])
    assert gae(Steps(rewards, zero, zero, ended, no), gamma=0.5, lam=1.0).returns.flatten().tolist() == [3.0, 4.0, 4.0]


@pytest.mark.parametrize("steps", [1, 2, 7, 8, 33])
def test_affine_scan_solves_its_recurrence(steps):
    draw = torch.Generator().manual_seed(steps)
    b, k = (torch.rand(steps, 3, generator=draw, dtype=torch.float64) for _ in range(2))
    x = affine_scan(b, k)
    after = torch.cat([x[1:], torch.zeros(1, 3, dtype=torch.float64)])
    torch.testing.assert_close(x, b + k * after, rtol=0, atol=1e-12)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 4), st.floats(0, 1), st.floats(0, 1))
def test_on_policy_vtrace_is_td_lambda_and_gae_plus_values(seed, steps, columns, gamma, lam):
    data = Steps(**example(seed, steps, columns))
    inside = ~(data.terminated | data.truncated)[:-1] & data.valid[1:]
    data.next_values[:-1] = torch.where(inside, data.values[1:], data.next_values[:-1])  # the true successor
    returns = td_lambda(data, gamma=gamma, lam=lam)
    on_policy = torch.zeros_like(data.rewards)
    for same in (vtrace(data, on_policy, gamma=gamma, lam=lam).vs, gae(data, gamma=gamma, lam=lam).returns):
        torch.testing.assert_close(same[data.valid], returns[data.valid], rtol=0, atol=1e-10)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 30))
def test_one_step_is_td_zero_and_many_steps_are_monte_carlo(seed, steps):
    data = Steps(**example(seed, steps, 3))
    for one, other in (
        (n_step(data, 1, gamma=0.9), td_lambda(data, gamma=0.9, lam=0.0)),
        (n_step(data, steps, gamma=0.9), monte_carlo(data, gamma=0.9)),
    ):
        torch.testing.assert_close(one[data.valid], other[data.valid], rtol=0, atol=1e-10)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(2, 30))
def test_nothing_in_invalid_rows_matters(seed, steps):
    data = Steps(**example(seed, steps, 3))
    log_rhos = torch.randn(steps, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    noise = {
        name: torch.where(data.valid, getattr(data, name), torch.nan) for name in ("rewards", "values", "next_values")
    }
    spoiled = data._replace(**noise), torch.where(data.valid, log_rhos, torch.nan)
    for function in (lambda s, r: vtrace(s, r, gamma=0.9, lam=0.7).vs, lambda s, r: upgo(s, r, gamma=0.9).returns):
        torch.testing.assert_close(function(data, log_rhos)[data.valid], function(*spoiled)[data.valid], rtol=0, atol=0)


def test_half_precision_is_raised_to_float32():
    data = Steps(**example(1, 5, 2))
    low = data._replace(**{name: getattr(data, name).bfloat16() for name in ("rewards", "values", "next_values")})
    assert gae(low, gamma=0.9, lam=0.9).advantages.dtype == torch.float32


def test_wrong_shapes_dtypes_and_numbers_are_named():
    data, ratios = Steps(**example(0, 4, 2)), torch.zeros(4, 2)
    with pytest.raises(ValueError, match="values has shape"):
        gae(data._replace(values=data.values[:3]), gamma=0.9, lam=0.9)
    with pytest.raises(ValueError, match="terminated has dtype"):
        gae(data._replace(terminated=data.values), gamma=0.9, lam=0.9)
    with pytest.raises(ValueError, match=r"lam=1\.5"):
        gae(data, gamma=0.9, lam=1.5)
    with pytest.raises(ValueError, match="n=0"):
        n_step(data, 0, gamma=0.9)
    with pytest.raises(ValueError, match=r"c_bar=2 > rho_bar=1"):
        vtrace(data, ratios, gamma=0.9, rho_bar=1, c_bar=2)
    with pytest.raises(ValueError, match=r"rho_bar=-1"):
        vtrace(data, ratios, gamma=0.9, rho_bar=-1)
    with pytest.raises(ValueError, match=r"log_rhos\[\d, \d\] = nan"):
        upgo(data, ratios * torch.nan, gamma=0.9)
