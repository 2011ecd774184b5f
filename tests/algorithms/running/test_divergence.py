"""A run that diverges stops with what went wrong, and neither leaves nor loads a network of NaN or a damaged one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from games.nim import nim
from safetensors.torch import save_file

import ludory
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.ppo import PPO
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.algorithms.vtrace import VTrace
from ludory.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from ludory.errors import CheckpointError, TrainingError

TINY = "HanabiTiny2P-v0"
SMALL: dict[str, Any] = {"num_envs": 8, "n_steps": 8, "hidden": (8,), "seed": 3}
WHAT = r"iteration up to timestep [\d,]+: .*(loss|gradient_norm|weights|logits).*lower learning_rate or max_grad_norm"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    PPO("mlp", TINY, **SMALL).save(tmp_path / "model.ludory")
    return tmp_path / "model.ludory"


@pytest.mark.parametrize(
    ("learner", "game", "options"),
    [
        (PPO, TINY, {"batch_size": 32}),  # the compiled update
        (PPO, nim(), {"batch_size": 32}),  # PyTorch's
        (PPO, TINY, {"batch_size": 32, "vf_coef": 9e18, "learning_rate": 1e-3}),
        (VTrace, TINY, {}),
    ],
    ids=["ppo compiled", "ppo torch", "gradients", "vtrace"],
)
def test_what_is_not_finite_stops_the_run_and_the_last_good_file_stays(
    learner: type[Algorithm], game: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    model = learner("mlp", game, **SMALL | {"learning_rate": 1e18} | options)
    with pytest.raises(TrainingError, match=WHAT):
        train_to_file(model, 4096, tmp_path / "run.ludory", save_every=0.0)
    weights = learner.load(tmp_path / "run.ludory", env=game).policy.state_dict()
    assert all(part.isfinite().all() for part in weights.values())


@pytest.mark.parametrize("method", ["save", "save_policy"])
def test_weights_that_are_not_finite_never_replace_a_file(method: str, file: Path) -> None:
    before, model = file.read_bytes(), PPO.load(file)
    next(model.policy.parameters()).data[0] = torch.inf
    with pytest.raises(TrainingError, match=r"not written, for 'policy/encoder\.weight' holds NaN"):
        getattr(model, method)(file)
    assert file.read_bytes() == before
    assert [one.name for one in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("field", ["teacher", "init_from"])
def test_a_teacher_or_a_start_of_nan_is_refused(field: str, file: Path) -> None:
    header, tensors = read_checkpoint(file)
    tensors["policy/encoder.weight"][0, 0] = torch.nan
    write_checkpoint(file, header, tensors)
    with pytest.raises(CheckpointError, match=r"model.ludory: 'encoder.weight' holds NaN or infinity"):
        PPO("mlp", TINY, **SMALL, **{field: str(file)})


@pytest.mark.parametrize(("found", "changed"), [(b'\\"num_timesteps\\": 0', b'\\"num_timesteps\\": 7'), (None, None)])
def test_a_flipped_bit_is_found(file: Path, found: bytes | None, changed: bytes) -> None:
    content = bytearray(file.read_bytes())
    if found:
        assert found in content
        content = content.replace(found, changed)
    else:
        content[-1000] ^= 4
    file.write_bytes(content)
    with pytest.raises(CheckpointError, match="checksum"):
        ludory.load(file)


def test_a_file_without_checksums_is_read(file: Path) -> None:
    header, tensors = read_checkpoint(file)
    del header["sha256"]
    save_file(tensors, file, {"ludory": json.dumps(header)})
    assert ludory.load(file).num_timesteps == 0
