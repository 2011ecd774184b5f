"""PPO's loss stands in one place: who changes it there changes what is learnt, by whichever of its two implementations."""

from __future__ import annotations

import importlib.util
import inspect
import logging

import pytest
import torch

from ludory.agents.networks.layers.distribution import MaskedHeads
from ludory.algorithms.ppo import PPO, kernels, loss
from ludory.algorithms.ppo.compiled import CompiledUpdate, code_hash
from ludory.algorithms.ppo.compiled_loss import compiled_loss
from ludory.algorithms.ppo.torch_update import TorchUpdate
from ludory.errors import OptionError

TINY, SMALL = "HanabiTiny2P-v0", {"num_envs": 16, "n_steps": 8, "batch_size": 64, "hidden": (8,), "seed": 3}


def weights(**options) -> torch.Tensor:
    model = PPO("mlp", TINY, **SMALL | options).learn(256)
    return torch.cat([p.detach().flatten() for p in model.policy.parameters()])


def edited(folder, *changes: tuple[str, str]):
    """`ppo_loss` of a copy of its file in which the text is changed."""
    text = inspect.getsource(loss)
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    file = folder / "edited_loss.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("edited_loss", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ppo_loss


def test_the_compiled_twin_stands_for_the_definition_as_it_is():
    found = code_hash(loss.ppo_loss)
    assert found == kernels.TWIN_OF, (
        f"ppo_loss has changed: change `_loss` in ppo/kernels.py likewise (test_compiled_update.py compares them), "
        f'then write TWIN_OF = "{found}" there'
    )


SIZES = (9, 2, 5)
COMPILED = (pytest.mark.slow, pytest.mark.optimised)


def minibatch(rows: int, *, teacher: bool, used: bool, waits: bool):
    """Logits, values and what was played, with legal masks, probabilities near 0, and rows without a decision."""
    generator = torch.Generator().manual_seed(rows)

    def uniform(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=generator)

    mask = uniform(rows, sum(SIZES)) < 0.6
    actions = torch.stack([(uniform(rows) * size).long() for size in SIZES], 1)
    first = torch.tensor([0, 9, 11])
    mask.scatter_(1, actions + first, True)
    logits = 6 * uniform(rows, sum(SIZES)) - 3
    logits[0, :9] = torch.linspace(-200, 200, 9)
    logits, values = logits.requires_grad_(), uniform(rows).requires_grad_()
    policy = MaskedHeads(logits, mask, SIZES)
    weights = (uniform(rows) < 0.7).float() if waits else torch.ones(rows)
    old = policy.log_prob(actions).detach() + 0.3 * uniform(rows, 3) - 0.15
    lessons = MaskedHeads(4 * uniform(rows, sum(SIZES)), mask, SIZES) if teacher else None
    heads = uniform(rows, 3) < 0.5 if used else None
    played = actions, old, uniform(rows) - 0.5, uniform(rows), weights / weights.sum().clamp(min=1)
    return policy, logits, values, loss.PPOMinibatch(*played, heads, lessons)


@pytest.mark.parametrize(
    "rows",
    [pytest.param(3, marks=pytest.mark.plain), *(pytest.param(rows, marks=COMPILED) for rows in (3, 64, 150))],
)
@pytest.mark.parametrize("teacher", [False, True], ids=["alone", "teacher"])
@pytest.mark.parametrize("used", [False, True], ids=["all heads", "some heads"])
@pytest.mark.parametrize("waits", [False, True], ids=["all decide", "some wait"])
def test_the_compiled_loss_behind_any_network_is_the_definition(rows, teacher, used, waits):
    policy, logits, values, decisions = minibatch(rows, teacher=teacher, used=used, waits=waits)
    coefficients = loss.Coefficients(0.2, 0.7, 0.05, 0.4, 1.5)
    expected = loss.ppo_loss(policy, values, decisions, coefficients)
    slopes = torch.autograd.grad(expected.loss, (logits, values))
    found = compiled_loss(policy, values, decisions, coefficients)
    torch.testing.assert_close(torch.stack(found), torch.stack(expected), rtol=1e-4, atol=1e-5)
    for one, other in zip(torch.autograd.grad(2 * found.loss, (logits, values)), slopes, strict=True):
        torch.testing.assert_close(one, 2 * other, rtol=1e-3, atol=1e-6)


