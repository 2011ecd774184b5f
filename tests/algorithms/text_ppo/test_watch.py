"""What is watched: counts of episodes, template collapse, advice, and memory."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch

from ludory.algorithms.text_ppo.batch import TokenBatch
from ludory.algorithms.text_ppo.config import make_text_ppo_config
from ludory.algorithms.text_ppo.loss import TokenOutputs
from ludory.algorithms.text_ppo.memory import ModelShape, estimate_memory, explained_shortage, shape_of
from ludory.algorithms.text_ppo.network import TokenNetwork
from ludory.algorithms.text_ppo.watch import Adviser, collapse_metrics, episode_metrics
from ludory.errors import TrainingError

GIB = 1 << 30
FINE = {"rollout/tokens": 50.0, "rollout/return": 1.0, "rollout/form_ok": 0.9, "train/entropy": 0.5}


def test_shares_of_forms_add_up(batch):
    metrics = episode_metrics(batch)
    assert sum(value for name, value in metrics.items() if "/form_" in name) == pytest.approx(1)
    kinds = [value for name, value in metrics.items() if "/tokens_" in name]
    assert sum(kinds) == pytest.approx(len(batch.ids) / batch.num_episodes)
    assert metrics["rollout/tokens"] == pytest.approx(batch.sampled.sum() / batch.num_episodes)
    assert metrics["rollout/any_success"] >= metrics["rollout/success"]


def test_a_model_that_does_not_read_its_prompt_has_collapsed(model, batch):
    deaf = copy.deepcopy(model.model)
    with torch.no_grad():
        for parameter in deaf.parameters():
            parameter.zero_()
    found = collapse_metrics(TokenNetwork(deaf), batch, 0, 4000)
    assert found["collapse/mutual_information"] == pytest.approx(0, abs=1e-5)


class Echo(torch.nn.Module):
    """Replies with the first token of the prompt, 20 times likelier than with any other."""

    device = torch.device("cpu")

    def forward(self, ids, rows, places, with_values=True, with_entropies=True):
        return TokenOutputs(torch.where(ids[rows, places] == ids[rows, 0], 0.0, -math.log(20)), None, None)


def test_a_model_that_repeats_its_prompt_has_not_collapsed():
    found = collapse_metrics(Echo(), by_hand_of_replies([(1, 1), (2, 2), (3, 3)]), 0, 100)
    assert found["collapse/mutual_information"] == pytest.approx(math.log(3 / (1 + 2 / 20)))
    assert found["collapse/retrieval"] == 1
    same = collapse_metrics(Echo(), by_hand_of_replies([(1, 3), (2, 3), (3, 3)]), 0, 100)
    assert same["collapse/retrieval"] == pytest.approx(1 / 3)
    assert collapse_metrics(Echo(), by_hand_of_replies([(1, 1)]), 0, 100) == {}


def by_hand_of_replies(pairs) -> TokenBatch:
    """Episodes of one prompt token and one sampled token each, every one a group of its own."""
    count = len(pairs)
    return TokenBatch(
        ids=np.array(pairs).ravel(),
        spans=np.array([0, 2] * count, np.int8),
        turns=np.array([-1, 0] * count),
        sampler_log_probs=np.zeros(2 * count, np.float32),
        starts=np.arange(0, 2 * count + 1, 2),
        episode=np.arange(count),
        groups=np.arange(count),
        scores=np.zeros(count),
        turn_rewards=np.zeros((count, 1)),
        success=np.zeros(count, bool),
        room_hashes=np.zeros(count, np.uint64),
    )


def test_advice_comes_once_and_when_it_is_due():
    adviser = Adviser()
    assert adviser.advise(FINE) == []
    (line,) = adviser.advise(FINE | {"rollout/form_ok": 0.4})
    assert "format_penalty" in line
    assert adviser.advise(FINE | {"rollout/form_ok": 0.4}) == []
    (line,) = adviser.advise(FINE | {"train/entropy": 0.01})
    assert "entropy" in line


def test_growing_replies_with_falling_returns_are_noticed():
    adviser, lines = Adviser(), []
    for k in range(20):
        lines += adviser.advise(FINE | {"rollout/tokens": 50.0 + 5 * k, "rollout/return": 2.0 - 0.1 * k})
    assert ["longer while returns fall" in line for line in lines] == [True]
    resumed = Adviser(adviser.history)
    assert resumed.history == adviser.history


def test_memory_of_a_model_of_1_5_billion():
    shape = ModelShape(1_543_714_304, 1536, 28, 151_936, 2 * 2 * 128, weight_bytes=2)
    full = estimate_memory(make_text_ppo_config("spa"), shape)
    assert full.weights == pytest.approx(2.9 * GIB, rel=0.05)
    assert full.optimiser == 2 * full.gradients == 2 * full.weights
    assert full.critic == pytest.approx(4 * full.weights)
    assert full.reference == 0
    assert full.total == pytest.approx(sum(full))
    small = estimate_memory(make_text_ppo_config("spa", lora_rank=32, tokens_at_once=4096), shape)
    assert small.total < 0.6 * full.total
    spread, same = (
        estimate_memory(make_text_ppo_config("spa", devices=8, sharding=one), shape) for one in ("auto", "ddp")
    )
    assert spread.weights == full.weights / 8
    assert (spread.sampler, same.sampler) == (2 * full.weights, 0)
    assert (same.weights, same.cache) == (full.weights, full.cache / 8)
    assert "GiB" in full.text(80 * GIB)


def test_shapes_are_read_from_the_model(model):
    shape = shape_of(model.model)
    assert shape.parameters == sum(parameter.numel() for parameter in model.model.parameters())
    assert (shape.hidden, shape.layers, shape.key_values, shape.weight_bytes) == (32, 2, 64, 4)


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 9 bytes")]
)
def test_three_settings_help_when_memory_runs_out(error):
    config = make_text_ppo_config("default")
    with (
        pytest.raises(TrainingError, match=r'tokens_at_once=4096 .*lora_rank=32 .*value="shared"'),
        explained_shortage(config),
    ):
        raise error
    with pytest.raises(RuntimeError, match="shapes"), explained_shortage(config):
        raise RuntimeError("shapes do not fit")
