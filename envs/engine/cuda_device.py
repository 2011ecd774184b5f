"""Where CUDA kernels run and how their arrays are stored: on a GPU or, for tests without one, in Numba's simulator on the CPU.

numba-cuda compiles and caches kernels. They are launched by the driver directly, because numba-cuda unpacks every array anew, and a
game has thirty: on an H200, a step of 8,192 games of Hanabi and a GRU took 6.0 ms with its launches and takes 3.5 ms now.
Torch and Numba use the same memory and, on a GPU, the same stream, so their work stays in order without waiting.
The state of n games is one pool [width, n] per dtype. The game is the fastest axis, so neighbouring threads read neighbouring bytes, and
games are copied with one operation per dtype.
"""

from __future__ import annotations

import ctypes
import math
import re
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

from ludory.envs.parts import Field, State
from ludory.errors import OptionError
from ludory.plugins.requirements import missing_dependency

from .storage import own_fields, state_class

if TYPE_CHECKING:
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

Kernel = Callable[..., None]
"""A function of a bound file, see `bind`."""
Layout = Literal["C", "F", "A"]
"""Numba's names of memory layouts: last axis fastest, first axis fastest, any strides."""


class DeviceState:
    """The state as an argument of kernels; made once per batch, since it has many arrays.

    dtype: layout of the record of one game; it names the fields in the order of `arrays`. Fields of `state` that are not in it are
        shared by all games and come last.
    """

    def __init__(self, state: State, dtype: np.dtype[Any]) -> None:
        own = dtype.names or ()
        names = (*own, *(name for name in state._fields if name not in own))
        tensors = [getattr(state, name) for name in names]
        self.dtype = dtype
        self.tensors = tuple(tensors)
        self.words = b"".join(map(argument_words, tensors))
        # views of pools are in Fortran order; one-dimensional ones are in both, which Numba calls C
        layouts: list[Layout] = [
            "C" if name not in own or tensor.ndim == 1 else "F" for name, tensor in zip(names, tensors, strict=True)
        ]
        self.kind = tuple(_tensor_kind(tensor, layout) for tensor, layout in zip(tensors, layouts, strict=True))


class Device(Protocol):
    """Launches batch kernels, whose arguments are tensors on `torch_device`, integers and one `DeviceState`."""

    torch_device: torch.device

    def launch(self, kernel: Kernel, blocks: int, threads: tuple[int, ...], *args: Any) -> None:
        """Run `kernel` on a grid of `blocks` blocks of `threads`, after everything launched before."""


@cache
def find_device(name: str) -> Device:
    """The device "cuda" or "cuda:<number>".

    Raises:
        PluginError: numba-cuda is not installed.
        OptionError: invalid name, unusable numba-cuda, or no such GPU; the message says what to type.
    """
    if not re.fullmatch(r"cuda(:\d+)?", name):
        raise OptionError(f"device={name!r}: must be 'cpu', 'cuda' or 'cuda:<number>'")
    config = _checked_numba_cuda(name)
    if config.ENABLE_CUDASIM:
        if not config.DISABLE_JIT:
            raise OptionError("Numba's CUDA simulator needs NUMBA_DISABLE_JIT=1 beside NUMBA_ENABLE_CUDASIM=1")
        return SimulatedDevice()
    if torch.version.cuda is None:
        raise OptionError(
            f"device={name!r}: the installed torch {torch.__version__} has no CUDA support; "
            "install a CUDA build of torch (see pytorch.org/get-started), or use device='cpu'"
        )
    if not torch.cuda.is_available():
        raise OptionError(f"device={name!r}: no NVIDIA GPU was found (try `nvidia-smi`); use device='cpu'")
    index = torch.device(name).index
    if index is not None and index >= torch.cuda.device_count():
        raise OptionError(f"device={name!r}: this machine has {torch.cuda.device_count()} GPU(s), numbered from 0")
    return GpuDevice(torch.cuda.current_device() if index is None else index)


