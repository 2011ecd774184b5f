"""Rule bots on CUDA engines: the same scalar kernels as on the CPU, one thread per game."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from ludory.envs.engine.binding.bind import bind
from ludory.envs.engine.cuda_engine import CudaEngine
from ludory.envs.engine.protocol import Array, Engine
from ludory.envs.seats.player import Memory
from ludory.errors import OptionError

Kernels = Mapping[str, Callable[..., Any]]
"""`choose` and, if the bot remembers the course of a game, `notice`."""


def choose_rows(name: str, kernels: Kernels, engine: Engine, seat: int, rows: Array, memory: Memory) -> Tensor:
    """Actions (m,), or (m, H) of several heads, of `seat` in the games `rows`; see `KernelAgent.choose`."""
    made, bound = _bound(name, kernels, engine)
    where, heads = made.tensor(rows), len(engine.facts.heads)
    shape = (len(where), heads) if heads > 1 else (len(where),)
    actions = torch.zeros(shape, dtype=torch.int64, device=where.device)
    with _on_device(made, memory) as held:
        choose = bound.choose_heads_rows if heads > 1 else bound.choose_rows
        made.run(choose, len(where), made.records, where, int(seat), held, actions)
    return actions


def notice_rows(
    name: str, kernels: Kernels, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory
) -> None:
    """Tell `seat` of the moves about to be made in the games `rows`; see `KernelAgent.notice`."""
    made, bound = _bound(name, kernels, engine)
    where = made.tensor(rows)
    with _on_device(made, memory) as held:
        made.run(bound.notice_rows, len(where), made.records, where, int(seat), made.tensor(actions), held)


def _bound(name: str, kernels: Kernels, engine: Engine) -> tuple[CudaEngine, ModuleType]:
    if not isinstance(engine, CudaEngine):
        raise OptionError(f"{name} plays on engines of compiled games, got {type(engine).__name__}")
    return engine, bind("bot_cuda", kernels, engine.records.dtype, engine.game.shared_names)


@contextmanager
def _on_device(engine: CudaEngine, memory: Memory) -> Iterator[Tensor]:
    """`memory` as a tensor there; a NumPy array, as `initial_memory` gives it, is copied there and back."""
    held = engine.tensor(memory)
    yield held
    if not isinstance(memory, Tensor) and held.numel():
        memory[...] = held.cpu().numpy()
