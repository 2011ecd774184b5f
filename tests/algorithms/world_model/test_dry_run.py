"""A configuration for a large model, tried on random weights."""

from __future__ import annotations

import pytest

from ludory.algorithms.world_model import dry_run as dry
from ludory.algorithms.world_model.config import read_config
from ludory.algorithms.world_model.dry_run import SHAPES, Shape, dry_run
from ludory.errors import OptionError

SMALLEST = Shape(32, 3, 4, 2, 64, 300, True)


@pytest.mark.parametrize(("shape", "billions"), [("0.5b", 0.494), ("1.5b", 1.544), ("3b", 3.086), ("7b", 7.616)])
def test_shapes_have_the_published_numbers_of_weights(shape: str, billions: float) -> None:
    found = dry.shape_of(dry._model(SHAPES[shape], "meta"))
    assert found.parameters / 1e9 == pytest.approx(billions, abs=5e-4)


def test_one_step_is_made_and_the_whole_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHAPES, "0.5b", SMALLEST)
    found = dry_run(read_config("spa/_2_sokoban").learnt_on(4))
    assert found.layers == 3
    assert found.shared["fsdp"].optimiser == found.whole.optimiser / 4 == found.shared["ddp"].optimiser / 4
    assert found.whole.total > found.step.total > 0
    assert found.peak is None or found.peak > found.step.weights, "Windows does not tell"
    assert [line.split(",")[0].split(":")[0] for line in found.lines()] == [
        "0.5b",
        "whole configuration",
        "on each of 4 devices",
        "on each of 4 devices",
        "one step",
        f"done in {found.seconds:.1f} s ({found.cpu_seconds:.1f} CPU s)",
    ]


@pytest.mark.slow
def test_layers_are_left_out_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHAPES, "0.5b", SMALLEST._replace(layers=40, hidden=128))
    config = read_config("spa/_2_sokoban")
    found = dry_run(config, memory=60e6)
    assert 0 < found.layers < 40
    assert found.step.total <= 60e6
    with pytest.raises(OptionError, match=r"one layer needs .* choose a smaller shape"):
        dry_run(config, memory=1e6)
    with pytest.raises(OptionError, match=r"must be one of 0.5b, 1.5b"):
        dry_run(config, shape="2b")