def _checked_numba_cuda(name: str) -> Any:
    """Numba's settings, after checking that numba-cuda works."""
    if find_spec("numba_cuda") is None:
        raise missing_dependency(f"device={name!r}", "numba_cuda")
    try:
        from numba import config, cuda  # noqa: F401

        if not config.ENABLE_CUDASIM:  # type: ignore[attr-defined]  # its stubs lack it
            from numba.cuda import cudaimpl  # noqa: F401, which every compiled kernel needs
    except Exception as error:  # numba-cuda uses internals of Numba and fails in many ways if the versions do not match
        packages = ("numba-cuda", "numba", "numpy")
        versions = " with ".join(f"{package} {metadata.version(package)}" for package in packages)
        raise OptionError(
            f'device={name!r}: {versions} cannot be imported ({error}); type: pip install --upgrade "ludory[cuda]"'
        ) from error
    return config


class GpuDevice:
    """One NVIDIA GPU."""

    def __init__(self, index: int) -> None:
        self.torch_device = torch.device("cuda", index)
        self._index = index
        self._compiled: dict[Any, _LoadedKernel] = {}
        self._lock = threading.Lock()

    def launch(self, kernel: Kernel, blocks: int, threads: tuple[int, ...], *args: Any) -> None:
        """See `Device`."""
        with torch.cuda.device(self._index):
            # compiled once for each combination of types, as Numba does, but with a key that is cheap to make
            key = (kernel, *map(_kind, args))
            words = b"".join(map(argument_words, args))
            # torch's stream of this moment, so that kernels stay in order with torch's work
            stream = torch.cuda.current_stream(self.torch_device).cuda_stream
            # argument memory of a loaded kernel is shared between threads
            with self._lock:
                if key not in self._compiled:
                    self._compiled[key] = self._load(kernel, args, len(words))
                self._compiled[key].launch(blocks, threads, stream, words)

    def _load(self, kernel: Kernel, args: tuple[Any, ...], size: int) -> _LoadedKernel:
        with _numba_cuda().gpus[self._index]:
            # functions of notebooks have no file beside which numba-cuda could keep its cache
            saved = hasattr(sys.modules.get(kernel.__module__), "__file__")
            compiled = _numba_cuda().jit(signature(args), cache=saved)(kernel)
            (definition,) = compiled.overloads.values()
            return _LoadedKernel(definition, size)


