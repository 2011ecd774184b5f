"""Distilling learns what a search found, from a recording and from search logs alike; it resumes to the same numbers and refuses what it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import ludory
from ludory.agents.evaluation.record import record
from ludory.agents.hanabi.networks.import_hanabi_gru import NAMES
from ludory.algorithms.distill import Distill, DistillConfig
from ludory.algorithms.distill.loss import advantages
from ludory.algorithms.distill.module import DistillModule
from ludory.algorithms.offline.batches import ask, renamed
from ludory.checkpoints.checkpoint import read_checkpoint, read_header
from ludory.cli import main
from ludory.data.dataset import LAST_MOVES
from ludory.data.formats.sparta.writer import write_sparta_log
from ludory.data.recording.search_record import recorded_games
from ludory.data.shards import read_manifest
from ludory.envs.make import make_game
from ludory.errors import DataError, LogFormatError, OptionError

pytestmark = pytest.mark.slow

GAME = "HanabiTiny2P-v0"
GRU = "hanabi_gru(hidden=(16,), memory_size=12)"
SMALL: dict[str, Any] = {
    "split_ratio": (0.8, 0.2, 0.0),
    "learning_rate": 1e-2,
    "batch_size": 64,
    "eval_games": 0,
    "seed": 2,
}


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searched")
    record("sparta(hanabi/smartbot, rollouts=48, threshold=0, errors=0)", GAME, 24, folder, seed=3)
    return folder


@pytest.fixture(scope="module")
def log(games: Path) -> Path:
    manifest, file = read_manifest(games), games / "log.jsonl"
    write_sparta_log(file, manifest.header, recorded_games(games, manifest), legal="ids")
    return file


@pytest.fixture(scope="module")
def blueprint(games: Path) -> Path:
    file = games / "blueprint.ludory"
    Distill(GRU, GAME, dataset=games, num_epochs=5, **SMALL).learn().save(file)
    return file


@pytest.mark.slow
def test_under_other_names_a_search_found_the_same(games: Path) -> None:
    model = Distill(GRU, GAME, dataset=games, augment=True, **SMALL)
    layout, none = model.training_data.layout, model.game.facts.head_sizes[0]
    others = 0
    for place in range(4):
        batch = next(model.training_data.batches(256, seed=place))
        other = renamed(batch, model.game, (place,), layout)
        assert torch.equal(other.extras[:, layout["searched"]], batch.extras[:, layout["searched"]])
        found = []
        for one in (batch, other):
            q, kept = (one.extras[:, layout[name]] for name in ("q", "action_blueprint"))
            moves = one.extras[:, layout[LAST_MOVES]]
            best = kept.nan_to_num().long()
            found.append((q.gather(1, one.actions), q.gather(1, best), kept == one.actions, moves == none, q.nansum(1)))
        for before, after in zip(*found, strict=True):
            assert torch.allclose(before.float(), after.float(), equal_nan=True, atol=1e-5)
        others += int(
            (other.extras[:, layout["action_blueprint"]] != batch.extras[:, layout["action_blueprint"]]).sum()
        )
    assert others
    assert model.learn().finished


def test_whose_moves_teach_is_told_by_the_players_that_search(games: Path) -> None:
    model = Distill(GRU, GAME, dataset=games, **SMALL)
    module, layout = model.make_module(), model.training_data.layout
    batch = next(model.training_data.batches(64))
    for name, every in (("searches", 3), ("searched", 5)):
        batch.extras[:, layout[name]] = (torch.arange(len(batch.actions)) % every == 0).float()[:, None]
    said = ask(model.policy, batch, layout[LAST_MOVES], 1)
    assert torch.equal(module._targets(said).searched, torch.arange(len(batch.actions)) % 3 == 0)
    older = {name: place for name, place in layout.items() if name != "searches"}
    module._training = SimpleNamespace(layout=older)  # type: ignore[assignment]
    assert torch.equal(module._targets(said).searched, torch.arange(len(batch.actions)) % 5 == 0)


def logged(model: Distill) -> list[dict[str, float]]:
    """The metrics of each epoch of `learn`."""
    epochs: list[dict[str, float]] = []
    dump = model.logger.dump

    def keep(step: int = 0) -> None:
        epochs.append(dict(model.logger.name_to_value))
        dump(step)

    model.logger.dump = keep  # type: ignore[method-assign]
    model.learn(reset_num_timesteps=False)
    return epochs


def equal(one: Distill, other: Distill) -> bool:
    a, b = one._tensors(), other._tensors()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


# --- Learning. --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["ludory", "seed"])
def test_it_learns_the_moves_and_the_returns(mode: Any, games: Path) -> None:
    options = SMALL | ({"split_ratio": (1, 0, 0)} if mode == "seed" else {})
    epochs = logged(Distill(GRU, GAME, dataset=games, mode=mode, num_epochs=16, **options))
    first, last = epochs[0], epochs[-1]
    assert last["train/accuracy"] > first["train/accuracy"] + 0.1
    assert last["train/nll"] < 0.85 * first["train/nll"]
    assert last["train/explained_variance"] > 0.5
    assert ("val/loss" in last) == (mode == "ludory")
    assert ("train/q_error" in last and last["train/q_error"] < first["train/q_error"]) or mode == "seed"


def test_a_search_log_teaches_what_the_recording_does(games: Path, log: Path) -> None:
    pair = [Distill(GRU, GAME, dataset=data, num_epochs=2, **SMALL).learn() for data in (games, [str(log)])]
    assert equal(*pair)
    assert pair[0].num_timesteps == pair[1].num_timesteps == 2 * len(pair[0].training_data)


def test_a_sequence_of_one_decision_is_a_decision_alone(games: Path, blueprint: Path) -> None:
    model = Distill(GRU, GAME, dataset=games, init_from=blueprint, **SMALL)
    whole, alone = next(model.training_data.sequences(5)), next(model.training_data.batches(10_000))
    key = lambda said: torch.stack([said.games, said.seats, said.returns]).T.tolist()  # noqa: E731
    every, single = ask(model.policy, whole, seq_len=1), ask(model.policy, alone)
    answers: dict[str, list[Any]] = {}
    for place, logits in zip(key(single), single.logits, strict=True):
        answers.setdefault(str(place), []).append(logits)
    for place, logits in zip(key(every), every.logits, strict=True):
        assert any(torch.allclose(logits, one, atol=1e-6) for one in answers[str(place)])
    through, pairs = ask(model.policy, whole), ask(model.policy, whole, seq_len=2)
    assert not torch.allclose(through.logits, every.logits, atol=1e-4)
    assert not torch.allclose(through.logits, pairs.logits, atol=1e-4)


def test_the_blueprint_holds_back_what_the_search_did_not_change(games: Path, blueprint: Path) -> None:
    kept = {}
    for weight in (0.0, 20.0):
        parts = {"lambda_kl": weight, "lambda_q": 0.0, "lambda_move": 1.0, "num_epochs": 4}
        model = Distill(env=GAME, dataset=games, init_from=blueprint, **parts, **SMALL)
        kept[weight] = logged(model)[-1]
        assert model.policy_spec.arguments["memory_size"] == 12
        assert (model._teacher_sha256 is None) == (weight == 0)
    assert "train/blueprint_kl" not in kept[0.0]
    assert kept[20.0]["train/blueprint_kl"] < 0.05
    assert kept[0.0]["train/nll"] < kept[20.0]["train/nll"]


def test_the_blueprint_counts_in_what_q_teaches_without_lambda_kl_too(games: Path, blueprint: Path) -> None:
    errors = []
    for sequence in (None, 1):
        model = Distill(env=GAME, dataset=games, init_from=blueprint, lambda_kl=0.0, seq_len=sequence, **SMALL)
        sums = [model.make_module()._judge(batch)[1].q for batch in model.training_data.sequences(5)]
        errors.append(torch.cat([rows[weights > 0] for rows, weights in sums]))
    advantage = torch.cat([(weights > 0).sum()[None] for _, weights in sums])
    assert advantage.sum() > 50
    assert not torch.allclose(errors[0], errors[1], atol=1e-4), "the learner forgets, its blueprint does not"
    model = Distill(env=GAME, dataset=games, init_from=blueprint, lambda_kl=0.0, **SMALL)
    (batch,) = list(model.training_data.sequences(1000))
    said, terms, _ = model.make_module()._judge(batch)
    targets = model.make_module()._targets(said)
    difference, weights = advantages(targets)
    weights = weights * said.masks
    expected = ((weights * difference**2).sum(1) / weights.sum(1))[weights.sum(1) > 0]
    assert torch.allclose(terms.q[0][terms.q[1] > 0], expected, rtol=1e-3), "nobody has left the blueprint yet"


def test_networks_that_are_told_the_last_moves_learn_too(games: Path) -> None:
    policy = "hanabi_gru(hidden=(8,), memory_size=8, previous='all')"
    told = logged(Distill(policy, GAME, dataset=games, num_epochs=4, **SMALL))
    assert told[-1]["train/nll"] < told[0]["train/nll"]


def test_a_checkpoint_of_the_seed_can_be_the_start(games: Path, tmp_path: Path) -> None:
    weights = Distill("hanabi_gru(hidden=(8,), memory_size=8)", GAME, **SMALL).policy.state_dict()
    torch.save({"model": {name: weights[ours] for name, ours in NAMES.items() if ours in weights}}, tmp_path / "c.pt")
    model = Distill(
        env=GAME, dataset=games, init_from=tmp_path / "c.pt", ckpt_action_order="ludory", num_epochs=1, **SMALL
    )
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.policy.state_dict().items())
    model.learn()
    assert model._teacher_sha256
    other = Distill(env=GAME, dataset=games, init_from=tmp_path / "c.pt", **SMALL)
    assert not torch.equal(other.policy.logits.weight, weights["logits.weight"]), (
        "play first: rows are put where they belong"
    )


def test_the_end_is_a_score_beside_the_blueprint_on_new_decks(
    games: Path, blueprint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = SMALL | {"eval_games": 40}
    model = Distill(env=GAME, dataset=games, init_from=blueprint, num_epochs=1, **options).learn()
    found = model.evaluation
    assert found["eval/ahead"] == pytest.approx(found["eval/return"] - found["eval/blueprint_return"])
    assert "on the same 40 new decks" in capsys.readouterr().out
    bot = Distill(GRU, GAME, dataset=games, num_epochs=1, **options).learn().evaluation
    assert bot["eval/blueprint_return"] > 3.5, "the recording names SmartBot"
    assert bot["eval/ahead"] < -1
    assert Distill(GRU, GAME, dataset=games, num_epochs=1, **SMALL).learn().evaluation == {}


def test_the_command_plays_as_many_new_decks_as_were_asked_for(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = command(games, tmp_path / "net.ludory", "--num-epochs", "1", "--eval-games", "12")
    assert main(line) == 0
    said = capsys.readouterr().out
    assert "on the same 12 new decks" in said
    assert "(mean return ± standard error, 12 games" in said
    assert Distill.load(tmp_path / "net.ludory").config.eval_games == 12


def test_what_comes_out_is_the_blueprint_of_the_next_search(blueprint: Path, tmp_path: Path) -> None:
    record(f"sparta({blueprint}, rollouts=16)", GAME, 1, tmp_path, seed=1)
    header = read_manifest(tmp_path).header
    assert list(header.checkpoints) == [str(blueprint)]
    again = Distill(env=GAME, dataset=tmp_path, init_from=blueprint, num_epochs=1, **SMALL | {"split_ratio": (1, 0, 0)})
    assert again.learn().num_timesteps == len(again.training_data)


# --- Files, stopping and going on. ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seq_len", [None, 1])
def test_a_resumed_run_ends_at_the_same_numbers(
    seq_len: int | None, games: Path, log: Path, blueprint: Path, tmp_path: Path
) -> None:
    options = SMALL | {"num_epochs": 2, "batch_size": 32, "seq_len": seq_len, "init_from": str(blueprint)}
    whole = Distill(env=GAME, dataset=games, **options).learn()
    for data, samples in ((str(log), 1), (games, whole.num_timesteps // 2 + 1)):
        part = Distill(env=GAME, dataset=data, **options)
        part.learn(callback=lambda inner, outer, part=part, samples=samples: part.num_timesteps < samples)
        assert samples <= part.num_timesteps < whole.num_timesteps
        part.save(tmp_path / "part.ludory")
        assert equal(whole, Distill.load(tmp_path / "part.ludory").learn(reset_num_timesteps=False))


def command(data: Path, file: Path, *more: str) -> list[str]:
    small = [
        "--policy",
        GRU,
        "--batch-size",
        "16",
        "--lr",
        "1e-2",
        "--split-ratio",
        "0.8",
        "0.2",
        "0",
        "--eval-games",
        "0",
    ]
    return ["train", "distill", "--env", GAME, "--data", str(data), "--out", str(file), *small, *more]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_and_resuming_end_at_the_same_numbers(
    games: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: int,
    code: int,
) -> None:
    step, steps = DistillModule.training_step, []

    def interrupted(self: DistillModule, batch: Any, batch_idx: int) -> Any:
        steps.append(batch_idx)
        if len(steps) == 3:
            signal.raise_signal(number)
        return step(self, batch, batch_idx)

    monkeypatch.setattr(DistillModule, "training_step", interrupted)
    line = command(games, tmp_path / "one.ludory", "--epochs", "2")
    assert main(line) == code
    assert "interrupted:" in capsys.readouterr().out
    assert len(steps) == 3
    monkeypatch.undo()
    assert main([*line, "--resume"]) == 0
    assert main(command(games, tmp_path / "two.ludory", "--epochs", "2")) == 0
    resumed, whole = (Distill.load(tmp_path / f"{name}.ludory") for name in ("one", "two"))
    assert equal(resumed, whole)
    assert resumed.num_timesteps == whole.num_timesteps
    assert len(read_header(tmp_path / "one.ludory")["dataset_sha256"]) == 64


@pytest.mark.slow
def test_a_killed_run_goes_on_from_its_last_checkpoint_to_the_same_numbers(games: Path, tmp_path: Path) -> None:
    file = tmp_path / "killed.ludory"
    line = command(games, file, "--epochs", "4", "--save-every", "0.05")
    process = subprocess.Popen([sys.executable, "-m", "ludory", *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 300
    while not (file.exists() and read_header(file)["num_timesteps"] > 0):
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    killed = read_header(file)
    assert 0 < killed["num_timesteps"] < killed["total_timesteps"]
    assert main([*line, "--resume"]) == 0
    assert main(command(games, tmp_path / "whole.ludory", "--epochs", "4")) == 0
    assert equal(Distill.load(file), Distill.load(tmp_path / "whole.ludory"))


def test_the_seed_s_command_line_runs_as_it_is(
    log: Path, blueprint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [
        "--epochs",
        "2",
        "--batch-size",
        "32",
        "--lr",
        "5e-5",
        "--lambda-value",
        "0.5",
        "--lambda-entropy",
        "1e-3",
        "--override-weight",
        "2",
        "--discount",
        "0.99",
    ]
    line = [
        "train",
        "distill",
        "--env",
        GAME,
        "--data",
        str(log),
        "--ckpt",
        str(blueprint),
        "--out",
        str(tmp_path / "ft.pt"),
        *flags,
    ]
    assert main([*line, "--mode", "seed", "--eval-games", "10"]) == 0
    assert f"model in {tmp_path / 'ft.ludory'}" in capsys.readouterr().out
    header = read_header(tmp_path / "ft.ludory")
    assert header["config"]["seq_len"] == 1
    assert header["policy"] == read_header(blueprint)["policy"]
    before, after = (
        read_checkpoint(one).tensors["policy/logits.weight"] for one in (blueprint, tmp_path / "ft.ludory")
    )
    assert 0 < (before - after).abs().max() < 0.01
    assert ludory.evaluate([str(tmp_path / "ft.ludory")], game=GAME, games=5).games == 5


# --- Refusals. --------------------------------------------------------------------------------------------------------


def test_rewards_of_another_convention_are_refused_with_what_to_type(log: Path, games: Path) -> None:
    for data in (log, games):
        with pytest.raises(DataError, match=r"bomb=zero.*bomb=keep.*--option bomb=zero"):
            Distill(GRU, make_game(GAME, bomb="keep"), dataset=str(data), **SMALL)
    assert Distill(GRU, make_game(GAME, bomb="keep"), dataset=str(log), bomb="keep", **SMALL).num_samples


def test_other_data_than_the_run_began_with_is_refused(games: Path, log: Path, tmp_path: Path) -> None:
    copy = tmp_path / "log.jsonl"
    copy.write_bytes(log.read_bytes())
    Distill(GRU, GAME, dataset=str(copy), num_epochs=2, **SMALL).learn(1).save(tmp_path / "m.ludory")
    copy.write_bytes(log.read_bytes().replace(b'"gain":0.0', b'"gain":0.5'))
    with pytest.raises(DataError, match="began on other data"):
        Distill.load(tmp_path / "m.ludory").learn(reset_num_timesteps=False)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dataset": ("a.jsonl", "b")}, DataError, "does not exist|name one recording"),
        ({"seq_len": 0}, OptionError, "seq_len=0"),
        ({"tau": 0.0}, OptionError, r"tau=0\.0"),
        ({"discount": 1.1}, OptionError, r"discount=1\.1"),
        ({"lambda_q": -1.0}, OptionError, r"lambda_q=-1\.0"),
        ({"mode": "seed", "lambda_q": 0.3}, OptionError, r"lambda_q=0\.3: mode='seed' has 0\.0"),
        ({"learning_rate": 0.0}, OptionError, r"learning_rate=0\.0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises((error, OptionError), match=message):
        Distill(GRU, GAME, **options)


def test_a_malformed_log_is_named_by_its_line_and_nothing_is_written(log: Path, tmp_path: Path) -> None:
    lines = log.read_text().splitlines()
    (tmp_path / "bad.jsonl").write_text("\n".join([*lines[:3], lines[3].replace('"seat":1', '"seat":7'), *lines[4:]]))
    with pytest.raises(LogFormatError, match=r"bad.jsonl, line 4.*'seat': got 7"):
        Distill(GRU, GAME, dataset=str(tmp_path / "bad.jsonl"), **SMALL)
    assert main(command(tmp_path / "bad.jsonl", tmp_path / "m.ludory")) == 2
    assert not (tmp_path / "m.ludory").exists()
    model = Distill(GRU, GAME, dataset=str(tmp_path / "bad.jsonl"), skip_bad=True, **SMALL)
    assert model.training_data.num_games + (model.validation_data.num_games if model.validation_data else 0) == 23
    with pytest.raises(OptionError, match="distill needs dataset="):
        Distill(GRU, GAME, **SMALL).learn()
    assert DistillConfig(dataset=str(log)).dataset == (str(log),)  # type: ignore[arg-type]
