"""Language models on Ray: the episodes of one process, also when workers are killed; and the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ludory.benchmarks.faults.two_nodes import Killer, TwoNodes
from ludory.cli import main
from ludory.errors import DataError

pytest.importorskip("transformers")

from ludory.agents.language.small_model import make_small_model
from ludory.algorithms.text_ppo.text_ppo import TextPPO
from ludory.algorithms.world_model.config import GenerateConfig, TextConfig
from ludory.algorithms.world_model.generate import generate

OPTIONS: dict[str, Any] = {
    "preset": "tiny",
    "groups": 4,
    "group_size": 2,
    "turns": 2,
    "max_new_tokens": 8,
    "filter": "none",
    "val_every": 2,
    "val_groups": 2,
    "val_samples": 2,
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a small model."""
    folder = tmp_path_factory.mktemp("models") / "small"
    make_small_model("words", hidden=32, layers=2, seed=1).save(folder)
    return folder


def run(model: TextPPO, iterations: int) -> list[dict[str, float]]:
    """What some iterations measured, but for times."""
    found = [dict(model.iterate(lambda: True) or {}) for _ in range(iterations)]
    return [{name: value for name, value in one.items() if not name.startswith("time/")} for one in found]


def test_text_ppo_learns_as_in_one_process_while_samplers_are_killed(two_nodes: TwoNodes, written: Path) -> None:
    alone = run(TextPPO(written, "Sokoban-v0", **OPTIONS), 12)
    model = TextPPO(written, "Sokoban-v0", **OPTIONS).sample_at(two_nodes.workers, 2)
    with Killer(two_nodes, seed=8, pause=1.0, most=3) as killer:
        shared = run(model, 12)
    model.release_samplers()
    assert killer.kills
    for one, other in zip(shared, alone, strict=True):
        assert one == pytest.approx(other, abs=1e-3)


def test_the_next_episodes_are_played_while_the_learner_learns(two_nodes: TwoNodes, written: Path) -> None:
    lines = []
    for workers in (None, two_nodes.workers):
        model = TextPPO(written, "Sokoban-v0", **OPTIONS, overlap=True)
        if workers is not None:
            model.sample_at(workers, 2)
        lines.append(run(model, 4))
        model.release_samplers()
    assert [line["train/policy_lag"] for line in lines[1]] == [0, 1, 1, 1]
    for one, other in zip(*lines, strict=True):
        assert one == pytest.approx(other, abs=1e-3)


def test_generated_turns_are_the_same_byte_for_byte(two_nodes: TwoNodes, tmp_path: Path) -> None:
    model = make_small_model("words", hidden=16, layers=1, heads=2)
    text = TextConfig(env="Sokoban-v0", preset="compact")
    config = GenerateConfig(batches=4, groups=2, group_size=2, max_new_tokens=12, split=None)
    files = []
    for name, workers in (("here", None), ("there", two_nodes.workers)):
        with pytest.raises(DataError, match="no row is left"):  # random weights write no answer
            generate(model, text, config, tmp_path / name, workers=workers)
        files.append({file.name: file.read_bytes() for file in (tmp_path / name).glob("turns-*.parquet")})
    assert files[0] == files[1]
    assert len(files[0]) == 4


def test_the_commands_take_ray(two_nodes: TwoNodes, written: Path, tmp_path: Path) -> None:
    small = {
        "groups": 2,
        "group_size": 2,
        "turns": 1,
        "max_new_tokens": 4,
        "val_every": 0,
        "filter": "none",
        "iterations": 1,
    }
    typed = [word for name, value in small.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    sets = [word for name, value in small.items() for word in ("--set", f"{name}={value}")]
    near, game = ["--address", two_nodes.address], ["--env", "Sokoban-v0"]
    train = ["train", "text-ppo", *game, "--policy", str(written), "--out", str(tmp_path / "a"), "--timesteps", "4"]
    assert main([*train, "--ray", "2", *near, "--preset", "tiny", *typed]) == 0
    spa = ["spa", "ppo", *game, "--preset", "compact", "--model", str(written), "--out", str(tmp_path / "b")]
    assert main([*spa, "--settings", "tiny", "--ray", *near, *sets]) == 0
    one, other = (tmp_path / name / "model.safetensors" for name in ("a.ludory", "b"))
    assert one.read_bytes() == other.read_bytes()