class _LoadedKernel:
    """What numba-cuda compiled, loaded to a GPU, and a place for its arguments in `size` bytes. Not for two threads at once."""

    def __init__(self, compiled: Any, size: int) -> None:
        from cuda.bindings import driver

        self._compiled = compiled  # its code stays loaded as long as this is kept
        self._driver, self._function = driver, driver.CUfunction(int(compiled._codelibrary.get_cufunc().handle))
        self._words = ctypes.create_string_buffer(size)
        first = ctypes.addressof(self._words)
        # the driver wants an array of addresses, one per word
        self._places = (ctypes.c_void_p * (size // 8))(*range(first, first + size, 8))

    def launch(self, blocks: int, threads: tuple[int, ...], stream: int, words: bytes) -> None:
        """Launch it on a stream; the driver copies the arguments before it returns."""
        ctypes.memmove(self._words, words, len(words))
        sizes = (blocks, 1, 1, *threads, *(1,) * (3 - len(threads)))
        shared_memory, extra = 0, 0
        (code,) = self._driver.cuLaunchKernel(
            self._function, *sizes, shared_memory, stream, ctypes.addressof(self._places), extra
        )
        if code != self._driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"the GPU refused a kernel: {code.name}")


def argument_words(argument: DeviceState | Tensor | int) -> bytes:
    """An argument of a kernel as the 8-byte words that code compiled by Numba takes.

    Of an array: two that stay 0, entries, bytes of an entry, address, shape, and bytes from entry to entry along each axis.
    """
    if isinstance(argument, DeviceState):
        return argument.words
    if not isinstance(argument, Tensor):
        return struct.pack("q", argument)
    size, axes = argument.element_size(), argument.ndim
    steps = (size * step for step in argument.stride())
    return struct.pack(f"{5 + 2 * axes}q", 0, 0, argument.numel(), size, argument.data_ptr(), *argument.shape, *steps)


class SimulatedDevice:
    """Numba's CUDA simulator: kernels run as Python, with one CPU thread per thread of the grid, so grids are kept small."""

    torch_device = torch.device("cpu")

    def __init__(self) -> None:
        from numba.cuda.simulator.kernelapi import FakeCUDAShared

        FakeCUDAShared.array = _shared_array  # type: ignore[method-assign]

    def launch(self, kernel: Kernel, blocks: int, threads: tuple[int, ...], *args: Any) -> None:
        """See `Device`."""
        grid = min(blocks, 2), tuple(min(count, 2) for count in threads)
        _numba_cuda().jit(kernel)[grid](*map(_in_simulator, args))


def _shared_array(self: FakeCUDAShared, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """`cuda.shared.array` of the simulator, whose own may give an array each to threads that ask for it at the same time."""
    frame = sys._getframe(1)
    place = frame.f_code.co_filename, frame.f_lineno
    found: NDArray[Any] = self._allocations.setdefault(place, np.empty(shape, dtype))
    return found


def _in_simulator(argument: DeviceState | Tensor | int) -> Any:
    if isinstance(argument, DeviceState):
        return tuple(map(Tensor.numpy, argument.tensors))
    if not isinstance(argument, Tensor):
        return argument
    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

    # not as a NumPy array, which would be copied to and fro: two arguments may be views of the same memory
    return FakeCUDAArray(argument.numpy())  # type: ignore[no-untyped-call]


def signature(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numba types of a kernel's arguments."""
    return tuple(map(_numba_type, args))


def _numba_type(argument: DeviceState | Tensor | int) -> Any:
    import numba

    types: Any = numba.types
    if isinstance(argument, DeviceState):
        return types.BaseTuple.from_types([_array_type(*kind) for kind in argument.kind])
    return _array_type(*_kind(argument)) if isinstance(argument, Tensor) else types.int64


def _kind(argument: DeviceState | Tensor | int) -> Any:
    """What the type of an argument depends on. A tensor that is not contiguous may have any strides (layout A)."""
    if isinstance(argument, DeviceState):
        return argument.kind
    if isinstance(argument, Tensor):
        return _tensor_kind(argument, "C" if argument.is_contiguous() else "A")
    return int


def _tensor_kind(tensor: Tensor, layout: Layout) -> tuple[torch.dtype, int, Layout]:
    return tensor.dtype, tensor.ndim, layout


def _array_type(dtype: torch.dtype, ndim: int, layout: Layout) -> Any:
    import numba

    return numba.types.Array(numba.from_dtype(np.dtype(str(dtype).removeprefix("torch."))), ndim, layout)


def _numba_cuda() -> Any:
    from numba import cuda

    return cuda


Pools = dict[str, Tensor]
"""[width, n] by dtype name."""


def new_pools(fields: Mapping[str, Field], count: int, device: torch.device) -> Pools:
    """Pools of `count` games with every field at its initial value."""
    # one pool per dtype: [width, n], the widths of its fields added up
    widths: dict[str, int] = {}
    for spec in own_fields(fields).values():
        widths[spec.dtype] = widths.get(spec.dtype, 0) + math.prod(spec.shape)
    pools = {
        dtype: torch.zeros((width, count), dtype=getattr(torch, dtype), device=device)
        for dtype, width in widths.items()
    }
    state = pool_views(own_fields(fields), pools)
    for name, field in state._asdict().items():
        field.copy_(torch.tensor(fields[name].fill, dtype=field.dtype))
    return pools


def pool_views(fields: Mapping[str, Field], pools: Pools, shared: Mapping[str, Tensor] = MappingProxyType({})) -> State:
    """The pools as a NamedTuple of tensors (n, ...) in Fortran order that share their memory; shared fields are those of `shared`."""
    used = dict.fromkeys(pools, 0)
    views = []
    for name, spec in fields.items():
        if spec.shared:
            views.append(shared[name])
            continue
        pool, width = pools[spec.dtype], math.prod(spec.shape)
        part = pool[used[spec.dtype] : used[spec.dtype] + width]
        used[spec.dtype] += width
        # the axes of a field reversed, games last; `permute` turns them round without moving anything
        turned = part.view(*reversed(spec.shape), pool.shape[1])
        views.append(turned.permute(*reversed(range(turned.ndim))))
    return state_class(tuple(fields))(*views)


def gather_pools(pools: Pools, rows: Tensor) -> Pools:
    """Copies of the games `rows`, in that order."""
    return {dtype: pool.index_select(1, rows) for dtype, pool in pools.items()}
