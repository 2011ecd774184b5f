"""Fields that all games of an engine share."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from games.shared import BANK, FOLLOW_THE_LEVEL, LENGTH, follow_the_level

from ludory.envs.make import make_engine
from ludory.errors import OptionError, SnapshotError
from ludory.testing.kernels.simulator import cuda_simulator_agrees
from ludory.testing.trial import Trial


def test_kernels_read_the_bank_and_no_game_has_a_copy_of_it():
    engine = make_engine(FOLLOW_THE_LEVEL, 50, seed=1)
    engine.reset()
    assert (engine.observe() == BANK[engine.state.level]).all()
    for place in range(LENGTH):
        engine.step(BANK[engine.state.level, place].astype(np.int64))
        assert (engine.rewards == 1).all()
    assert "bank" not in engine.fields()
    assert "bank" not in engine.records.dtype.names
    assert np.shares_memory(engine.gather([0, 0]).state.bank, engine.state.bank)
    with pytest.raises(ValueError, match="read-only"):
        engine.state.bank[0, 0] = 1


@pytest.mark.slow
@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
def test_the_cuda_simulator_reads_the_bank_too():
    assert cuda_simulator_agrees(Trial(FOLLOW_THE_LEVEL, make_engine, 8, 0, "auto")) is None


def test_a_snapshot_is_refused_by_another_bank(tmp_path):
    engine = make_engine(FOLLOW_THE_LEVEL, 2, seed=1)
    engine.reset()
    engine.save(tmp_path / "games.npz")
    make_engine(follow_the_level(), 2).restore(tmp_path / "games.npz")
    with pytest.raises(SnapshotError, match="bank"):
        make_engine(follow_the_level(1 - BANK), 2).restore(tmp_path / "games.npz")


def test_a_bank_of_another_shape_is_refused():
    with pytest.raises(OptionError, match=r"'bank' has shape \(5, 3\), must be \(5, 4\)"):
        make_engine(follow_the_level(BANK[:, :3]))
