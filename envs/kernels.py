"""`kernel`: decorator for the scalar functions of a game's rules or of a rule bot, which Numba compiles."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from ludory.envs.engine.binding.checked_cache import CheckedCache
from ludory.envs.engine.binding.linked_kernel import BatchCompiler, QuickCompiler, linked_kernel

F = TypeVar("F", bound=Callable[..., object])

# Kernels allocate nothing, so Numba's reference counting (`_nrt`) is off: it would cost more than the rules themselves.
KERNEL_FLAGS: dict[str, Any] = {"error_model": "numpy", "forceinline": True, "_nrt": False}
BATCH_FLAGS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}


def kernel(function: F) -> F:
    """Mark `function` as a kernel: scalar code that Numba compiles for the CPU and for CUDA.

    A kernel takes `(state, i, ...)`, reads and writes row `i` only, allocates nothing, and calls only arithmetic and other kernels.
    Keep state fields signed and load them with `int(state.field[i])`, so that arithmetic uses plain integers (a narrow NumPy integer
    would overflow in the CUDA simulator).
    """
    compiled: F = linked_kernel(**KERNEL_FLAGS)(function)
    return compiled


def batch_kernel(function: F) -> F:
    """Mark `function` as a loop over games on the CPU. Compiled code is cached on disk; the GIL is released."""
    compiled: Any = njit(pipeline_class=BatchCompiler, **BATCH_FLAGS)(function)
    if hasattr(compiled, "py_func"):  # otherwise Numba is disabled
        compiled._cache = CheckedCache(function)
    return cast(F, compiled)


def quick_batch_kernel(function: F) -> F:
    """Like `batch_kernel`, for few games: less optimised code, which is compiled in less time."""
    compiled: Any = njit(pipeline_class=QuickCompiler, **BATCH_FLAGS)(function)
    if hasattr(compiled, "py_func"):
        compiled._cache = CheckedCache(function)
    return cast(F, compiled)


# `bind.py` writes these two names into the source of modules that it compiles in memory.
def uncached_batch_kernel(function: F) -> F:
    """Like `batch_kernel`, for code that is not in a file."""
    compiled: F = njit(pipeline_class=BatchCompiler, **BATCH_FLAGS)(function)
    return compiled


def uncached_quick_batch_kernel(function: F) -> F:
    """Like `quick_batch_kernel`, for code that is not in a file."""
    compiled: F = njit(pipeline_class=QuickCompiler, **BATCH_FLAGS)(function)
    return compiled