@pytest.mark.slow
@pytest.mark.optimised
def test_parts_of_a_minibatch_add_up_and_one_without_decisions_adds_nothing():
    policy, _, values, decisions = minibatch(150, teacher=False, used=False, waits=True)
    decisions.weights[:40] = 0
    coefficients = loss.Coefficients(0.2, 0.7, 0.05)
    parts = []
    for rows in (slice(0, 40), slice(40, 100), slice(100, 150)):
        own = MaskedHeads(policy.logits[rows], policy.mask[rows], SIZES)
        played = loss.PPOMinibatch(*(column[rows] for column in decisions if column is not None))
        parts.append(torch.stack(compiled_loss(own, values[rows], played, coefficients)).detach())
    assert parts[0].tolist() == [0] * 7
    whole = torch.stack(loss.ppo_loss(policy, values, decisions, coefficients)).detach()
    torch.testing.assert_close(sum(parts), whole, rtol=1e-4, atol=1e-5)


EDITS = {
    "no clipping": ("torch.min(advantages * ratio, advantages * clipped)", "(advantages * ratio)"),
    "errors of the value without square": (
        "(values - decisions.returns).square()",
        "(values - decisions.returns).abs()",
    ),
    "the other sign of entropy": ("- coefficients.ent_coef * entropy", "+ coefficients.ent_coef * entropy"),
}


@pytest.mark.slow
@pytest.mark.optimised
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_editing_the_definition_changes_what_is_learnt_on_both_paths(edit, tmp_path, monkeypatch):
    options = {"learning_rate": 0.05, "ent_coef": 0.1}
    monkeypatch.setattr("ludory.algorithms.ppo.ppo.WORTH_LOADING", 0)
    before = [weights(**options, compiled=path) for path in (None, False)]
    monkeypatch.setattr("ludory.algorithms.ppo.loss.ppo_loss", edited(tmp_path, edit))
    after = [weights(**options, compiled=path) for path in (None, False)]
    assert torch.equal(*after)
    for old, new in zip(before, after, strict=True):
        assert (old - new).abs().max() > 1e-2


@pytest.mark.slow
@pytest.mark.optimised
def test_comments_and_docstrings_of_the_definition_leave_the_twin_running(tmp_path, monkeypatch):
    plain = weights(compiled=True)
    words = edited(
        tmp_path,
        ("Clipped policy gradient,", "A clipped policy gradient,"),
        ("    weights, adv", "    # why\n    weights, adv"),
    )
    monkeypatch.setattr("ludory.algorithms.ppo.loss.ppo_loss", words)
    assert torch.equal(weights(compiled=True), plain)


class WithoutClipping(PPO):
    def loss(self, policy, values, decisions, coefficients):
        return super().loss(policy, values, decisions, coefficients._replace(clip_range=1e6))


def without_value(policy, values, decisions, coefficients):
    return loss.ppo_loss(policy, values, decisions, coefficients._replace(vf_coef=0.0))


def update_of(model):
    rollout, _ = model.sampler.collect(model.policy, 8, model.generator)
    return model._update(rollout, rollout.values, rollout.values)


@pytest.mark.plain
def test_a_loss_of_ones_own_switches_the_twin_off():
    assert isinstance(update_of(PPO("mlp", TINY, compiled=True, **SMALL)), CompiledUpdate)
    for model in (WithoutClipping("mlp", TINY, **SMALL), PPO("mlp", TINY, loss=without_value, **SMALL)):
        assert isinstance(update_of(model), TorchUpdate)
    assert isinstance(update_of(PPO("mlp", TINY, compiled=False, **SMALL)), TorchUpdate)


def test_the_loss_alone_is_compiled_where_a_run_is_long_and_the_loss_its_own(monkeypatch):
    monkeypatch.setattr("ludory.algorithms.ppo.ppo.few_steps_asked", lambda: False)

    def compiles(asked: int, *, part: bool = False, kind=PPO, **options) -> bool:
        model = kind("gru(hidden=(8,), memory_size=8)", TINY, **SMALL | {"hidden": ()} | options)
        model._total_timesteps, model.schedule_timesteps = (10, asked) if part else (asked, 0)
        return model._compiles_loss

    assert compiles(600_000, n_epochs=2)
    assert compiles(600_000, n_epochs=2, part=True), "a slice of a league is short, the league is not"
    assert not compiles(400_000, n_epochs=2)
    assert not compiles(10**8, compiled=False)
    assert not compiles(10**8, loss=without_value)
    assert not compiles(10**8, kind=WithoutClipping)


