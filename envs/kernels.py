"""`kernel`: marks a scalar function of a game's rules or of a rule bot for compilation."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from ludory.envs.engine.binding.checked_cache import CheckedCache

F = TypeVar("F", bound=Callable[..., object])

# Kernels allocate nothing, so Numba's reference counts (`_nrt`) are left out: counting costs more than the rules themselves.
KERNEL_FLAGS: dict[str, Any] = {"error_model": "numpy", "forceinline": True, "_nrt": False}
BATCH_FLAGS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}


def kernel(function: F) -> F:
    """Mark `function` as a kernel: scalar code that Numba compiles for the CPU and for CUDA.

    A kernel takes `(state, i, ...)`, touches row `i` only, allocates nothing and calls nothing but arithmetic and other kernels.
    Keep state fields signed and write `int(state.field[i])` when loading one, so that arithmetic is done in plain integers
    (under the CUDA simulator a narrow NumPy integer would overflow).
    """
    compiled: F = njit(**KERNEL_FLAGS)(function)
    return compiled


def batch_kernel(function: F) -> F:
    """Mark `function` as a loop over games for the CPU; compiled code is cached on disk, the GIL is released."""
    compiled: Any = njit(**BATCH_FLAGS)(function)
    if hasattr(compiled, "py_func"):  # else Numba is switched off
        compiled._cache = CheckedCache(function)
    return cast(F, compiled)


def uncached_batch_kernel(function: F) -> F:
    """As `batch_kernel`, for code that is not in a file."""
    compiled: F = njit(**BATCH_FLAGS)(function)
    return compiled
