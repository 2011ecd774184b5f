"""Compiled functions are kept on disk, and an edit in another file that they call is noticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaWarning
from python_process import python

from ludory.envs import kernel
from ludory.envs.engine.binding.cached_kernel import cached_kernel

CALLER = """
from callee import add
from ludory.envs.engine.binding.cached_kernel import cached_kernel


@cached_kernel(nogil=True)
def total(n):
    return _twice(add(n, 1))


@cached_kernel(nogil=True)
def _twice(n):
    return 2 * n
"""

CALLEE = """
from numba import njit

BONUS = 0


@njit
def add(a, b):
    return a + b + BONUS
"""

CALL = """
import json, caller

print(json.dumps([caller.total(3), sum(caller.total.stats.cache_misses.values())]))
"""


@pytest.fixture
def call(tmp_path):
    """Calls `total(3)` in a new process, after writing its file and the one that it calls: (result, times compiled)."""

    def in_a_new_process(callee, folder=".", caller=CALLER):
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        (place / "caller.py").write_text(caller)
        (place / "callee.py").write_text(callee)
        where = f"{place}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        paths = {"PYTHONPATH": where, "NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", CALL], env=os.environ | paths, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return tuple(json.loads(done.stdout))

    return in_a_new_process


@pytest.mark.slow
def test_an_edited_callee_is_seen_and_unchanged_code_is_loaded(call):
    assert call(CALLEE) == (8, 1)
    assert call(CALLEE) == (8, 0)
    assert call(CALLEE + "\n# a comment behind the function\n") == (8, 0)
    assert call(CALLEE.replace("a + b", "a - b")) == (4, 1)
    assert call(CALLEE.replace("BONUS = 0", "BONUS = 5")) == (18, 1)
    assert call(CALLEE) == (8, 0)


@pytest.mark.slow
def test_equal_files_of_two_folders_share_their_code(call):
    assert call(CALLEE, "one") == (8, 1)
    assert call(CALLEE, "two") == (8, 0)


@pytest.mark.slow
def test_numbas_own_key_would_run_the_old_code(call):
    """Why there is a `cached_kernel`: when this fails, Numba has learnt it and the decorator can go."""
    numbas = CALLER.replace(
        "from ludory.envs.engine.binding.cached_kernel import cached_kernel", "from numba import njit"
    ).replace("@cached_kernel(", "@njit(cache=True, ")
    assert call(CALLEE, caller=numbas) == (8, 1)
    assert call(CALLEE.replace("a + b", "a - b"), caller=numbas) == (8, 0)


def test_the_learners_kernels_have_it():
    from numba.core.registry import CPUDispatcher

    from ludory.agents.networks.fast import mlp_kernels
    from ludory.algorithms.ppo import kernels
    from ludory.envs.engine.binding.cached_kernel import _SourceCache

    for module in (mlp_kernels, kernels):
        compiled = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
        assert compiled
        entries = [value for value in compiled if type(value) is CPUDispatcher]
        assert entries
        assert all(isinstance(value._cache, _SourceCache) for value in entries)


TABLE = np.arange(200_000)  # more than Numba copies into compiled code


@cached_kernel()
def entry(k):
    return TABLE[k]


def test_what_numba_cannot_keep_is_compiled_with_its_warning():
    with pytest.warns(NumbaWarning, match="large global arrays"):
        assert entry(7) == 7


@kernel
def _thrice(n):
    return 3 * n


@pytest.mark.slow
def test_a_kernel_is_compiled_once_for_integers_of_any_width_and_constants():
    @njit
    def calls(narrow, wide):
        return _thrice(narrow[0]) + _thrice(wide) + _thrice(4)

    assert calls(np.ones(1, np.int8), 5) == 30
    assert len(_thrice.signatures) == 1


@pytest.mark.slow
def test_arrays_that_may_not_be_written_to_compile_no_kernel_again():
    code = (
        "import numpy as np, ludory; engine = ludory.make_engine('KuhnPoker-v0', num_games=1, seed=1, compiled=True); "
        "engine.reset(); engine.observe(); engine.observe(seat=0); actions = np.flatnonzero(engine.legal()[0])[:1]; "
        "actions.flags.writeable = False; engine.step(actions); kernels = engine._bound.observe_rows, engine._bound.step_rows; "
        "print([len(one.signatures) for one in kernels])"
    )
    # in a process of its own: other tests have other uses for these kernels
    assert python(code).splitlines()[-1] == "[1, 1]"
