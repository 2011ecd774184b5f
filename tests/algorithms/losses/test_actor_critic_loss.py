"""The actor-critic loss and every gradient of it, exact on the numeric tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from ludory.agents.networks.layers.distribution import MaskedHeads
from ludory.algorithms.losses.returns import Steps
from ludory.algorithms.vtrace.config import LossWeights
from ludory.algorithms.vtrace.loss import actor_critic_loss

GOLDEN = Path(__file__).parents[2] / "golden" / "returns" / "loss.npz"


def load() -> dict[str, dict[str, np.ndarray]]:
    cases: dict[str, dict[str, np.ndarray]] = {}
    with np.load(GOLDEN) as archive:
        for key in archive.files:
            case, name = key.split("/", 1)
            cases.setdefault(case, {})[name] = archive[key]
    return cases


CASES = load()


def loss_of(case, dtype):
    names, sizes = json.loads(str(case["head_names"])), tuple(int(size) for size in case["head_sizes"])

    def joined(what: str) -> torch.Tensor:
        return torch.from_numpy(np.concatenate([case[f"{head}.{what}"] for head in names], -1))

    def stacked(what: str) -> torch.Tensor:
        return torch.from_numpy(np.stack([case[f"{head}.{what}"] for head in names], -1))

    logits = joined("target").to(dtype).requires_grad_()
    values = torch.from_numpy(case["values"]).to(dtype).requires_grad_()
    fields = {name: torch.from_numpy(case[name]) for name in Steps._fields}
    steps = Steps(**{k: v.to(dtype) if v.is_floating_point() else v for k, v in fields.items()})
    steps.next_values[steps.terminated] = torch.nan
    mask = joined("mask")
    lam = float(case["lam"])
    weights = LossWeights(
        gamma=float(case["gamma"]),
        lam=lam,
        vtrace_lam=lam,
        **{f"c_{k}": float(case[f"coef_{k}"]) for k in ("pg", "upgo", "value", "kl", "entropy")},
    )
    found = actor_critic_loss(
        MaskedHeads(logits, mask, sizes),
        values,
        steps._replace(values=values.detach()),
        stacked("action"),
        stacked("logp_behaviour").to(dtype),
        torch.from_numpy(case["head_mask"]),
        MaskedHeads(joined("teacher").to(dtype), mask, sizes),
        weights,
        str(case["mode"]),
    )
    return found, logits, values, mask, joined("grad")


@pytest.mark.parametrize(
    ("dtype", "close"),
    [(torch.float64, {"rtol": 0, "atol": 1e-10}), (torch.float32, {"rtol": 1e-5, "atol": 2e-5})],
    ids=["f64", "f32"],
)
@pytest.mark.parametrize("name", CASES)
def test_every_table(name, dtype, close):
    case = CASES[name]
    found, logits, values, mask, gradient = loss_of(case, dtype)
    for ours, theirs in {
        "pg": "loss_pg",
        "upgo": "loss_upgo",
        "value": "loss_value",
        "kl": "kl",
        "entropy": "entropy",
        "total": "loss_total",
    }.items():
        np.testing.assert_allclose(float(getattr(found, ours).detach()), case[theirs], err_msg=ours, **close)
    found.total.backward()
    np.testing.assert_allclose(logits.grad.numpy(), gradient.numpy(), **close)
    np.testing.assert_allclose(values.grad.numpy(), case["grad_values"], **close)
    assert (logits.grad[~mask] == 0).all()


def test_joint_is_split_for_one_head():
    torch.manual_seed(0)
    heads = MaskedHeads(torch.randn(6, 2, 4), torch.ones(6, 2, 4, dtype=torch.bool), (4,))
    no = torch.zeros(6, 2, dtype=torch.bool)
    steps = Steps(torch.randn(6, 2), torch.randn(6, 2), torch.randn(6, 2), no, no)
    actions = torch.randint(4, (6, 2, 1))
    rest = (
        steps.values,
        steps,
        actions,
        torch.full((6, 2, 1), -1.0),
        torch.ones(6, 2, 1, dtype=torch.bool),
        None,
        LossWeights(),
    )
    joint, split = (actor_critic_loss(heads, *rest, groups) for groups in ("joint", "split"))
    for one, other in zip(joint, split, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_wrong_groups_and_empty_batches_are_named():
    heads = MaskedHeads(torch.randn(2, 1, 4), torch.ones(2, 1, 4, dtype=torch.bool), (2, 2))
    no = torch.zeros(2, 1, dtype=torch.bool)
    steps = Steps(torch.zeros(2, 1), torch.zeros(2, 1), torch.zeros(2, 1), no, no)
    rest = (
        torch.zeros(2, 1, 2, dtype=torch.int64),
        torch.zeros(2, 1, 2),
        torch.ones(2, 1, 2, dtype=torch.bool),
        None,
        LossWeights(),
    )
    with pytest.raises(ValueError, match=r"partition of the heads 0\.\.1"):
        actor_critic_loss(heads, steps.values, steps, *rest, [[0]])
    with pytest.raises(ValueError, match="without valid rows"):
        actor_critic_loss(heads, steps.values, steps._replace(valid=no), *rest)
