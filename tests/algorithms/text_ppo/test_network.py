"""Log-probabilities, values and gradients of tokens, against transformers itself."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from ludory.algorithms.text_ppo import network as network_module
from ludory.algorithms.text_ppo.loss import TokenCoefficients, TokenTargets, token_loss
from ludory.algorithms.text_ppo.network import TokenNetwork, batch_parts, evaluate_tokens


def fresh(model, **options) -> TokenNetwork:
    network = TokenNetwork(copy.deepcopy(model.model), **options)
    if network.head is not None:
        torch.nn.init.normal_(network.head.weight)
    return network


def by_definition(network, batch):
    """List after list, without padding."""
    log_probs, entropies, values = (torch.zeros(len(batch.ids)) for _ in range(3))
    for start, end in zip(batch.starts, batch.starts[1:], strict=False):
        ids = torch.from_numpy(batch.ids[start:end]).unsqueeze(0)
        with torch.no_grad():
            found = network.policy(input_ids=ids, output_hidden_states=True)
            scores = (found.logits[0] / network.temperature).log_softmax(-1)
            of_values = network.critic if network.critic is not None else network.policy
            hidden = of_values(input_ids=ids, output_hidden_states=True).hidden_states[-1][0]
        for t in range(1, end - start):
            log_probs[start + t] = scores[t - 1, ids[0, t]]
            entropies[start + t] = torch.distributions.Categorical(logits=scores[t - 1]).entropy()
            values[start + t] = network.head(hidden[t - 1])[0]
    return log_probs, entropies, values


@pytest.mark.parametrize(
    "options", [pytest.param({}, marks=pytest.mark.slow), {"value": "separate", "temperature": 0.7}]
)
def test_outputs_are_those_of_transformers(model, batch, options):
    network = fresh(model, **options)
    if network.critic is not None:
        with torch.no_grad():
            for parameter in network.critic.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
    found = evaluate_tokens(network, batch, batch.sampled, 700, pad=0)
    for ours, theirs in zip(found, by_definition(network, batch), strict=True):
        np.testing.assert_allclose(ours[batch.sampled].numpy(), theirs[batch.sampled].detach().numpy(), atol=2e-5)
        assert not ours[~batch.sampled].any()


def test_the_learner_agrees_with_the_sampler(model, batch):
    found = evaluate_tokens(fresh(model), batch, batch.sampled, 2000, pad=0)
    gap = found.log_probs.numpy() - batch.sampler_log_probs
    assert np.abs(gap[batch.sampled]).max() < 1e-4


def test_parts_and_whole_logits_give_the_same(model, batch, monkeypatch):
    network = fresh(model)
    whole = evaluate_tokens(network, batch, batch.sampled, 2000, pad=0)
    network._plain_head = False  # as models that scale their logits
    scaled = evaluate_tokens(network, batch, batch.sampled, 2000, pad=0)
    network._plain_head = True
    monkeypatch.setattr(network_module, "LOGITS_AT_ONCE", 1000)
    parts = evaluate_tokens(network, batch, batch.sampled, 2000, pad=0)
    for one, two, three in zip(whole, scaled, parts, strict=True):
        np.testing.assert_allclose(one.numpy(), two.numpy(), atol=1e-5)
        np.testing.assert_allclose(one.numpy(), three.numpy(), atol=1e-5)


def gradients(network, batch, advantages, old, wanted, ids_after=None):
    """Gradients of the loss over the tokens `wanted`."""
    network.zero_grad()
    weights = torch.from_numpy(wanted).float() / wanted.sum()
    for ids, rows, places, tokens in batch_parts(batch, np.arange(len(batch.episode)), np.ones_like(wanted), 2000, 0):
        inner = places > 0
        rows, places, tokens = rows[inner], places[inner], tokens[inner]
        outputs = network(ids, rows, places)
        targets = TokenTargets(
            old[tokens], advantages[tokens], weights[tokens], torch.zeros(len(tokens)), advantages[tokens]
        )
        token_loss(outputs, targets, TokenCoefficients(entropy=0.01)).loss.backward()
    return {name: parameter.grad.clone() for name, parameter in network.learnt()}


def test_no_gradient_comes_from_masked_tokens(model, batch):
    network, wanted = fresh(model), batch.sampled
    g = torch.Generator().manual_seed(0)
    advantages, old = torch.randn(len(wanted), generator=g), -torch.rand(len(wanted), generator=g)
    clean = gradients(network, batch, advantages, old, wanted)
    outside = torch.from_numpy(~wanted)
    dirty = gradients(
        network, batch, torch.where(outside, 1e6, advantages), torch.where(outside, torch.nan, old), wanted
    )
    assert all(torch.equal(clean[name], dirty[name]) for name in clean)
    assert any(grad.abs().sum() > 0 for grad in clean.values())


def test_lora_starts_as_the_model_and_its_reference_stays(model, batch):
    pytest.importorskip("peft")
    plain, network = fresh(model), fresh(model, lora_rank=2, value="shared")
    before = evaluate_tokens(plain, batch, batch.sampled, 2000, pad=0).log_probs
    assert torch.allclose(evaluate_tokens(network, batch, batch.sampled, 2000, pad=0).log_probs, before, atol=1e-6)
    assert all(".lora_" in name or name.startswith("head.") for name, _ in network.learnt())
    with torch.no_grad():
        for name, parameter in network.learnt():
            if ".lora_" in name:
                parameter.add_(0.3)
    moved = evaluate_tokens(network, batch, batch.sampled, 2000, pad=0).log_probs
    assert (moved - before).abs().max() > 1e-2
    with network.as_reference():
        kept = evaluate_tokens(network, batch, batch.sampled, 2000, pad=0).log_probs
    assert torch.allclose(kept, before, atol=1e-6)
    merged = copy.deepcopy(model.model)
    merged.load_state_dict(dict(network.policy_weights()))
    found = evaluate_tokens(TokenNetwork(merged), batch, batch.sampled, 2000, pad=0).log_probs
    assert torch.allclose(found, moved, atol=1e-4)
