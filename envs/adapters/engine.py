"""`AdaptedEngine`: a batch of environments of other libraries, and the common parts of the adapters."""

from __future__ import annotations

import base64
import os
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine.pool_worker import Environment
from ludory.envs.engine.pooled_engine import POOL_OPTIONS, PooledEngine
from ludory.envs.facts import GameFacts, ObservationSpec
from ludory.envs.game import Game
from ludory.envs.parts import Look, Rules, State
from ludory.errors import OptionError

from .spaces import Actions

ENGINE_OPTIONS = {**POOL_OPTIONS, "workers": None}
"""Options of the engine with their defaults; workers=None uses `default_workers`."""
WORTH_A_WORKER = 5e-3
"""Worker processes are used if one step of all environments takes at least so many seconds. Starting them takes seconds, waking them 0.2 ms."""
NO_LIMIT = 2**31 - 1
"""`longest_game` of an environment without a step limit."""


class Adapted(Environment, Protocol):
    """An environment of another library in a `PooledEngine`."""

    def picture(self, mode: str) -> object:
        """What the environment renders in `mode`; None if it was made for another mode."""


class AdaptedEnvironment:
    """Common methods of adapted environments; `env` is the environment of the other library."""

    env: Any

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def picture(self, mode: str) -> object:
        """The frame or text that the environment renders; None if it was made for another render mode."""
        return self.env.render() if getattr(self.env.unwrapped, "render_mode", None) == mode else None


@dataclass(frozen=True)
class Wrapped:
    """Makes an environment and wraps it for a `PooledEngine`; can be sent to a worker."""

    wrap: Callable[[Any], Adapted]
    make: Callable[[str | None], Any]

    def __call__(self, mode: str | None) -> Adapted:
        """An environment that renders in `mode`."""
        return self.wrap(self.make(mode))


class Foreign(Protocol):
    """An environment of another library, before it is wrapped."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Has the `render_modes`."""

    def close(self) -> None:
        """Close it."""


def adapted_game(
    facts: GameFacts,
    maker: Callable[[str | None], Any] | Sequence[Callable[[str | None], Any]],
    wrap: Callable[[Any], Adapted],
    env: Foreign,
    seconds: float,
) -> Game:
    """The game of environments that `maker` makes; a list has one maker for each existing environment.

    env: one of the environments; its metadata have the render modes. It is closed if `maker` can make another one.
    seconds: approximate time of a step of one environment.
    """
    modes = tuple(env.metadata.get("render_modes") or ())
    if callable(maker):
        env.close()
    return Game(
        facts,
        Rules(
            engine=Adapter(
                Wrapped(wrap, maker) if callable(maker) else [Wrapped(wrap, one) for one in maker], modes, seconds
            ),
            engine_options=ENGINE_OPTIONS,
        ),
        look=Look(text=text_picture, svg=svg_picture if "rgb_array" in modes else None),
    )


def one_seat_facts(
    name: str, observation: ObservationSpec, actions: Actions, longest_game: int = NO_LIMIT, seats_wait: bool = False
) -> GameFacts:
    """Facts of an environment with one agent; whether it has hidden information is unknown, and makes no difference."""
    return GameFacts(
        name,
        1,
        "sequential",
        "shared",
        hidden_information=False,
        chance=True,
        heads=actions.heads,
        box=actions.box,
        observation=observation,
        longest_game=longest_game,
        min_return=-np.inf,
        max_return=np.inf,
        seats_wait=seats_wait,
    )


@dataclass(frozen=True)
class Adapter:
    """`Rules.engine` of adapted environments.

    Args:
        make: makes an environment, `make(render_mode)`; or a list with one such function per game.
        render_modes: those of the environments.
        seconds: approximate time of a step of one environment.
    """

    make: Callable[[str | None], Adapted] | Sequence[Callable[[str | None], Adapted]]
    render_modes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def num_envs(self) -> int | None:
        """Number of environments that exist; None: any number can be made."""
        return None if callable(self.make) else len(self.make)

    def __call__(
        self,
        game: Game,
        num_games: int = 1,
        seed: int | None = None,
        first_game: int = 0,
        threads: int | None = None,
        device: str = "cpu",
        *,
        workers: int | None = None,
        **options: Any,
    ) -> PooledEngine:
        """A batch of `num_games` games.

        Raises:
            OptionError: more games than environments, or as for `PooledEngine`.
        """
        if self.num_envs is not None and num_games > self.num_envs:
            raise OptionError(
                f"{game.name} is made of {self.num_envs} environment object(s), got {num_games} games; "
                "give the class or a function that makes one, or set num_envs"
            )
        if workers is None:
            workers = default_workers(num_games, self.seconds)
        rest = {"workers": workers, **options}
        return AdaptedEngine(game, num_games, seed, first_game, threads, device, adapter=self, **rest)


def default_workers(num_games: int, seconds: float) -> int:
    """0 if a step of the whole batch takes less than `WORTH_A_WORKER`, else the number of cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 0 if num_games * seconds < WORTH_A_WORKER or num_games < 4 or cores < 2 else min(cores, num_games // 2)


class AdaptedEngine(PooledEngine):
    """A `PooledEngine` that can render environments that run in this process."""

    def __init__(self, *args: Any, adapter: Adapter, **options: Any) -> None:
        num_games = args[1]
        # Renderers may own windows and buffers, so only single games are rendered.
        mode = next((m for m in ("rgb_array", "ansi") if m in adapter.render_modes), None) if num_games == 1 else None
        makers = [adapter.make] * num_games if callable(adapter.make) else list(adapter.make)[:num_games]
        super().__init__(*args, environment=[_Made(make, mode) for make in makers], **options)

    def picture(self, row: int, mode: str) -> object:
        """What the environment of a game renders; None if it cannot render, or runs in another process."""
        environments: Any = self.pool.environments
        return environments[row].picture(mode) if environments else None


@dataclass(frozen=True)
class _Made:
    """Makes one environment; a class, so that it can be sent to a worker."""

    make: Callable[[str | None], Adapted]
    mode: str | None

    def __call__(self) -> Adapted:
        return self.make(self.mode)


def text_picture(state: State, i: int, seat: int | None) -> str:
    """`Look.text`: the text that the environment renders, else its observation as numbers."""
    words = state.engine.picture(i, "ansi")
    if isinstance(words, str):
        return words
    seats = range(state.observations.shape[1]) if seat is None else [seat]
    shown = (np.array2string(state.observations[i, k].ravel()[:200], precision=3, threshold=200) for k in seats)
    return "\n".join(shown)


def svg_picture(state: State, i: int, seat: int | None) -> str:
    """`Look.svg`: the frame that the environment renders, as an image in an SVG document."""
    frame = state.engine.picture(i, "rgb_array")
    if not isinstance(frame, np.ndarray):
        raise OptionError(
            f"{state.engine.game.name} has no frames here: it must render 'rgb_array', in this process (workers=0)"
        )
    height, width = frame.shape[:2]
    data = base64.b64encode(png(frame)).decode()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<image width="{width}" height="{height}" href="data:image/png;base64,{data}"/></svg>'
    )


def png(frame: NDArray[np.uint8]) -> bytes:
    """A PNG file of an image (height, width, 3); ISO/IEC 15948, colour type 2, filter 0."""
    height, width = frame.shape[:2]
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = frame[..., :3].reshape(height, -1)
    parts = (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows.tobytes()))
    chunks = [_chunk(name, data) for name, data in (*parts, (b"IEND", b""))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
