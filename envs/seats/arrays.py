"""Array operations whose names differ between NumPy (CPU engines) and torch (CUDA engines)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ludory.envs.engine.protocol import Array, Engine


class Arrays(Protocol):
    """Arrays on one device."""

    def zeros(self, *shape: int, dtype: str) -> Array:
        """Zeros; `dtype` is the NumPy name."""

    def arange(self, count: int) -> Array:
        """0..count-1, int64."""

    def asarray(self, values: ArrayLike) -> Array:
        """`values` on this device, not copied if they are there already."""

    def copy(self, array: Array) -> Array:
        """A contiguous copy."""

    def integers(self, array: Array) -> bool:
        """Whether the dtype is an integer type."""

    def int64(self, array: Array) -> Array:
        """`array` as int64, not copied if it has that dtype."""

    def where(self, mask: Array) -> Array:
        """Indices of the rows where `mask` (n,) is True."""

    def int8(self, mask: Array) -> Array:
        """A bool array viewed as 0 and 1, in the same memory."""

    def boxed(self, mask: Array, values: Array) -> Array:
        """`values` (m, ...) in the m rows where `mask` (n,) is True: an object array with None elsewhere; on CUDA a dense tensor with zeros."""


class _NumpyArrays:
    """`Arrays` on the CPU."""

    def zeros(self, *shape: int, dtype: str) -> Array:
        return np.zeros(shape, dtype)

    def arange(self, count: int) -> Array:
        return np.arange(count)

    def asarray(self, values: Any) -> Array:
        return np.asarray(values)

    def copy(self, array: Array) -> Array:
        return np.array(array, order="C")

    def integers(self, array: Array) -> bool:
        return array.dtype.kind in "iu"

    def int64(self, array: Array) -> Array:
        return array.astype(np.int64, copy=False)

    def where(self, mask: Array) -> Array:
        return np.flatnonzero(mask)

    def int8(self, mask: Array) -> Array:
        return mask.view(np.int8)

    def boxed(self, mask: Array, values: Array) -> Array:
        boxes = np.full(len(mask), None, object)
        for row, value in zip(np.flatnonzero(mask), values, strict=True):
            boxes[row] = value
        return boxes


class _TorchArrays:
    """`Arrays` on a CUDA device."""

    def __init__(self, device: Any) -> None:
        import torch

        self._torch, self._device = torch, device

    def zeros(self, *shape: int, dtype: str) -> Array:
        return self._torch.zeros(shape, dtype=getattr(self._torch, dtype), device=self._device)

    def arange(self, count: int) -> Array:
        return self._torch.arange(count, device=self._device)

    def asarray(self, values: Any) -> Array:
        return self._torch.as_tensor(values, device=self._device)

    def copy(self, array: Array) -> Array:
        return array.clone(memory_format=self._torch.contiguous_format)

    def integers(self, array: Array) -> bool:
        return not array.is_floating_point() and array.dtype != self._torch.bool

    def int64(self, array: Array) -> Array:
        return array.to(self._torch.int64)

    def where(self, mask: Array) -> Array:
        return mask.nonzero().flatten()

    def int8(self, mask: Array) -> Array:
        return mask.view(self._torch.int8)

    def boxed(self, mask: Array, values: Array) -> Array:
        dense = self._torch.zeros((len(mask), *values.shape[1:]), dtype=values.dtype, device=self._device)
        dense[mask] = values
        return dense


def arrays_of(engine: Engine) -> Arrays:
    """Array operations for the arrays of an engine."""
    sample = engine.terminated
    return _NumpyArrays() if isinstance(sample, np.ndarray) else _TorchArrays(sample.device)
