"""What the views have in common: spaces, one seat's action, pictures."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from numpy.typing import NDArray

from ludory.envs.engine.protocol import Engine
from ludory.envs.game import Game, GameFacts
from ludory.errors import IllegalActionError, OptionError

FRAMES_PER_SECOND = 2


class HeadsSpace(MultiDiscrete):
    """`MultiDiscrete` with one entry per head; `sample` also takes the flat legal mask (A,) that views give.

    Every head has a legal value, so a sample under a legal mask is legal.
    """

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """A random action (H,), legal under `mask` if one is given: flat (A,), or one array per head."""
        if isinstance(mask, np.ndarray):
            mask = tuple(np.split(mask.astype(np.int8), np.cumsum(self.nvec)[:-1]))
        return super().sample(mask, probability)


def observation_space(facts: GameFacts) -> Box:
    """What a seat sees."""
    spec = facts.observation
    return Box(spec.low, spec.high, spec.shape, np.dtype(spec.dtype).type)


def action_space(facts: GameFacts, extra: int = 0) -> Discrete[Any] | HeadsSpace | Box:
    """One seat's action: `Discrete` for one head, with `extra` ids at the end; `HeadsSpace` for several; `Box` of continuous actions."""
    if facts.box is not None:
        return Box(np.array(facts.box.low, np.float32), np.array(facts.box.high, np.float32))
    if len(facts.heads) == 1:
        return Discrete(facts.num_actions + extra)
    return HeadsSpace(list(facts.head_sizes))


def mask_space(length: int) -> Box:
    """A legal mask as part of an observation."""
    return Box(0, 1, (length,), np.int8)


def action_row(facts: GameFacts, action: Any) -> NDArray[Any]:
    """An action as (1,) for one head, (1, H) for several, float32 (1, D) of continuous actions; the engine tells whether it is legal.

    Raises:
        IllegalActionError: it is not one integer (one head), not H integers, or not D numbers.
    """
    if facts.box is not None:
        numbers = np.asarray(action)
        if numbers.shape != (facts.action_size,) or numbers.dtype.kind not in "fiu":
            raise IllegalActionError(f"{facts.name}: action must be {facts.action_size} numbers, got {action!r}")
        return numbers.astype(np.float32)[None]
    heads = len(facts.heads)
    try:
        if heads == 1:
            return np.array([operator.index(action)], np.int64)
        chosen = np.array([[operator.index(value) for value in action]], np.int64)
    except (TypeError, OverflowError):
        chosen = np.empty(0, np.int64)
    if chosen.shape != (1, heads):
        wanted = f"one integer 0..{facts.num_actions - 1}" if heads == 1 else f"{heads} integers, one per head"
        raise IllegalActionError(f"{facts.name}: action must be {wanted}, got {action!r}")
    return chosen


def render_modes(game: Game) -> list[str]:
    """What `render_mode` may be: "ansi" (text) and "human" (text, printed) if the game draws text, "svg" if it draws SVG."""
    return [*(["ansi", "human"] if game.text else []), *(["svg"] if game.svg else [])]


def checked_render_mode(game: Game, mode: str | None, modes: list[str]) -> str | None:
    """`mode`, None or one of `modes`.

    Raises:
        OptionError: the game cannot be drawn so.
    """
    if mode is not None and mode not in modes:
        raise OptionError(f"render_mode={mode!r}: {game.facts.name} has {', '.join(map(repr, [None, *modes]))} here")
    return mode


def draw(game: Game, engine: Engine, row: int, seat: int | None, mode: str) -> str:
    """Game `row` as `seat` sees it, None: everything face up."""
    picture = game.svg if mode == "svg" else game.text
    assert picture is not None, mode
    return picture(engine.state, row, seat)
