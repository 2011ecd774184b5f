"""The layer on bits, and the distribution over several heads, against the obvious way."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributions import Categorical
from torch.nn.functional import linear

from ludory.agents.networks.layers.distribution import MaskedHeads
from ludory.agents.networks.layers.packed_linear import PackedLinear, unpack


def compare_with_a_linear_layer(size: int, width: int, rows: int, seed: int) -> None:
    torch.manual_seed(seed)
    bits = torch.rand(rows, size) < 0.3
    packed = torch.from_numpy(np.packbits(bits.numpy(), axis=1))
    layer, upstream = PackedLinear(size, width), torch.randn(rows, width)
    assert torch.equal(unpack(packed, size).bool(), bits)
    out, dense = layer(packed), linear(bits.float(), layer.weight, layer.bias)
    torch.testing.assert_close(out, dense, rtol=1e-5, atol=1e-5)
    ours = torch.autograd.grad(out, [layer.weight, layer.bias], upstream)
    plain = torch.autograd.grad(dense, [layer.weight, layer.bias], upstream)
    torch.testing.assert_close(ours, plain, rtol=1e-5, atol=1e-4)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 70), st.integers(1, 33), st.sampled_from([0, 1, 40, 256, 300]), st.integers(0, 1000))
def test_packed_linear_is_a_linear_layer_on_the_unpacked_bits(size, width, rows, seed):
    compare_with_a_linear_layer(size, width, rows, seed)


@pytest.mark.plain
def test_packed_linear_is_a_linear_layer_in_plain_python():
    compare_with_a_linear_layer(29, 3, 257, 0)


@pytest.mark.slow
def test_packed_linear_gives_the_same_in_parts_on_threads(monkeypatch):
    torch.manual_seed(0)
    packed = torch.randint(0, 256, (2000, 9), dtype=torch.uint8)
    layer, upstream = PackedLinear(70, 16), torch.randn(2000, 16)

    def run(threads: str) -> tuple[torch.Tensor, torch.Tensor]:
        monkeypatch.setenv("LUDORY_NUM_THREADS", threads)
        out = layer(packed)
        return out, torch.autograd.grad(out, layer.weight, upstream)[0]

    one, three = run("1"), run("3")
    assert torch.equal(one[0], three[0])
    torch.testing.assert_close(one[1], three[1], rtol=1e-5, atol=1e-4)


SIZES = (3, 1, 5)


def masked(rows: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, sum(SIZES), generator=generator, dtype=torch.float64) * 3
    mask = torch.rand(rows, sum(SIZES), generator=generator) < 0.5
    for start in (0, 3, 4):
        mask[:, start] = True
    return logits, mask


def per_head(logits: torch.Tensor, mask: torch.Tensor) -> list[Categorical]:
    parts = logits.masked_fill(~mask, -torch.inf).split(SIZES, -1)
    return [Categorical(probs=part.softmax(-1)) for part in parts]


def test_log_prob_entropy_and_mode_are_those_of_independent_categoricals():
    logits, mask = masked(50, 1)
    ours, plain = MaskedHeads(logits, mask, SIZES), per_head(logits, mask)
    actions = ours.sample(torch.Generator().manual_seed(2))
    for head, categorical in enumerate(plain):
        torch.testing.assert_close(ours.log_prob(actions)[:, head], categorical.log_prob(actions[:, head]))
        torch.testing.assert_close(ours.entropy()[:, head], categorical.entropy(), rtol=1e-6, atol=1e-12)
        assert torch.equal(ours.mode()[:, head], categorical.probs.argmax(-1))


def test_samples_are_legal_and_have_the_right_frequencies():
    logits, mask = masked(1, 3)
    many = MaskedHeads(logits.expand(200_000, -1), mask.expand(200_000, -1), SIZES)
    actions = many.sample(torch.Generator().manual_seed(4))
    for head, categorical in enumerate(per_head(logits, mask)):
        share = torch.bincount(actions[:, head], minlength=SIZES[head]) / len(actions)
        torch.testing.assert_close(share.double(), categorical.probs[0], rtol=0, atol=0.005)
        assert (share[categorical.probs[0] == 0] == 0).all()


def test_normalised_entropy_is_one_for_a_uniform_choice_and_zero_without_a_choice():
    mask = torch.tensor([[True, True, False, True, True, True, True, False, False]])
    entropy = MaskedHeads(torch.zeros(1, 9), mask, SIZES).normalised_entropy()
    torch.testing.assert_close(entropy, torch.tensor([[1.0, 0.0, 1.0]]))


def test_illegal_logits_get_no_gradient_and_no_nan():
    logits, mask = masked(20, 5)
    logits.requires_grad_()
    heads = MaskedHeads(logits, mask, SIZES)
    (heads.entropy().sum() + heads.log_prob(heads.mode()).sum()).backward()
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad[~mask] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("legal_share", [1.0, 0.5, 0.0])
def test_ten_thousand_actions_in_every_precision(dtype, legal_share):
    generator = torch.Generator().manual_seed(7)
    logits = (torch.randn(4, 10_000, generator=generator) * 5).to(dtype).requires_grad_()
    mask = torch.rand(4, 10_000, generator=generator) < legal_share
    mask[:, 9_999] = True
    heads = MaskedHeads(logits, mask, (10_000,))
    exact = logits.detach().double().masked_fill(~mask, -torch.inf).log_softmax(-1)
    actions = heads.sample(generator)
    assert mask.gather(-1, actions).all()
    assert mask.gather(-1, heads.mode()).all()
    log_p = heads.log_prob(actions)
    assert log_p.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    torch.testing.assert_close(log_p.double(), exact.gather(-1, actions), rtol=1e-5, atol=1e-5)
    entropy = -(exact.exp() * exact.masked_fill(~mask, 0)).sum(-1, keepdim=True)
    torch.testing.assert_close(heads.entropy().double(), entropy, rtol=1e-5, atol=1e-5)
    (
        log_p.sum() + heads.entropy().sum() + heads.kl_from(MaskedHeads(logits.detach() * 0, mask, (10_000,))).sum()
    ).backward()
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad[~mask] == 0).all()


@pytest.mark.parametrize("largest", [1e4, 3e38])
def test_logits_as_large_as_they_get_give_a_distribution(largest):
    logits = torch.tensor([[largest, -largest, 0.0, largest]], requires_grad=True)
    heads = MaskedHeads(logits, torch.tensor([[True, True, True, False]]), (4,))
    assert heads.mode().item() == 0
    assert heads.log_prob(torch.tensor([[0]])).item() == 0
    (heads.entropy().sum() + heads.log_prob(torch.tensor([[0]])).sum()).backward()
    assert torch.isfinite(logits.grad).all()


def test_a_draw_repeats_with_its_generator_and_uses_it_once():
    logits, mask = masked(40, 8)
    heads, generator = MaskedHeads(logits, mask, SIZES), torch.Generator().manual_seed(9)
    first, after = heads.sample(generator), generator.get_state()
    generator.manual_seed(9)
    assert torch.equal(heads.sample(generator), first)
    generator.manual_seed(9)
    torch.empty(40, sum(SIZES), dtype=torch.float64).exponential_(generator=generator)
    assert torch.equal(generator.get_state(), after)


def load_heads() -> dict[str, dict[str, np.ndarray]]:
    cases: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    with np.load(Path(__file__).parents[2] / "golden" / "returns" / "heads.npz") as archive:
        for key in archive.files:
            case, name = key.split("/", 1)
            cases[case][name] = archive[key]
    return cases


HEADS = load_heads()


@pytest.mark.parametrize(
    ("dtype", "close"),
    [(torch.float64, {"rtol": 0, "atol": 1e-10}), (torch.float32, {"rtol": 1e-5, "atol": 2e-5})],
    ids=["f64", "f32"],
)
@pytest.mark.parametrize("name", HEADS)
def test_every_table_of_seven_heads(name, dtype, close):
    case = HEADS[name]
    names, sizes = json.loads(str(case["head_names"])), tuple(int(size) for size in case["head_sizes"])
    mask = torch.from_numpy(np.concatenate([case[f"{head}.mask"] for head in names], -1))
    policy, behaviour, teacher = (
        MaskedHeads(
            torch.from_numpy(np.concatenate([case[f"{head}.{who}"] for head in names], -1)).to(dtype), mask, sizes
        )
        for who in ("target", "behaviour", "teacher")
    )
    actions = torch.from_numpy(np.stack([case[f"{head}.action"] for head in names], -1))
    found = {
        "logp": policy.log_prob(actions),
        "logp_behaviour": behaviour.log_prob(actions),
        "entropy": policy.entropy(),
        "entropy_norm": policy.normalised_entropy(),
        "kl_teacher": policy.kl_from(teacher),
        "kl_reverse": teacher.kl_from(policy),
    }
    used = torch.from_numpy(case["head_mask"])
    for what, ours in found.items():
        assert ours.dtype == dtype
        for k, head in enumerate(names):
            np.testing.assert_allclose(ours[..., k].numpy(), case[f"{head}.{what}"], err_msg=f"{head}.{what}", **close)
        if what != "logp_behaviour":
            np.testing.assert_allclose((ours * used).sum(-1).numpy(), case[f"joint.{what}"], err_msg=what, **close)


def test_a_policy_is_at_no_distance_from_itself():
    logits, mask = masked(30, 6)
    heads = MaskedHeads(logits, mask, SIZES)
    assert (heads.kl_from(heads) == 0).all()
