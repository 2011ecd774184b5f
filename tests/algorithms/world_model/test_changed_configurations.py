"""A run in a folder that holds another configuration is refused by name; devices, backends and sizes of parts reach every stage."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch

pytest.importorskip("transformers")

from ludory.agents.language.hf import HfGenerator
from ludory.agents.language.small_model import make_small_model
from ludory.algorithms.text_ppo.config import make_text_ppo_config
from ludory.algorithms.text_ppo.text_ppo import TextPPO
from ludory.algorithms.world_model import pipeline, sft
from ludory.algorithms.world_model.config import EvalConfig, GenerateConfig, SFTConfig, SpaConfig, TextConfig
from ludory.algorithms.world_model.evaluation import evaluate_models
from ludory.algorithms.world_model.generate import generate
from ludory.algorithms.world_model.pipeline import ppo_options, ppo_stage, run, sft_stage
from ludory.errors import OptionError, OutputError
from ludory.web.runs import find_runs, points_of, summary

COMPACT = TextConfig(env="Sokoban-v0", preset="compact")
PLAY = GenerateConfig(policy="random", batches=1, groups=4, group_size=1, validation_share=0.0)
SFT = SFTConfig(epochs=1, batch_size=4, check_rooms=0)
PPO = {"preset": "tiny", "groups": 2, "group_size": 2, "val_every": 0, "max_new_tokens": 8, "collapse_every": 0} | {
    "device": "cpu",
    "filter": "none",
}


def small(seed=0):
    return make_small_model("words", hidden=16, layers=1, heads=2, seed=seed)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return generate(small(), COMPACT, PLAY, tmp_path_factory.mktemp("data") / "data").folder


@pytest.fixture(scope="module")
def fine_tuned(data):
    sft_stage(small(), data, SFT, data.parent / "sft")
    return data.parent / "sft"


@pytest.fixture(scope="module")
def trained(data):
    return ppo_stage(small(), COMPACT, {**PPO, "iterations": 4, "checkpoint_every": 2}, data.parent / "ppo")


def test_data_of_another_configuration_are_refused_by_what_changed(data):
    with pytest.raises(OutputError, match=r"generate\.groups was 4, now 5; go back to .* name another folder"):
        generate(small(), COMPACT, dataclasses.replace(PLAY, groups=5), data)


def test_data_go_on_with_another_backend(data):
    found = generate(small(), COMPACT, dataclasses.replace(PLAY, backend="static"), data)
    assert found.counts["episodes"] == 4


def test_fine_tuning_with_a_changed_configuration_is_refused_and_nothing_is_trained(data, fine_tuned, monkeypatch):
    monkeypatch.setattr(pipeline, "fine_tune", None)
    with pytest.raises(OutputError, match=r"sft\.epochs was 1, now 3"):
        sft_stage(small(), data, dataclasses.replace(SFT, epochs=3), fine_tuned)
    with pytest.raises(OutputError, match=r"model was [0-9a-f]{12}\b"):
        sft_stage(small(seed=1), data, SFT, fine_tuned)


def test_fine_tuning_on_data_that_changed_in_their_place_is_refused(fine_tuned, tmp_path):
    other = generate(small(), COMPACT, dataclasses.replace(PLAY, seed=7), tmp_path / "data").folder
    with pytest.raises(OutputError, match="data was"):
        sft_stage(small(), other, SFT, fine_tuned)


def test_complete_fine_tuning_is_skipped_whatever_its_memory_and_device_are(data, fine_tuned, monkeypatch):
    monkeypatch.setattr(pipeline, "fine_tune", None)
    same = dataclasses.replace(SFT, micro_batch=1, device="cpu", checkpoint_every=7)
    assert sft_stage(small(), data, same, fine_tuned)[-1]["train/loss"] > 0


def test_an_interrupted_fine_tuning_of_another_configuration_is_not_thrown_away(data, tmp_path):
    rows = sft_rows(data)
    begun = sft.SFT(small(), rows, [], dataclasses.replace(SFT, epochs=2), tmp_path / "sft")
    begun._save()
    with pytest.raises(OutputError, match=r"sft\.epochs was 2, now 1"):
        sft.SFT(small(), rows, [], SFT, tmp_path / "sft").learn()


def sft_rows(data):
    from ludory.algorithms.world_model.rows import load_rows

    return load_rows(data / "wm_train.parquet", small(), SFT)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"lr": 1e-3}, r"ppo\.lr was 0\.0005, now 0\.001"),
        ({"prompt_mode": "base"}, r"ppo\.prompt_mode was 'world_model'"),
    ],
)
def test_ppo_with_changed_options_is_refused(trained, changed, said):
    with pytest.raises(OutputError, match=said):
        ppo_stage(small(), COMPACT, {**PPO, "iterations": 4, **changed}, trained)


def test_ppo_from_another_model_or_on_another_game_is_refused(trained):
    with pytest.raises(OutputError, match="model was"):
        ppo_stage(small(seed=1), COMPACT, {**PPO, "iterations": 4}, trained)
    with pytest.raises(OutputError, match=r"game\.id was 'Sokoban-v0', now 'Sudoku4-v0'"):
        ppo_stage(small(), TextConfig(env="Sudoku4-v0", preset="compact"), {**PPO, "iterations": 4}, trained)


@pytest.mark.slow
def test_ppo_goes_on_to_more_iterations(tmp_path):
    ppo_stage(small(), COMPACT, {**PPO, "iterations": 1}, tmp_path / "ppo")
    ppo_stage(small(), COMPACT, {**PPO, "iterations": 2}, tmp_path / "ppo")
    assert TextPPO.load(tmp_path / "ppo").iteration == 2


def test_a_run_of_ppo_has_a_curve_and_older_checkpoints_in_the_browser(trained):
    runs = find_runs(trained.parent)
    assert {"ppo", "ppo-checkpoints/iteration_2", "ppo-checkpoints/iteration_4"} <= runs.keys()
    assert [x for x, _ in points_of(runs["ppo"], "rollout/success")] == [4, 8, 12, 16]
    assert summary(runs["ppo"])["reward"] is not None
    assert TextPPO.load(trained.parent / "ppo-checkpoints" / "iteration_2").iteration == 2


def test_fine_tuning_has_a_curve_in_the_browser(fine_tuned):
    runs = find_runs(fine_tuned.parent)
    assert len(points_of(runs["sft"], "train/loss")) == 1


def test_the_dots_of_a_folder_stay_in_the_name_of_its_curve(tmp_path):
    from ludory.algorithms.running.metric_logs import table_beside

    table_beside(tmp_path / "qwen-1.5b").close()
    assert (tmp_path / "qwen-1.5b.csv").exists()


def test_a_part_of_a_batch_has_at_most_micro_batch_rows_and_the_result_is_the_same(data, monkeypatch):
    rows, sizes, original = sft_rows(data)[:6], [], sft.token_losses

    def counted(model, batch, total=None):
        sizes.append(len(batch.ids))
        return original(model, batch, total)

    monkeypatch.setattr(sft, "token_losses", counted)
    whole, parts = small(), small()
    config = dataclasses.replace(SFT, epochs=2, batch_size=5, learning_rate=1e-2)
    expected = sft.fine_tune(whole, rows, [], config)
    assert max(sizes) == 5
    sizes.clear()
    found = sft.fine_tune(parts, rows, [], dataclasses.replace(config, micro_batch=2))
    assert sizes == [2, 2, 1, 1] * 2
    assert found[-1]["train/loss"] == pytest.approx(expected[-1]["train/loss"], rel=1e-4)
    for ours, theirs in zip(parts.model.parameters(), whole.model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-3)


def test_trl_takes_the_rows_of_a_forward_pass_too():
    pytest.importorskip("trl")
    from ludory.algorithms.world_model.trl_trainer import trl_arguments

    found = trl_arguments(SFTConfig(batch_size=8, micro_batch=2), "unused", "cpu")
    assert (found.per_device_train_batch_size, found.gradient_accumulation_steps) == (2, 4)
    with pytest.raises(OptionError, match="micro_batch=3: must divide batch_size=8"):
        trl_arguments(SFTConfig(batch_size=8, micro_batch=3), "unused", "cpu")


def test_the_device_of_the_configuration_is_that_of_fine_tuning(data, tmp_path):
    with pytest.raises(OptionError, match="invalid device 'cuda:99'"):
        sft_stage(small(), data, dataclasses.replace(SFT, device="cuda:99"), tmp_path / "sft")


@pytest.mark.parametrize(
    "changed",
    [{"sft": dataclasses.replace(SFT, device="cuda:99")}, {"ppo": {"device": "cuda:99"}}, {"ppo": {"lr": -1}}],
)
def test_a_run_whose_last_stages_are_not_possible_does_not_begin(changed, tmp_path):
    with pytest.raises(OptionError, match=r"invalid device|lr=-1"):
        run(dataclasses.replace(SpaConfig(model="small", text=COMPACT), **changed), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_ppo_plays_as_the_text_of_the_configuration_says():
    text = dataclasses.replace(COMPACT, strict=True, penalty_at="episode", turns=3)
    found = make_text_ppo_config(**ppo_options(text))
    assert (found.strict, found.penalty_at, found.turns) == (True, "episode", 3)


@pytest.fixture
def vllm(monkeypatch):
    """A stand-in for vLLM; holds what happened."""
    seen: list[str] = []

    class FakeVllm(HfGenerator):
        def generate(self, prompts, sampling, seeds):
            seen.append("generate")
            return super().generate(prompts, sampling, seeds)

        def sleep(self):
            seen.append("sleep")

    monkeypatch.setattr("ludory.agents.language.vllm.VllmGenerator", FakeVllm)
    return seen


@pytest.mark.slow
def test_generation_and_evaluation_sample_with_the_backend_and_give_its_memory_back(vllm, tmp_path):
    model = small()
    play = dataclasses.replace(PLAY, policy="model", max_new_tokens=8, backend="vllm")
    with pytest.raises(Exception, match="no row is left"):  # a model with random weights names no action
        generate(model, COMPACT, play, tmp_path / "data")
    assert vllm[0] == "generate"
    assert vllm[-1] == "sleep"
    vllm.clear()
    evaluate_models({"a": model}, COMPACT, EvalConfig(rooms=1, samples=1, k=(1,), max_new_tokens=8, backend="vllm"))
    assert vllm[0] == "generate"
    assert vllm[-1] == "sleep"


def test_the_backend_of_a_run_reaches_all_stages():
    config = SpaConfig(ppo=PPO).sampled_by("vllm")
    assert (config.generate.backend, config.ppo["backend"], config.eval.backend) == ("vllm",) * 3
    assert json.loads(json.dumps(config.ppo))["groups"] == 2
