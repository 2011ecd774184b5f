"""Both implementations of the actor-critic targets: exact on the numeric tables, alike on anything, and with the same refusals."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.algorithms.losses.returns import Steps
from ludory.algorithms.losses.targets import ActorCriticTargets, actor_critic_targets

pytestmark = pytest.mark.plain
GOLDEN = Path(__file__).parents[2] / "golden" / "returns" / "returns.npz"
EXACT, ROUNDED = {"rtol": 0, "atol": 1e-10}, {"rtol": 1e-5, "atol": 2e-5}
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
PLAIN = {"gamma": 0.9, "lam": 0.8}

both = pytest.mark.parametrize("implementation", ["kernel", "scan"])


def load_cases() -> dict[str, dict[str, np.ndarray]]:
    cases: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    with np.load(GOLDEN) as archive:
        for key in archive.files:
            case, name = key.split("/", 1)
            cases[case][name] = archive[key]
    return cases


CASES = load_cases()


@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, EXACT), (torch.float32, ROUNDED)], ids=["f64", "f32"])
@pytest.mark.parametrize(
    ("implementation", "device"),
    [
        ("kernel", "cpu"),
        pytest.param("kernel", "cpu", marks=pytest.mark.slow, id="compiled-cpu"),
        *(("scan", device) for device in DEVICES),
    ],
)
@pytest.mark.parametrize("name", CASES)
def test_every_table(name, implementation, device, dtype, close):
    case = CASES[name]
    fields = {field: torch.from_numpy(case[field]).to(device) for field in Steps._fields}
    steps = Steps(**{k: v.to(dtype) if v.is_floating_point() else v for k, v in fields.items()})
    steps.next_values[steps.terminated] = torch.nan
    log_rhos = torch.from_numpy(case["logp_target"] - case["logp_behaviour"]).to(device, dtype)
    bars = {bar: float(case[bar]) for bar in ("rho_bar", "c_bar", "pg_rho_bar")}
    numbers = {
        "gamma": float(case["gamma"]),
        "vtrace_lam": float(case["lam"]),
        **bars,
        "implementation": implementation,
    }
    lam_t = torch.from_numpy(case["lam_t"]).to(device, dtype)
    found = actor_critic_targets(steps, log_rhos, lam=float(case["lam"]), **numbers)
    mixed = actor_critic_targets(steps, log_rhos, lam=lam_t, pg_lambda=True, **numbers)
    valid = case["valid"]
    for what, ours in {
        "vtrace_vs": found.vs,
        "vtrace_pg_adv": found.pg_advantages,
        "vtrace_pg_adv_lam": mixed.pg_advantages,
        "td_lambda": found.value_targets,
        "td_lambda_t": mixed.value_targets,
        "upgo": found.upgo_returns,
        "upgo_adv": found.upgo_advantages,
    }.items():
        assert ours.dtype == dtype
        assert ours.device == steps.rewards.device
        np.testing.assert_allclose(ours.cpu().numpy()[valid], case[what][valid], err_msg=what, **close)
        outside = ours[~steps.valid]
        assert torch.equal(outside, torch.zeros_like(outside) if "adv" in what else steps.values[~steps.valid])


def example(seed: int, length: int, columns: int, groups: int | None = None) -> tuple[Steps, torch.Tensor]:
    """Ends, holes, and NaN wherever nothing may be read."""
    draw = np.random.default_rng(seed)
    shape = (length, columns)
    terminated, truncated, valid = draw.random((3, *shape)) < np.array([0.15, 0.1, 0.9]).reshape(3, 1, 1)
    rewards, values, next_values = draw.normal(size=(3, *shape))
    next_values[terminated | ~valid] = np.nan
    rewards[~valid] = np.nan
    log_rhos = draw.normal(size=shape if groups is None else (*shape, groups)) * 2
    log_rhos[~valid] = np.nan
    arrays = rewards, values, next_values, terminated, truncated, valid
    return Steps(*map(torch.from_numpy, arrays)), torch.from_numpy(log_rhos)


def assert_same(one: ActorCriticTargets, other: ActorCriticTargets, **close: float) -> None:
    for name, a, b in zip(ActorCriticTargets._fields, one, other, strict=True):
        torch.testing.assert_close(a, b, msg=lambda text, name=name: f"{name}: {text}", **(close or EXACT))


BAR = st.sampled_from([None, 0.0, 0.5, 1.0, 3.0])
FRACTION = st.sampled_from([0.0, 0.5, 0.97, 1.0])


@pytest.mark.slow
@settings(max_examples=150)
@given(
    seed=st.integers(0, 10_000),
    length=st.integers(1, 40),
    columns=st.sampled_from([1, 3, 63, 64, 65, 130]),
    groups=st.sampled_from([None, 1, 3]),
    options=st.fixed_dictionaries(
        {"gamma": FRACTION, "lam": FRACTION, "vtrace_lam": FRACTION, "pg_lambda": st.booleans()}
        | {"rho_bar": BAR, "c_bar": BAR, "pg_rho_bar": BAR, "allow_c_above_rho": st.just(True)}
    ),
)
def test_both_implementations_agree(seed, length, columns, groups, options):
    steps, log_rhos = example(seed, length, columns, groups)
    kernel, scan = (actor_critic_targets(steps, log_rhos, **options, implementation=i) for i in ("kernel", "scan"))
    assert_same(kernel, scan, rtol=1e-9, atol=1e-9)
    assert kernel.vs.shape == log_rhos.shape
    assert not any(x[steps.valid].isnan().any() for x in kernel)


@both
def test_groups_are_worked_on_one_by_one(implementation):
    steps, log_rhos = example(1, 20, 70, groups=3)
    together = actor_critic_targets(steps, log_rhos, **PLAIN, implementation=implementation)
    for group in range(3):
        alone = actor_critic_targets(steps, log_rhos[..., group], **PLAIN, implementation=implementation)
        assert_same(alone, ActorCriticTargets(*(x[..., group] if x.ndim == 3 else x for x in together)))


@both
def test_permuted_columns_give_permuted_results(implementation):
    steps, log_rhos = example(2, 15, 100)
    order = torch.randperm(100, generator=torch.Generator().manual_seed(0))
    found = actor_critic_targets(steps, log_rhos, **PLAIN, implementation=implementation)
    permuted = Steps(*(x[:, order] for x in steps))
    again = actor_critic_targets(permuted, log_rhos[:, order], **PLAIN, implementation=implementation)
    assert_same(ActorCriticTargets(*(x[:, order] for x in found)), again)


@both
def test_two_episodes_in_one_column_equal_two_columns(implementation):
    steps, log_rhos = example(3, 20, 4)
    steps.truncated[9] = True
    valid = torch.ones_like(steps.valid)
    steps = Steps(*(x.nan_to_num() for x in steps[:3]), *steps[3:5], valid)
    whole = actor_critic_targets(steps, log_rhos.nan_to_num(), **PLAIN, implementation=implementation)
    parts = [
        actor_critic_targets(
            Steps(*(x[rows] for x in steps)), log_rhos.nan_to_num()[rows], **PLAIN, implementation=implementation
        )
        for rows in (slice(10), slice(10, 20))
    ]
    assert_same(whole, ActorCriticTargets(*map(torch.cat, zip(*parts, strict=True))))


def test_numpy_arrays_give_numpy_arrays_and_stay_as_they_are():
    steps, log_rhos = example(4, 12, 5)
    arrays = [x.numpy().copy() for x in steps]
    for array in arrays:
        array.flags.writeable = False
    found = actor_critic_targets(arrays, log_rhos.numpy(), **PLAIN)
    assert all(isinstance(x, np.ndarray) for x in found)
    assert_same(ActorCriticTargets(*map(torch.from_numpy, found)), actor_critic_targets(steps, log_rhos, **PLAIN))


@both
def test_nothing_carries_a_gradient_and_half_precision_is_raised(implementation):
    steps, log_rhos = example(5, 6, 3)
    low = steps._replace(rewards=steps.rewards.bfloat16(), values=steps.values.bfloat16().requires_grad_())
    low = low._replace(next_values=steps.next_values.bfloat16())
    found = actor_critic_targets(low, log_rhos.requires_grad_(), **PLAIN, implementation=implementation)
    assert not any(x.requires_grad for x in found)
    assert {x.dtype for x in found} == {torch.float32}


@both
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gamma": 1.5}, r"gamma=1\.5"),
        ({"lam": -1.0}, r"lam=-1"),
        ({"vtrace_lam": 2.0}, r"vtrace_lam=2"),
        ({"lam": torch.ones(4)}, r"lam is \(4,\)"),
        ({"pg_rho_bar": -1.0}, r"pg_rho_bar=-1"),
        ({"c_bar": 2.0}, r"c_bar=2\.0 > rho_bar=1\.0"),
        ({"values": torch.zeros(3, 2)}, "values has shape"),
        ({"valid": torch.ones(4, 2)}, "valid has dtype"),
        ({"log_rhos": torch.zeros(4, 3)}, r"must be floats \(4, 2\)"),
        ({"log_rhos": torch.zeros(4, 2, 2).index_fill(0, torch.tensor(3), torch.nan)}, r"log_rhos\[3, 0, 0\] = nan"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_inputs_are_named(implementation, change: dict[str, Any], message):
    no = torch.zeros(4, 2, dtype=torch.bool)
    steps = Steps(torch.zeros(4, 2), torch.zeros(4, 2), torch.zeros(4, 2), no, no)
    options: dict[str, Any] = {**PLAIN, "log_rhos": torch.zeros(4, 2), "implementation": implementation} | change
    steps = steps._replace(**{name: options.pop(name) for name in Steps._fields if name in options})
    with pytest.raises(ValueError, match=message):
        actor_critic_targets(steps, **options)


@pytest.mark.skipif("cuda" not in DEVICES, reason="needs a GPU")
def test_the_kernel_is_refused_on_a_gpu():
    steps, log_rhos = example(6, 3, 2)
    with pytest.raises(ValueError, match="implementation='kernel' on cuda"):
        actor_critic_targets(Steps(*(x.cuda() for x in steps)), log_rhos.cuda(), **PLAIN, implementation="kernel")
