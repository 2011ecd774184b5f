"""Episodes that players at workers play are those of one process; with `overlap` the weights are one iteration older."""

from __future__ import annotations

import json

import numpy as np
import pytest

import ludory
from ludory.agents.language.packed import PackedModel
from ludory.agents.language.small_model import make_small_model
from ludory.algorithms.text_ppo.batch import joined
from ludory.algorithms.text_ppo.text_ppo import TextPPO
from ludory.cluster.workers import InProcess
from ludory.errors import LostWorkerError, OptionError

from .test_text_ppo import SMALL, learnt

SIZES = {"groups": 5, "group_size": 2, "filter": "none", "val_every": 2, "val_groups": 2, "val_samples": 2}


class Forgetful(InProcess):
    """Loses every third actor before its second call."""

    def __init__(self) -> None:
        self.made = 0

    def actor(self, make, *args):
        """As `Workers.actor`."""
        self.made += 1
        return LostLater(super().actor(make, *args)) if self.made % 3 == 0 else super().actor(make, *args)


class LostLater:
    """An actor that is lost after its first call."""

    def __init__(self, inner) -> None:
        self._inner, self._calls = inner, 0

    def call(self, method, *args):
        """As `Actor.call`."""
        self._calls += 1
        return self._inner.call(method, *args) if self._calls == 1 else Gone()

    def close(self) -> None:
        """As `Actor.close`."""


class Gone:
    """A call whose worker is lost."""

    def result(self):
        """As `Pending.result`."""
        raise LostWorkerError("a worker is gone: killed by the test")


@pytest.mark.slow
@pytest.mark.parametrize("game", ["Sokoban-v0", "FrozenLakeRagen2-v0", "TicTacToe-v0"])
def test_shares_together_are_the_batch_of_one_process(written, game, tmp_path):
    """Also where the ice is slippery, and where a player of the other seat draws its moves and groups are copies of one game."""
    options, model = {**SMALL, **SIZES, "save_episodes": True}, written
    if game != "Sokoban-v0":  # the small model of characters reads every text
        options |= {"env_preset": "ragen", "max_new_tokens": 6, "turns": 2}
        model = tmp_path / "model"
        make_small_model("characters", hidden=16, layers=1, heads=2).save(model)
    alone = TextPPO(model, game, **options)
    iterations = 2 if game == "Sokoban-v0" else 1
    lines = learnt(alone, iterations)
    for samplers in (2, 5) if game == "Sokoban-v0" else (3,):
        shared = TextPPO(model, game, **options).sample_at(InProcess(), samplers)
        found = learnt(shared, iterations)
        for name in ("ids", "spans", "turns", "starts", "episode", "groups", "scores", "turn_rewards", "room_hashes"):
            np.testing.assert_array_equal(getattr(shared.batch, name), getattr(alone.batch, name), err_msg=name)
        np.testing.assert_allclose(shared.batch.sampler_log_probs, alone.batch.sampler_log_probs, atol=1e-5)
        for one, other in zip(found, lines, strict=True):
            assert one == pytest.approx(other, abs=1e-4)


@pytest.mark.slow
def test_a_share_whose_worker_is_lost_is_played_again(written):
    options = {**SMALL, **SIZES}
    lines = learnt(TextPPO(written, "Sokoban-v0", **options), 4)
    shared = TextPPO(written, "Sokoban-v0", **options).sample_at(Forgetful(), 4)
    for one, other in zip(learnt(shared, 4), lines, strict=True):
        assert one == pytest.approx(other, abs=1e-4)
    assert shared._episodes._elsewhere.lost >= 1


@pytest.mark.parametrize(
    "workers", [None, pytest.param(InProcess(), marks=pytest.mark.slow)], ids=["here", "elsewhere"]
)
def test_overlap_plays_with_the_weights_before_the_last_update(written, workers):
    options = {**SMALL, **SIZES, "val_every": 0, "overlap": True, "save_episodes": True, "iterations": 3, "lr": 1e-2}
    model = TextPPO(written, "Sokoban-v0", **options)
    if workers is not None:
        model.sample_at(workers, 2)
    lines = []
    for _ in range(3):
        lines += learnt(model, 1)
        paid = [sum(sum(record.rewards) + record.penalty for record in turns) for turns in model.batch.records]
        assert lines[-1]["rollout/return"] == pytest.approx(np.mean(paid))
    assert [line["train/policy_lag"] for line in lines] == [0, 1, 1]
    assert lines[0]["train/sampler_gap"] < 1e-4  # the sampler's probabilities are the learner's before the update, and
    assert min(line["train/sampler_gap"] for line in lines[1:]) > 1e-3  # later on those of one update ago
    assert model._episodes._ahead is None  # nothing is begun that nobody learns from


@pytest.mark.slow
def test_a_checkpoint_does_not_know_who_played(written, tmp_path):
    options = {**SMALL, **SIZES}
    whole = TextPPO(written, "Sokoban-v0", **options)
    lines = learnt(whole, 4)
    begun = TextPPO(written, "Sokoban-v0", **options).sample_at(InProcess(), 2)
    first = learnt(begun, 2)
    begun.release_samplers()
    begun.save(tmp_path / "run")
    resumed = ludory.load(tmp_path / "run")
    for one, other in zip(first + learnt(resumed, 2), lines, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


@pytest.mark.slow
def test_lora_and_its_weights_reach_the_workers(written):
    options = {**SMALL, **SIZES, "lora_rank": 2, "val_every": 0, "lr": 1e-2}
    pytest.importorskip("peft")
    lines = learnt(TextPPO(written, "Sokoban-v0", **options), 3)
    shared = TextPPO(written, "Sokoban-v0", **options).sample_at(InProcess(), 2)
    for one, other in zip(learnt(shared, 3), lines, strict=True):
        assert one == pytest.approx(other, abs=1e-3)


def test_a_packed_model_is_the_model(model):
    packed = PackedModel.of(model)
    copy = packed.unpack("cpu")
    assert copy.hash == model.hash
    assert copy.tokenizer_hash == model.tokenizer_hash
    assert copy.template.kind == model.template.kind
    assert json.loads(packed.files["config.json"])["model_type"] == model.model.config.model_type


def test_batches_are_joined_in_order(batch):
    both = joined([batch, batch])
    assert both.num_episodes == 2 * batch.num_episodes
    half = np.arange(both.num_episodes) >= batch.num_episodes
    for part in (both.select(~half), both.select(half)):
        for name in ("ids", "starts", "episode", "scores", "turn_rewards"):
            np.testing.assert_array_equal(getattr(part, name), getattr(batch, name))
    assert set(both.groups[half]) == {2, 3}


def test_more_samplers_than_groups_are_refused(written):
    with pytest.raises(OptionError, match="9 samplers for 5 groups"):
        TextPPO(written, "Sokoban-v0", **{**SMALL, **SIZES}).sample_at(InProcess(), 9)
