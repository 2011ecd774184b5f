"""The solver's search is shaped for CUDA: it compiles to PTX with nothing called and nothing allocated, and Numba's simulator finds the same values."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import ludory
from ludory.agents.texas42.solver.search import COLUMNS, FRAMES, TABLE_BITS, search, set_up
from ludory.agents.texas42.solver.solver import Positions, Solver, positions_of, rules

pytestmark = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
DEALS, PLAYED = 2, 16


def solve_rows(task, rules, memory, values):
    """A thread for each position: values[k] is its value; every thread has a stack and a table of its own."""
    from_tables, of_task, (hands, position, contract, table, frames) = rules, task, memory
    place, follows, wins, counts, level, shared = from_tables
    held, leader, trick, decl, bidder = of_task
    for k in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        d = int(decl[k])
        tables = follows[d], wins[d], counts[d], level[d]
        set_up(held[k], leader[k], trick[k], d, bidder[k], place[d], *tables, hands[k], position[k], contract[k])
        values[k] = search(hands[k], position[k], -43, 43, contract[k], *tables, shared[d], table[k], 1, frames[k])


if find_spec("numba_cuda") is not None:
    from numba import cuda


def task() -> Positions:
    """Late positions under several declarations."""
    parts = []
    for decl in (2, 7, 9):
        engine = ludory.make_engine("Texas42Play-v0", num_games=DEALS)
        engine.reset(options={"decl": decl})
        draw = np.random.default_rng(decl)
        for _ in range(PLAYED):
            engine.step((engine.legal() * draw.random((DEALS, 28))).argmax(axis=1))
        parts.append(positions_of(engine.state))
    return Positions(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def arguments(given: Positions) -> tuple[tuple, tuple, tuple, np.ndarray]:
    tables, n = rules(), len(given.held)
    memory = (
        np.zeros((n, 4), np.int32),
        np.zeros((n, 10), np.int64),
        np.zeros((n, 6), np.int64),
        np.zeros((n, 1 << TABLE_BITS), np.int64),
        np.zeros((n, FRAMES, COLUMNS), np.int32),
    )
    of_rules = tables.place, tables.follows, tables.wins, tables.counts, tables.level, tables.shared
    return tuple(given), of_rules, memory, np.zeros(n, np.int64)


@pytest.mark.slow
def test_it_compiles_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba import typeof
    from numba.cuda import compiler, dispatcher

    hopper = SimpleNamespace(compute_capability=(9, 0))
    for module in (compiler, dispatcher):
        monkeypatch.setattr(module, "get_current_device", lambda: hopper)
    types = tuple(typeof(one) for one in arguments(task()))
    ptx = cuda.compile_ptx(solve_rows, types, cc=(9, 0), device=False)[0]
    assert ".visible .entry" in ptx
    assert ".target sm_90" in ptx
    assert "call" not in ptx, "calls what was not inlined"


@pytest.mark.slow
def test_the_simulator_finds_the_values_of_the_cpu(tmp_path: Path) -> None:
    given, asked, answer = task(), tmp_path / "positions.npz", tmp_path / "values.npy"
    np.savez(asked, **given._asdict())
    simulator = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, __file__, str(asked), str(answer)]
    found = subprocess.run(command, env=simulator, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    values = Solver().value(given)
    assert len(set(values.tolist())) > 2
    np.testing.assert_array_equal(np.load(answer), values)


if __name__ == "__main__":
    with np.load(sys.argv[1]) as stored:
        parts = arguments(Positions(**stored))
    cuda.jit(solve_rows)[2, 2](*parts)
    np.save(sys.argv[2], parts[-1])
