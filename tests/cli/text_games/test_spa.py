"""`ludory spa`: every stage from the command line, configurations, and errors in one line."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from ludory.cli import main

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spa") / "data"
    command = f"spa generate --model small --preset compact --policy random --episodes 16 --groups 4 --group-size 2 --out {folder}"
    assert main(command.split()) == 0
    return folder


def test_generate_counts_what_it_made(data, capsys):
    command = f"spa generate --model small --preset compact --policy random --episodes 16 --groups 4 --group-size 2 --out {data}"
    assert main(command.split()) == 0
    out = capsys.readouterr().out
    assert "16 episodes" in out
    assert "forms: ok" in out


@pytest.mark.slow
def test_stages_from_the_command_line(data, tmp_path, capsys):
    sft, ppo = tmp_path / "sft", tmp_path / "ppo"
    shown = "--preset compact --env Sokoban-v0"
    assert main(f"spa sft --model small {shown} --data {data} --epochs 1 --check-rooms 0 --out {sft}".split()) == 0
    options = "--set groups=2 --set group_size=2 --set iterations=1 --set val_every=0 --set max_new_tokens=24"
    assert main(f"spa ppo --model {sft} {shown} --settings tiny --prompt-mode base {options} --out {ppo}".split()) == 0
    capsys.readouterr()
    command = (
        f"spa eval --model ppo={ppo} sft={sft} {shown} --rooms 2 --samples 2 --k 1 2 --max-new-tokens 24 --seen {data}"
    )
    assert main(command.split()) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("Pass@2", "random", "optimum", "ppo - sft", "unseen"))


def test_filter_keeps_the_strict_form(tmp_path, capsys):
    good = "<think><observation>a</observation><prediction>b</prediction></think><answer>Up</answer>"
    pq.write_table(pa.table({"prompt": ["p", "p"], "response": [good, "<answer>Up</answer>"]}), tmp_path / "in.parquet")
    assert main(["spa", "filter", "--data", str(tmp_path / "in.parquet"), "--out", str(tmp_path / "out.parquet")]) == 0
    assert pq.read_table(tmp_path / "out.parquet")["response"].to_pylist() == [good]
    assert "1 of 2 rows" in capsys.readouterr().out


def test_configurations_are_listed_shown_and_read(tmp_path, capsys):
    assert main(["spa", "config", "list"]) == 0
    assert "spa/_2_sokoban" in capsys.readouterr().out
    assert main(["spa", "config", "show", "spa/_2_sokoban"]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert shown["text"]["style"] == "sentence"
    assert main(["spa", "config", "show", "spa/_2_sokoban", "--original"]) == 0
    assert "actor_rollout_ref.rollout.rollout_filter_ratio" in capsys.readouterr().out
    (tmp_path / "base.yaml").write_text("agent_proxy: {max_turn: 3}\nunheard: 1\n")
    assert main(["spa", "config", "read", str(tmp_path / "base.yaml")]) == 1
    out = capsys.readouterr().out
    assert yaml.safe_load(out)["text"]["turns"] == 3
    assert "#   unheard: 1" in out
    (tmp_path / "known.yaml").write_text("agent_proxy: {max_turn: 3}\n")
    assert main(["spa", "config", "read", str(tmp_path / "known.yaml")]) == 0


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("spa generate --model small --episodes 17 --out x", "must be a multiple of"),
        ("spa generate --model nowhere --out x", "nowhere: no such folder; models are not downloaded"),
        ("spa sft --model small --preset compact --data nowhere --out x", "does not exist"),
        ("spa sft --model small --mask thoughts --data nowhere --out x", "mask='thoughts': must be"),
        ("spa run --config spa/_9_chess --out x", "one of ragen/_2_sokoban"),
        ("spa generat", "did you mean 'generate'"),
    ],
)
def test_errors_are_one_line(command, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(command.split()) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
