"""Common parts of the views: spaces, conversion of an action, pictures."""

from __future__ import annotations

import operator
from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from numpy.typing import NDArray
from typing_extensions import Self

from ludory.envs.engine.protocol import Engine
from ludory.envs.game import Game, GameFacts
from ludory.envs.pictures import svg_picture
from ludory.errors import IllegalActionError, RenderModeError
from ludory.frames.raster import Camera


class CopiedWhole:
    """A view whose copies have games of their own: with `copy.copy`, too, since two views of one engine would play one game."""

    def __copy__(self) -> Self:
        return deepcopy(self)


class HeadsSpace(MultiDiscrete):
    """`MultiDiscrete` with one entry per head; `sample` also accepts the flat legal mask (A,) that views return.

    Every head has a legal value, so a sample under a legal mask is legal.
    """

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """A random action (H,), legal under `mask` if one is given: flat (A,), or one array per head."""
        if isinstance(mask, np.ndarray):
            mask = tuple(np.split(mask.astype(np.int8), np.cumsum(self.nvec)[:-1]))
        return super().sample(mask, probability)


def observation_space(facts: GameFacts) -> Box:
    """Space of what a seat sees."""
    spec = facts.observation
    return Box(spec.low, spec.high, spec.shape, np.dtype(spec.dtype).type)


def action_space(facts: GameFacts, extra: int = 0) -> Discrete[Any] | HeadsSpace | Box:
    """Space of one seat's action: `Discrete` for one head, with `extra` ids at the end; `HeadsSpace` for several; `Box` for continuous actions."""
    if facts.box is not None:
        return Box(np.array(facts.box.low, np.float32), np.array(facts.box.high, np.float32))
    if len(facts.heads) == 1:
        return Discrete(facts.num_actions + extra)
    return HeadsSpace(list(facts.head_sizes))


def mask_space(length: int) -> Box:
    """Space of a legal mask that is part of an observation."""
    return Box(0, 1, (length,), np.int8)


def action_row(facts: GameFacts, action: Any) -> NDArray[Any]:
    """An action as (1,) for one head, (1, H) for several, float32 (1, D) for continuous actions. The engine checks whether it is legal.

    Raises:
        IllegalActionError: it is not one integer (one head), H integers or D numbers.
    """
    if facts.box is not None:
        numbers = np.asarray(action)
        if numbers.shape != (facts.action_size,) or numbers.dtype.kind not in "fiu":
            raise IllegalActionError(f"{facts.name}: action must be {facts.action_size} numbers, got {action!r}")
        return numbers.astype(np.float32)[None]
    heads = len(facts.heads)
    try:
        if heads == 1:  # an array or tensor of one integer is that integer
            only = action[0] if getattr(action, "shape", None) == (1,) else action
            return np.array([operator.index(only)], np.int64)
        chosen = np.array([[operator.index(value) for value in action]], np.int64)
    except (TypeError, OverflowError):
        chosen = np.empty(0, np.int64)
    if chosen.shape != (1, heads):
        wanted = f"one integer 0..{facts.num_actions - 1}" if heads == 1 else f"{heads} integers, one per head"
        raise IllegalActionError(f"{facts.name}: action must be {wanted}, got {action!r}")
    return chosen


def render_modes(game: Game) -> list[str]:
    """Allowed render modes: "ansi" (text) and "human" (printed text) if the game draws text, "svg" if it draws SVG, and "rgb_array"."""
    return [*(["ansi", "human"] if game.text else []), *(["svg"] if game.svg else []), "rgb_array"]


def checked_render_mode(game: Game, mode: str | None, modes: list[str]) -> str | None:
    """`mode`, if it is None or one of `modes`.

    Raises:
        RenderModeError: it is neither.
    """
    if mode is not None and mode not in modes:
        raise RenderModeError(
            f"render_mode={mode!r}: {game.facts.name} has {', '.join(map(repr, [None, *modes]))} here"
        )
    return mode


def draw(game: Game, engine: Engine, row: int, seat: int | None, mode: str, camera: Camera) -> Any:
    """Picture of game `row` as `seat` sees it; None: everything is visible. An array (height, width, 3) for "rgb_array", else a str."""
    if mode == "rgb_array":
        return camera(svg_picture(game, engine.state, row, seat))
    picture = game.svg if mode == "svg" else game.text
    assert picture is not None, mode
    return picture(engine.state, row, seat)


def warn_of_illegal(game: Game, message: str) -> None:
    """Warn that an illegal action lost a game; once for each game in a process, because untrained policies do it all the time."""
    if game.id not in _WARNED:
        _WARNED.add(game.id)
        gym.logger.warn(
            f"{message}. The game is lost, as `illegal='lose'` says; choose among info['action_mask'], or make the environment with "
            f"illegal='raise'. This is said once for {game.id}."
        )


_WARNED: set[str] = set()
