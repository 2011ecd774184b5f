"""Translation of Gymnasium spaces to observation specs and heads, and of their values to arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from ludory.envs.facts import Box, Head, ObservationSpec, flat_segments
from ludory.errors import OptionError

MASK = "action_mask"
"""Key of the legal actions in an `info` or an observation, as RLlib and PettingZoo have it."""


class _Leaf(NamedTuple):
    """A part of an observation space that is neither Dict nor Tuple."""

    path: tuple[Any, ...]
    space: spaces.Space[Any]

    @property
    def name(self) -> str:
        return ".".join(map(str, self.path)) or "observation"

    @property
    def size(self) -> int:
        if isinstance(self.space, spaces.Discrete):
            return int(self.space.n)
        if isinstance(self.space, spaces.MultiDiscrete):
            return int(self.space.nvec.sum())
        return math.prod(self.space.shape or ())

    @property
    def bits(self) -> bool:
        """True if every entry is 0 or 1."""
        if isinstance(self.space, spaces.Box):
            integers = self.space.dtype.kind in "iub"
            return bool(integers and np.all(self.space.low >= 0) and np.all(self.space.high <= 1))
        return True


def _leaves(space: spaces.Space[Any], path: tuple[Any, ...] = ()) -> Iterator[_Leaf]:
    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            yield from _leaves(part, (*path, key))
    elif isinstance(space, spaces.Tuple):
        for number, part in enumerate(space.spaces):
            yield from _leaves(part, (*path, number))
    elif isinstance(space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary):
        yield _Leaf(path, space)
    else:
        where = f" at {'.'.join(map(str, path))!r}" if path else ""
        raise OptionError(
            f"observation space {space}{where}: must be made of Box, Discrete, MultiDiscrete, MultiBinary, Dict and Tuple; "
            "wrap the environment in a gymnasium.ObservationWrapper"
        )


def _mask_key(space: spaces.Dict, actions: Actions) -> str | None:
    """The key of a Dict observation that holds the legal actions: "action_mask", or Tianshou's "mask" beside "obs"; None if there is none.

    Raises:
        OptionError: its size is not the number of actions.
    """
    key = MASK if MASK in space.spaces else "mask" if {"obs", "mask"} <= set(space.spaces) else None
    if key is None or actions.box is not None:
        return None
    size, count = sum(leaf.size for leaf in _leaves(space[key])), sum(head.size for head in actions.heads)
    if size != count:
        raise OptionError(
            f"the observation's {key!r} has {size} entries, must have one for each of the {count} actions; rename the key if it is no mask"
        )
    return key


class Observations:
    """Writes observations of a space into arrays of `spec`.

    A Box keeps its shape; 64-bit floats become 32-bit floats. Discrete values are one-hot. Dict and Tuple are flattened, with a segment
    per key, named "position" or, if nested, "arm.angle". A Dict may hold the mask of the legal actions, which is no part of `spec`;
    what is left beside it is taken as it is if it is one key, such as "observation".

    Args:
        space: of the observations.
        actions: those that a mask is about; None: there is no mask.

    Raises:
        OptionError: the space contains something else, such as text, or a mask of another size.
    """

    def __init__(self, space: spaces.Space[Any], actions: Actions | None = None) -> None:
        self._mask_key: str | None = None
        self._inner: str | None = None
        if isinstance(space, spaces.Dict) and actions is not None and (key := _mask_key(space, actions)):
            rest = {name: part for name, part in space.spaces.items() if name != key}
            self._mask_key, self._inner = key, next(iter(rest)) if len(rest) == 1 else None
            space = spaces.Dict(rest) if self._inner is None else rest[self._inner]
        self._leaves = list(_leaves(space))
        self._whole = len(self._leaves) == 1 and not self._leaves[0].path and isinstance(space, spaces.Box)
        low, high = 0.0, 1.0
        dtype: Any = "uint8" if all(leaf.bits for leaf in self._leaves) else "float32"
        boxes = [leaf.space for leaf in self._leaves if isinstance(leaf.space, spaces.Box)]
        if dtype == "float32":
            low = min([0.0, *(float(box.low.min(initial=0)) for box in boxes)])
            high = max([1.0, *(float(box.high.max(initial=0)) for box in boxes)])
            limit = float(np.finfo(np.float32).max)
            # float32's largest number stands for no limit
            low, high = (low if low > -limit else -math.inf), (high if high < limit else math.inf)
        if self._whole and space.dtype == np.uint8:
            dtype, low, high = "uint8", float(boxes[0].low.min()), float(boxes[0].high.max())
        shape = tuple(space.shape or (1,)) if self._whole else (sum(leaf.size for leaf in self._leaves),)
        segments = flat_segments({leaf.name: leaf.size for leaf in self._leaves})
        self.spec = ObservationSpec("observation", shape, dtype, segments, low, high)
        places: list[Any] = [...] if self._whole else [slice(s.start, s.start + s.length) for s in segments]
        self._parts = [(leaf.space, leaf.path, place) for leaf, place in zip(self._leaves, places, strict=True)]

    def mask(self, value: object) -> ArrayLike | None:
        """The legal actions that an observation holds; None: the space has no key for them, or the observation leaves it out."""
        return value.get(self._mask_key) if self._mask_key is not None and isinstance(value, Mapping) else None

    def write(self, value: object, out: NDArray[Any]) -> None:
        """Write `value` to `out` of `spec.shape`.

        Raises:
            OptionError: it is not of the space, or not finite.
        """
        try:
            seen = _at(value, () if self._inner is None else (self._inner,))
            finite = [_write(space, _at(seen, path), out[place]) for space, path, place in self._parts]
        except (TypeError, ValueError, KeyError, IndexError) as error:
            why = f"it lacks {error}" if isinstance(error, KeyError) else error
            raise OptionError(f"the observation, a {type(value).__name__}, is not of its space: {why}") from error
        if not all(finite) and out.dtype.kind == "f" and not np.isfinite(out).all():
            raise self._not_finite(seen, out)

    def _not_finite(self, seen: Any, out: NDArray[Any]) -> OptionError:
        """The error for an observation that holds NaN or infinity."""
        entry = int(np.flatnonzero(~np.isfinite(out.ravel()))[0])
        number, where, leaf = out.ravel()[entry], "", self._leaves[0]
        if not self._whole:
            k, segment = next((k, s) for k, s in enumerate(self.spec.segments) if entry < s.start + s.length)
            leaf, entry, where = self._leaves[k], entry - segment.start, f" at {segment.name!r}"
        given = np.ravel(_at(seen, leaf.path))[entry]
        what = "NaN" if np.isnan(number) else str(number)
        if np.isfinite(np.float64(given)):
            return OptionError(
                f"entry {entry} of the observation{where} is {given:g}, which becomes {what} in float32; scale the observation"
            )
        return OptionError(f"entry {entry} of the observation{where} is {what}, must be a finite number")


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


SMALL = 1e30
"""A sum of squares below it has no entry that float32 cannot hold; one product is quicker than a look at every entry."""


def _write(space: spaces.Space[Any], part: Any, place: NDArray[Any]) -> bool:
    """Write a value of a space that is neither Dict nor Tuple; returns whether it surely is finite."""
    if isinstance(space, spaces.Discrete):
        number = int(part) - int(space.start)
        if not 0 <= number < space.n:
            raise ValueError(f"{part} is no value of {space}")
        place[:] = 0
        place[number] = 1
        return True
    if isinstance(space, spaces.MultiDiscrete):
        chosen, sizes = np.ravel(part) - space.start.ravel(), space.nvec.ravel()
        if not ((chosen >= 0) & (chosen < sizes)).all():
            raise ValueError(f"{part} is no value of {space}")
        place[:] = 0
        place[np.cumsum(sizes) - sizes + chosen] = 1
        return True
    array = np.reshape(part, place.shape)
    # NaN and infinity fail the comparison
    if array.dtype.kind in "biu" or (array.dtype.kind == "f" and float(np.vdot(array, array)) < SMALL):
        place[...] = array
        return True
    with np.errstate(over="ignore", invalid="ignore"):  # the caller says more
        place[...] = array
    return False


class Actions:
    """Heads or box of an action space, and conversion of actions to its values.

    Discrete is one head, MultiDiscrete and MultiBinary one for each entry, Dict and Tuple have the heads of their parts; a Box of
    floats is `box`.

    Raises:
        OptionError: the space contains something else.
    """

    def __init__(self, space: spaces.Space[Any]) -> None:
        self._space = space
        self.box: Box | None = None
        self.heads: tuple[Head, ...] = ()
        if isinstance(space, spaces.Box) and space.dtype is not None and space.dtype.kind == "f":
            low, high = (tuple(map(float, end.ravel())) for end in (space.low, space.high))
            self.box = Box(low, high)
        else:
            self.heads = tuple(_heads(space, ()))

    def value(self, action: NDArray[Any]) -> Any:
        """A value of the space from int64 (H,), or float32 (D,)."""
        if self.box is not None:
            return action.reshape(self._space.shape).astype(self._space.dtype)
        value, _ = _value(self._space, action.tolist())
        return value


def _heads(space: spaces.Space[Any], path: tuple[Any, ...]) -> Iterator[Head]:
    name = ".".join(map(str, path))
    if isinstance(space, spaces.Discrete):
        yield Head(name or "action", int(space.n))
    elif isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        sizes = space.nvec.ravel() if isinstance(space, spaces.MultiDiscrete) else [2] * math.prod(space.shape)
        for number, size in enumerate(sizes):
            yield Head(f"{name}.{number}" if name else f"action {number}", int(size))
    elif isinstance(space, spaces.Dict | spaces.Tuple):
        parts = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        for key, part in parts:
            yield from _heads(part, (*path, key))
    else:
        raise OptionError(
            f"action space {space}: must be Discrete, MultiDiscrete, MultiBinary, a Dict or Tuple of these, or a Box of floats; "
            "wrap the environment in a gymnasium.ActionWrapper"
        )


def _value(space: spaces.Space[Any], numbers: list[int]) -> tuple[Any, list[int]]:
    """A value of `space` from the first of `numbers`, and the rest."""
    if isinstance(space, spaces.Discrete):
        return numbers[0] + int(space.start), numbers[1:]
    if isinstance(space, spaces.Dict):
        values = {}
        for key, part in space.spaces.items():
            values[key], numbers = _value(part, numbers)
        return values, numbers
    if isinstance(space, spaces.Tuple):
        parts = []
        for part in space.spaces:
            value, numbers = _value(part, numbers)
            parts.append(value)
        return tuple(parts), numbers
    count = math.prod(space.shape or ())
    array = np.array(numbers[:count], space.dtype).reshape(space.shape)
    if isinstance(space, spaces.MultiDiscrete):
        array = array + space.start
    return array, numbers[count:]
