"""Fine-tuning: one loss for both trainers, adapters, long rows, foreign tokenizers, and runs that are interrupted."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from support.language.replies_in_tokens import tokens_of

from ludory.algorithms.world_model import files
from ludory.algorithms.world_model.config import SFTConfig
from ludory.algorithms.world_model.masks import PLACEHOLDER
from ludory.algorithms.world_model.rows import TokenRow, batch_of, load_rows, load_validation, row_of, table_of
from ludory.algorithms.world_model.sft import SFT, batch_loss, fine_tune, rate_at, token_losses
from ludory.errors import CheckpointError, DataError, OptionError

pytest.importorskip("transformers")

PROMPT = "WM 5 <state> # # # # P 1 2"


def reply(a: int, b: int) -> str:
    return (
        f"<think> <observation> P {a} {b} X 2 2 O 3 3 </observation> <prediction> P {b} {a} X 2 2 O 3 3 </prediction> </think> "
        "<answer> Up Left </answer>"
    )


@pytest.fixture
def model():
    from ludory.agents.language.small_model import make_small_model

    return make_small_model("words", hidden=16, layers=1, heads=2)


def rows_of(model, count=12):
    rows = []
    for number in range(count):
        ids, spans = tokens_of(reply(number % 5, number % 3), model.tokenizer, " ")
        rows.append(row_of(model.encode(PROMPT), ids, spans, model))
    return rows


def write(folder, model, count=4, **columns):
    rows = rows_of(model, count)
    prompts, responses = [PROMPT] * count, [reply(number % 5, number % 3) for number in range(count)]
    table = {
        "input_ids": [row.ids.tolist() for row in rows],
        "spans": [row.spans.tolist() for row in rows],
        "prompt": prompts,
        "response": responses,
        "episode": list(range(count)),
        "turn": [0] * count,
        "room_hash": list(range(count)),
    }
    files.write_table(folder / files.TRAIN, table | columns, files.ROWS)
    files.write_meta(folder, {"tokenizer": files.tokenizer_hash(model.tokenizer)})
    return folder / files.TRAIN


def test_the_loss_is_a_mean_over_tokens_of_the_batch_not_over_rows(model):
    config = SFTConfig(mask="states")
    short = rows_of(model, 1)[0]
    long = TokenRow(np.concatenate([short.ids, short.ids[-30:]]), np.concatenate([short.spans, short.spans[-30:]]))
    losses = token_losses(model.model, batch_of([short, long], table_of(config), 0))
    each = [token_losses(model.model, batch_of([row], table_of(config), 0)).sums.sum(1) for row in (short, long)]
    total = each[0] + each[1]
    assert float(losses.mean.detach()) == pytest.approx(float(total[0] / total[1]), abs=1e-5)
    assert float(total[1]) == 2 * 18 + 18


def test_weights_scale_the_loss_of_their_span(model):
    rows = rows_of(model, 3)
    heavy = table_of(SFTConfig(weights={"answer": 3.0, "prediction": 1.0}))
    found = token_losses(model.model, batch_of(rows, heavy, 0))
    sums = found.sums
    expected = (3 * sums[0, 3] + sums[0, 5]) / (3 * sums[1, 3] + sums[1, 5])
    assert float(found.mean.detach()) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.slow
def test_trl_has_the_same_loss_on_the_same_batch(model, tmp_path):
    pytest.importorskip("trl")
    from ludory.algorithms.world_model.trl_trainer import trl_trainer

    config, rows = SFTConfig(mask="states_tags", trainer="trl", batch_size=4), rows_of(model, 4)
    trainer = trl_trainer(model, rows, config, tmp_path)
    inputs = trainer._prepare_inputs(next(iter(trainer.get_train_dataloader())))
    trained = int((inputs["labels"][:, 1:] != -100).sum())
    trainer.model.train(False)
    theirs = float(trainer.compute_loss(trainer.model, dict(inputs), num_items_in_batch=torch.tensor(trained)))
    assert theirs == pytest.approx(batch_loss(model, rows, table_of(config)), abs=1e-4)


@pytest.mark.slow
def test_trl_trains_and_writes_a_model(model, tmp_path):
    pytest.importorskip("trl")
    from ludory.agents.language.model import load_language_model

    before = model.hash
    fine_tune(
        model,
        rows_of(model),
        [],
        SFTConfig(trainer="trl", epochs=1, batch_size=4, learning_rate=1e-2),
        tmp_path / "out",
    )
    written = load_language_model(tmp_path / "out", device="cpu")
    assert written.hash == model.hash != before


def test_trl_refuses_weights_that_labels_cannot_say(model, tmp_path):
    pytest.importorskip("trl")
    with pytest.raises(OptionError, match="trainer='lightning'"):
        fine_tune(model, rows_of(model), [], SFTConfig(trainer="trl", weights={"answer": 0.5}), tmp_path / "out")


def test_rows_are_learnt(model):
    rows = rows_of(model, 15)
    config = SFTConfig(epochs=12, batch_size=5, learning_rate=1e-2)
    before = batch_loss(model, rows, table_of(config))
    history = fine_tune(model, rows, rows[:3], config)
    assert history[-1]["train/loss"] < 0.4 * before
    assert {"val/loss", "val/prediction_perplexity", "train/answer_loss"} <= set(history[-1])


def test_an_interrupted_run_goes_on_to_the_same_numbers(tmp_path):
    from ludory.agents.language.small_model import make_small_model

    class KilledError(Exception):
        pass

    def run(folder, killed_at=None):
        model = make_small_model("words", hidden=16, layers=1, heads=2)
        sft = SFT(model, rows_of(model), [], SFTConfig(epochs=3, batch_size=4, checkpoint_every=2), folder)
        if killed_at is not None:
            count = [0]

            def after_batch(samples, loss):
                count[0] += 1
                if count[0] == killed_at:
                    raise KilledError

            sft.after_batch = after_batch
        history = sft.learn()
        sft.finish()
        return model.hash, [{k: v for k, v in one.items() if not k.startswith("time/")} for one in history]

    whole = run(tmp_path / "whole")
    for place in (1, 3, 5, 8):
        with pytest.raises(KilledError):
            run(tmp_path / f"killed{place}", place)
        assert run(tmp_path / f"killed{place}") == whole
        assert not (tmp_path / f"killed{place}.progress").exists()


@pytest.mark.parametrize("name", ["ludory.json", "run.safetensors"])
def test_a_checkpoint_whose_bytes_changed_is_refused(model, tmp_path, name):
    config = SFTConfig(epochs=1, batch_size=4)
    SFT(model, rows_of(model), [], config, tmp_path / "out").learn()
    file = tmp_path / "out.progress" / name
    data = bytearray(file.read_bytes())
    data[-20] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(CheckpointError, match="remove the folder to begin anew"):
        SFT(model, rows_of(model), [], config, tmp_path / "out").learn()


def test_bytes_of_rows_that_changed_are_refused(model, tmp_path):
    file = write(tmp_path, model, count=40)
    data, wrong = file.read_bytes(), 0
    for place in range(8, len(data) // 2, 97):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        try:
            assert load_rows(file, model, SFTConfig())
        except DataError:
            wrong += 1
    assert wrong > 3
    (tmp_path / files.VALIDATION).write_bytes(data[:50])
    with pytest.raises(DataError, match=r"wm_val\.parquet: damaged"):
        load_validation(tmp_path / files.VALIDATION, model, SFTConfig())


def test_a_record_that_was_changed_is_refused_and_earlier_ones_are_read(tmp_path):
    files.write_meta(tmp_path, {"counts": {"rooms": [3, 10]}, "history": [float("nan")]})
    meta = tmp_path / files.META
    assert files.read_meta(tmp_path)["counts"] == {"rooms": [3, 10]}
    meta.write_text(meta.read_text().replace("10", "11"))
    with pytest.raises(DataError, match="does not have the SHA-256"):
        files.read_meta(tmp_path)
    meta.write_text('{"counts": {}}')
    assert files.read_meta(tmp_path) == {"counts": {}}


def test_adapters_are_trained_alone_and_merged(model, tmp_path):
    pytest.importorskip("peft")
    before = {name: weight.clone() for name, weight in model.model.named_parameters()}
    sft = SFT(model, rows_of(model), [], SFTConfig(epochs=2, batch_size=4, lora_rank=2, learning_rate=1e-2))
    trainable = sum(weight.numel() for weight in sft.network.parameters() if weight.requires_grad)
    assert trainable < 0.2 * sum(weight.numel() for weight in before.values()) + 2000
    sft.learn()
    sft.finish()
    after = dict(model.model.named_parameters())
    assert set(after) == set(before)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert any("attn" in name for name in changed)
    assert not any("wte" in name for name in changed)


def test_the_step_size_warms_up_and_falls_to_0():
    config = SFTConfig(learning_rate=1.0, warmup=0.1)
    rates = [rate_at(config, step, 100) for step in range(100)]
    assert rates[0] == 0.1
    assert max(rates) == rates[9] == 1.0 or max(rates) == rates[10]
    assert rates[-1] < 1e-3


def test_rows_of_the_same_tokenizer_are_taken_as_they_are(model, tmp_path):
    file = write(tmp_path, model)
    assert all(
        np.array_equal(a.ids, b.ids) and np.array_equal(a.spans, b.spans)
        for a, b in zip(load_rows(file, model, SFTConfig()), rows_of(model, 4), strict=True)
    )


def test_rows_of_another_tokenizer_are_made_from_text(model, tmp_path):
    file = write(tmp_path, model, input_ids=[[1, 2]] * 4, spans=[[0, 1]] * 4)
    files.write_meta(tmp_path, {"tokenizer": "another"})
    for ours, theirs in zip(load_rows(file, model, SFTConfig()), rows_of(model, 4), strict=True):
        assert np.array_equal(ours.ids, theirs.ids)
        assert np.array_equal(ours.spans, theirs.spans)


def test_files_of_other_programs_with_their_own_columns(model, tmp_path):
    import pyarrow as pa

    files.write_arrow(tmp_path / "theirs.parquet", pa.table({"question": [PROMPT], "output": [reply(1, 2)]}))
    rows = load_rows(tmp_path / "theirs.parquet", model, SFTConfig(prompt_key="question", response_key="output"))
    assert sorted(set(rows[0].spans.tolist())) == [0, 1, 3, 4, 5]
    with pytest.raises(DataError, match="column 'prompt' is missing; it has question, output"):
        load_rows(tmp_path / "theirs.parquet", model, SFTConfig())


def test_long_rows_are_refused_or_dropped_never_cut(model, tmp_path):
    file = write(tmp_path, model)
    with pytest.raises(DataError, match=r"4 rows have more than 20 tokens \(row 0: \d+"):
        load_rows(file, model, SFTConfig(max_length=20))
    with pytest.raises(DataError, match="no row is left"):
        load_rows(file, model, SFTConfig(max_length=20, overlong="drop"))


def test_the_placeholder_is_a_new_token_without_a_loss(model, tmp_path):
    size = model.model.get_input_embeddings().weight.shape[0]
    rows = load_rows(write(tmp_path, model), model, SFTConfig(mask="placeholder"))
    mark = model.tokenizer.convert_tokens_to_ids(PLACEHOLDER)
    assert model.model.get_input_embeddings().weight.shape[0] == size + 1 == mark + 1
    batch = batch_of(rows, table_of(SFTConfig(mask="placeholder")), 0)
    assert (batch.ids == mark).sum() == 2 * len(rows)
    assert (batch.labels == mark).sum() == 0


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"spans": [[0]] * 4}, "row 0, column 'spans': got 1 values, must be"),
        ({"input_ids": [[999] * 40] * 4, "spans": [[1] * 40] * 4}, "row 0, column 'input_ids': got 999, the model has"),
        ({"input_ids": [[1] * 3] * 4, "spans": [[1, 7, 1]] * 4}, "row 0, column 'spans': got 7, must lie in 0..5"),
    ],
)
def test_damaged_values_are_named(model, tmp_path, columns, said):
    with pytest.raises(DataError, match=said):
        load_rows(write(tmp_path, model, **columns), model, SFTConfig())


def test_damaged_files_are_named(model, tmp_path):
    file = write(tmp_path, model)
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(DataError, match=r"wm_train.parquet: damaged, or no Parquet file"):
        load_rows(file, model, SFTConfig())
    with pytest.raises(DataError, match="does not exist"):
        load_rows(tmp_path / "none.parquet", model, SFTConfig())
    (tmp_path / files.META).write_text("{")
    write_again = json.loads('{"tokenizer": "x"}')
    with pytest.raises(DataError, match=r"meta.json: damaged"):
        files.read_meta(tmp_path)
    files.write_meta(tmp_path, write_again)
    assert files.read_meta(tmp_path) == write_again


@pytest.mark.slow
def test_a_run_of_two_processes_that_is_interrupted_goes_on_in_one(tmp_path):
    """Batches that do not divide, in parts; the numbers are those of one process."""
    from ludory.agents.language.small_model import make_small_model

    class KilledError(Exception):
        pass

    def run(folder, devices):
        options = {"epochs": 2, "batch_size": 5, "micro_batch": 2, "checkpoint_every": 3, "learning_rate": 1e-2}
        model = make_small_model("words", hidden=16, layers=2, heads=2)
        config = SFTConfig(**options, devices=devices)

        def check(current):
            if devices == 2 and sft.history:
                raise KilledError
            return {"check/rooms": 1.0}

        sft = SFT(model, rows_of(model, 11), rows_of(model, 3), config, folder, check)
        history = sft.learn()
        sft.finish()
        return model, [{k: v for k, v in one.items() if not k.startswith("time/")} for one in history]

    alone, expected = run(tmp_path / "alone", 1)
    with pytest.raises(KilledError):
        run(tmp_path / "killed", 2)
    again, found = run(tmp_path / "killed", 1)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-5)
    # sums of two processes round differently, and Adam's steps of 0.01 grow with the quotient of two small numbers
    for name, weight in alone.model.state_dict().items():
        torch.testing.assert_close(again.model.state_dict()[name], weight, atol=1e-4, rtol=0)