def test_a_loss_of_ones_own_is_what_is_learnt(tmp_path):
    model = PPO("mlp", TINY, loss=without_value, separate_value=True, **SMALL)
    before = model.policy.value.weight.clone()
    model.learn(128).save(tmp_path / "m.ludory")
    assert torch.equal(model.policy.value.weight, before)
    again = PPO.load(tmp_path / "m.ludory", loss=without_value).learn(128, reset_num_timesteps=False)
    assert torch.equal(again.policy.value.weight, before)


@pytest.mark.slow
@pytest.mark.optimised
def test_one_line_of_the_log_says_which_implementation_runs(caplog):
    with caplog.at_level(logging.INFO, "ludory"):
        weights(compiled=True)
        weights(compiled=False)
        PPO("mlp", TINY, loss=without_value, **SMALL).learn(128)
    told = [record.getMessage() for record in caplog.records if "ppo_loss" in record.getMessage()]
    assert told == [
        "ppo-v1: ppo_loss is computed by its compiled twin",
        "ppo-v1: ppo_loss is computed by PyTorch in float32: compiled=False",
        "ppo-v1: ppo_loss is computed by PyTorch in float32: this run has a loss of its own",
    ]


@pytest.mark.plain
@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        (
            "gru(hidden=(8,), memory_size=8)",
            {"hidden": ()},
            "for multi-layer perceptrons over bits, in float32 on the CPU",
        ),
        ("mlp", {"precision": "bf16"}, "for multi-layer perceptrons over bits, in float32 on the CPU"),
        ("mlp", {"privileged_value": True}, "has no privileged value"),
        ("mlp", {"loss": without_value}, "a loss of its own"),
    ],
)
def test_a_twin_that_is_asked_for_and_does_not_apply_is_refused(policy, options, message):
    with pytest.raises(OptionError, match=f"compiled=True: .*{message}"):
        PPO(policy, TINY, **SMALL | {"compiled": True} | options).learn(128)


def test_checkpoints_from_before_the_option_load(tmp_path):
    from ludory.checkpoints.checkpoint import read_checkpoint, write_checkpoint

    PPO("mlp", TINY, **SMALL).learn(128).save(tmp_path / "m.ludory")
    header, tensors = read_checkpoint(tmp_path / "m.ludory")
    for name in ("compiled", "discount_per"):
        del header["config"][name]
    write_checkpoint(tmp_path / "old.ludory", header, tensors)
    assert PPO.load(tmp_path / "old.ludory").config == PPO.load(tmp_path / "m.ludory").config


def test_the_loss_is_that_of_the_paper():
    """Two decisions by hand: ratio 1.5 with a gain is clipped at 1.2, ratio 0.5 with a gain is not."""
    policy = MaskedHeads(torch.zeros(2, 2), torch.ones(2, 2, dtype=torch.bool), (2,))
    half = torch.tensor(0.5)
    decisions = loss.PPOMinibatch(
        actions=torch.zeros(2, 1, dtype=torch.int64),
        log_probs=torch.log(torch.tensor([[0.5 / 1.5], [0.5 / 0.5]])),
        advantages=torch.tensor([2.0, 2.0]),
        returns=torch.tensor([1.0, 0.0]),
        weights=half.expand(2),
    )
    found = loss.ppo_loss(policy, torch.tensor([4.0, 0.0]), decisions, loss.Coefficients(0.2, 0.5, 0.01))
    assert float(found.policy_gradient_loss) == pytest.approx(-(2 * 1.2 + 2 * 0.5) / 2)
    assert float(found.value_loss) == pytest.approx(9 / 2)
    assert float(found.entropy) == pytest.approx(float(torch.log(torch.tensor(2.0))))
    assert float(found.loss) == pytest.approx(
        float(found.policy_gradient_loss + 0.5 * found.value_loss - 0.01 * found.entropy)
    )
    assert float(found.clip_fraction) == 1.0
