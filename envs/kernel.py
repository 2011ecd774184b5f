"""`kernel`: marks a scalar function of a game's rules or of a rule bot for compilation."""

from collections.abc import Callable
from typing import TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Mark `function` as a kernel: scalar code that Numba compiles for the CPU and for CUDA.

    A kernel takes `(state, i, ...)`, touches row `i` only, allocates nothing and calls nothing but arithmetic and other kernels.
    Keep state fields signed and write `int(state.field[i])` when loading one, so that arithmetic is done in plain integers
    (under the CUDA simulator a narrow NumPy integer would overflow).
    """
    return njit(error_model="numpy", forceinline=True, _nrt=False)(function)  # type: ignore[no-any-return]
