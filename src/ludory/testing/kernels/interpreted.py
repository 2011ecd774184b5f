"""Arrays for kernels that run as plain Python (`interpreted`), which detect violations of the kernel contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine.binding.plain_kernels import Index, widened
from ludory.envs.engine.binding.plain_kernels import interpreted as interpreted
from ludory.errors import ConformanceError


class GuardedField:
    """A state field as a kernel call may use it: only row `row`, within bounds, with values that fit.

    row: the only index allowed on the first axis; None allows every index within bounds.
    """

    def __init__(self, name: str, array: NDArray[Any], row: int | None = None) -> None:
        self._name, self._array, self._row = name, array, row

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole field."""
        return self._array.shape

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getattr__(self, name: str) -> Any:
        if self._row is not None and name not in ("ndim", "size", "dtype"):
            raise ConformanceError(f"uses {self._name}.{name}: a kernel for game {self._row} may use that row only")
        return getattr(self._array, name)

    def __getitem__(self, index: Index) -> Any:
        self._check(index, "reads")
        value = self._array[index]
        if isinstance(value, np.ndarray):
            return GuardedField(f"{self._name}[{index}]", value)
        return widened(value)

    # A kernel may write anything here: what does not fit is what this finds.
    def __setitem__(self, index: Index, value: Any) -> None:
        self._check(index, "writes")
        kind = self._array.dtype
        if kind.kind in "iu" and not isinstance(value, slice | np.ndarray):
            low, high = _LIMITS[kind]
            if value != int(value):
                raise ConformanceError(f"writes {value} to {self._name}, which is {kind} and would keep {int(value)}")
            if not low <= value <= high:
                raise ConformanceError(f"writes {value} to {self._name}, which is {kind} and holds {low}..{high}")
        self._array[index] = value

    def _check(self, index: Index, verb: str) -> None:
        places = index if isinstance(index, tuple) else (index,)
        # most of the time of `check_game`: whole numbers within bounds need no further look
        for place, size in zip(places, self._array.shape, strict=False):
            if type(place) not in _NUMBERS or not 0 <= place < size:  # type: ignore[operator]
                return self._check_all(places, verb)
        if self._row is not None and places[0] != self._row:
            self._check_all(places, verb)

    def _check_all(self, places: tuple[Any, ...], verb: str) -> None:
        if self._row is not None and not _is_number(places[0]):
            raise ConformanceError(
                f"{verb} {self._name}[{_shown(places)}]: a kernel for game {self._row} may use that row only"
            )
        for axis, (place, size) in enumerate(zip(places, self._array.shape, strict=False)):
            if not _is_number(place):
                continue
            if self._row is not None and axis == 0 and place != self._row:
                raise ConformanceError(
                    f"{verb} {self._name}[{_shown(places)}] in the kernel call for game {self._row}: another game's row"
                )
            if not 0 <= place < size:
                raise ConformanceError(f"{verb} {self._name}[{_shown(places)}], outside its shape {self._array.shape}")


_LIMITS = {np.dtype(kind): (int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in "bhilqBHILQ"}
_NUMBERS = frozenset({int, *(kind for kind in np.sctypeDict.values() if issubclass(kind, np.integer))})


def _is_number(place: object) -> TypeGuard[int | np.integer]:
    return isinstance(place, int | np.integer) and not isinstance(place, bool)


def _shown(places: tuple[Any, ...]) -> str:
    return ", ".join(str(place) for place in places)
