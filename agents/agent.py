"""`Agent` chooses moves for a batch of games, `DrawingAgent` with random numbers; `KernelAgent` does so in compiled code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ludory.envs import Array, Engine, KernelEngine, Memory, bind, on_host, put
from ludory.errors import OptionError

from .draws import Draws, Keys, undrawn

E = TypeVar("E", bound=Engine)


class Agent:
    """Chooses moves from observations. Subclasses write `act`; what needs more than an observation overrides `choose`."""

    name = "agent"
    privileged = False
    """True if the agent reads what its seat cannot see."""
    deterministic = False
    """True if the agent always chooses the same action in equal games."""
    log_probs: Array | None = None
    """(m, H) log-probabilities of the actions chosen last; None if the agent does not know them."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def initial_memory(self, rows: int) -> Memory:
        """Memory of `rows` games before their first move: None, an array or a tuple of arrays whose first axis is the game."""
        return None

    def start_games(self, seat: int, keys: Keys) -> Memory:
        """Memory of new games in `seat`. Agents that draw random numbers override it.

        Args:
            seat: where the agent sits.
            keys: one 64-bit number per game, derived from its seed, index and episode. Draws that depend only on it and on the
                agent's seed (see `Draws`) do not depend on the other games of the batch, and continue when a run is resumed.
        """
        return self.initial_memory(len(keys))

    def seed(self, seed: int) -> None:
        """Restart random choices from `seed`; deterministic agents ignore it."""

    def counts(self) -> Mapping[str, float]:
        """What it did or spent since it was made, by name, for whoever reports a score: replies, requests, tokens. Most count nothing."""
        return {}

    def act(self, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """Returns actions (m,) or (m, H), and the new memory.

        Args:
            observation: `(m, *shape)` of the seat to move.
            mask: (m, A) bool, legal values of all heads, concatenated.
            memory: of these m games.
        """
        raise NotImplementedError(f"{type(self).__name__} needs act()")

    def act_at(self, seat: int, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """As `act`, for agents whose choice depends on where they sit."""
        return self.act(observation, mask, memory)

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Returns the actions of `seat` in the games `rows` and updates `memory` (of all games) in place."""
        mask = engine.legal()[rows]
        actions, after = self.act_at(
            seat, engine.observe(seat, rows), mask[:, seat] if mask.ndim == 3 else mask, _rows_of(memory, rows)
        )
        put(memory, after, rows)
        return actions

    def probabilities(self, seat: int, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """Probabilities of the actions of one head, (m, A), and the new memory; arguments as for `act_at`.

        Exact computations such as `ludory.exploitability` ask agents that draw for it.

        Raises:
            OptionError: the agent does not know them.
        """
        raise OptionError(
            f"{self.name} does not state the probabilities of its actions, which exact values need; agents that do: random, networks, "
            "tabular agents, and bots that draw no random numbers"
        )

    def action_probabilities(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """As `choose`, but returns the probability of every action, (m, A); for games of one head.

        Raises:
            OptionError: the agent does not know them.
        """
        if self.deterministic:
            return np.eye(engine.facts.num_actions)[on_host(self.choose(engine, seat, rows, memory))]
        mask, seen = engine.legal()[rows], engine.observe(seat, rows)
        stated, after = self.probabilities(seat, seen, mask, _rows_of(memory, rows))
        put(memory, after, rows)
        return stated

    def look_on(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> None:
        """Called where `seat` waits while others decide; for agents whose memory follows everything that the seat sees."""

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Called with every move before it is applied; agents that remember the course of a game override it."""


class DrawingAgent(Agent):
    """An agent whose choices depend on random numbers.

    Memory: int64 (rows, 2), a game's key and the number of draws in it; `act` adds `ONE_MORE` to what it used.

    Args:
        seed: of the draws; None: games that come without a key are different in every process.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._draws = Draws(seed)

    def seed(self, seed: int) -> None:
        """Restart the draws from `seed`."""
        self._draws.seed(seed)

    def initial_memory(self, rows: int) -> Memory:
        """int64 (rows, 2): a fresh key, and 0 draws."""
        return undrawn(self._draws.fresh(rows))

    def start_games(self, seat: int, keys: Keys) -> Memory:
        """Memory of new games; their draws depend on `keys`."""
        return undrawn(self._draws.keys(seat, keys))


def _rows_of(memory: Memory, rows: Array) -> Memory:
    if isinstance(memory, tuple):
        return tuple(_rows_of(part, rows) for part in memory)
    return None if memory is None else memory[rows]


class BotKernels(NamedTuple):
    """A rule bot as scalar kernels. memory: int32 [memory_size] of its seat, zero before the first move except for a key.

    choose(state, i, seat, memory) -> action id, in games of one head;
    choose(state, i, seat, memory, action), in games of several heads, writes action [H], which is all 0 when it is called;
    notice(state, i, seat, action, memory), in games in which seats move in turn, is called for every seat after an action
    is chosen and before it is applied.
    draws: the bot draws its moves; memory[0] and memory[1] then hold a random key, different for each game and seat.
    """

    choose: Callable[..., Any]
    notice: Callable[..., Any] | None = None
    memory_size: int = 0
    draws: bool = False


class KernelAgent(Agent):
    """A rule bot that runs entirely in compiled code. seed: of the keys, for a bot that draws."""

    def __init__(self, name: str, kernels: BotKernels, privileged: bool = False, seed: int | None = None) -> None:
        self.name, self.kernels, self.privileged = name, kernels, privileged
        self._scalar = {"choose": kernels.choose} | ({"notice": kernels.notice} if kernels.notice else {})
        self._draws = Draws(seed)
        self.deterministic = not kernels.draws

    def seed(self, seed: int) -> None:
        """Restart the keys of future games from `seed`."""
        self._draws.seed(seed)

    def initial_memory(self, rows: int) -> Memory:
        """int32 (rows, memory_size): zeros, preceded by a key if the bot draws."""
        return self._memory(rows, self._draws.fresh(rows) if self.kernels.draws else None)

    def start_games(self, seat: int, keys: Keys) -> Memory:
        """Memory of new games; their draws depend on `keys`."""
        return self._memory(len(keys), self._draws.keys(seat, keys) if self.kernels.draws else None)

    def _memory(self, rows: int, keys: Keys | None) -> Memory:
        memory = np.zeros((rows, self.kernels.memory_size), np.int32)
        if keys is not None:
            memory[:, :2] = keys.view(np.int32).reshape(rows, 2)
        return memory

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,), or (m, H) of several heads, of `seat` in the games `rows`."""
        if engine.device != "cpu":
            return self._choose_on_cuda(engine, seat, rows, memory)
        heads, kernel_engine = len(engine.facts.heads), self._refusing_others(engine, KernelEngine)
        bound = kernel_engine.bound("bot_cpu", self._scalar)
        actions = np.zeros((len(rows), heads) if heads > 1 else len(rows), np.int64)
        choose_rows = bound.choose_heads_rows if heads > 1 else bound.choose_rows
        kernel_engine.run(choose_rows, len(rows), *kernel_engine.kernel_state, rows, seat, memory, actions)
        return actions

    def _choose_on_cuda(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """As on the CPU, with one thread per game; the actions stay on the device."""
        import torch

        from ludory.envs.engine.cuda_engine import CudaEngine

        cuda_engine, heads = self._refusing_others(engine, CudaEngine), len(engine.facts.heads)
        bound, where = self._bound(cuda_engine), cuda_engine.tensor(rows)
        shape = (len(where), heads) if heads > 1 else (len(where),)
        actions = torch.zeros(shape, dtype=torch.int64, device=where.device)
        choose_rows = bound.choose_heads_rows if heads > 1 else bound.choose_rows
        with _on_device(cuda_engine, memory) as held:
            cuda_engine.run(choose_rows, len(where), cuda_engine.records, where, int(seat), held, actions)
        return actions

    def _bound(self, engine: Any) -> ModuleType:
        return bind("bot_cuda", self._scalar, engine.records.dtype, engine.game.shared_names)

    def _refusing_others(self, engine: Engine, kind: type[E]) -> E:
        """`engine`, which must be of this kind.

        Raises:
            OptionError: it is of another kind.
        """
        if not isinstance(engine, kind):
            raise OptionError(f"{self.name} plays on engines of compiled games, got {type(engine).__name__}")
        return engine

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Update the memory of `seat` with the moves about to be made in the games `rows`."""
        if not self.kernels.notice:
            return
        if engine.device == "cpu":
            kernel_engine = self._refusing_others(engine, KernelEngine)
            notice_rows = kernel_engine.bound("bot_cpu", self._scalar).notice_rows
            kernel_engine.run(notice_rows, len(rows), *kernel_engine.kernel_state, rows, seat, actions, memory)
            return
        from ludory.envs.engine.cuda_engine import CudaEngine

        cuda_engine = self._refusing_others(engine, CudaEngine)
        notice_rows, where = self._bound(cuda_engine).notice_rows, cuda_engine.tensor(rows)
        with _on_device(cuda_engine, memory) as held:
            tensors = where, int(seat), cuda_engine.tensor(actions), held
            cuda_engine.run(notice_rows, len(where), cuda_engine.records, *tensors)


@contextmanager
def _on_device(engine: Any, memory: Memory) -> Iterator[Any]:
    """`memory` as a tensor of a CUDA engine; a NumPy array, as `initial_memory` returns it, is copied there and back."""
    held = engine.tensor(memory)
    yield held
    if isinstance(memory, np.ndarray) and held.numel():
        memory[...] = held.cpu().numpy()
