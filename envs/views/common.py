"""Common parts of the views: spaces, conversion of an action, pictures."""

from __future__ import annotations

import operator
from copy import deepcopy
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from typing_extensions import Self

from ludory.envs.engine.protocol import ArrayOrTensor, Engine, on_host
from ludory.envs.facts import GameFacts, ObservationSpec
from ludory.envs.game import Game
from ludory.envs.parts import State
from ludory.envs.pictures import svg_picture
from ludory.errors import IllegalActionError, OptionError, RenderModeError
from ludory.frames.raster import Camera

Picture: TypeAlias = "str | NDArray[np.uint8]"
"""What `render` returns: an array (height, width, 3) for "rgb_array", else a str."""
Parts: TypeAlias = tuple[NDArray[np.int8], ...]
"""Masks or probabilities as the spaces of Gymnasium take them: an array per head."""


class CopiedWhole:
    """A view whose copies have games of their own: with `copy.copy`, too, since two views of one engine would play one game."""

    def __copy__(self) -> Self:
        return deepcopy(self)


class HeadsSpace(MultiDiscrete):
    """`MultiDiscrete` with one entry per head; `sample` also accepts the flat legal mask (A,) that views return.

    Every head has a legal value, so a sample under a legal mask is legal.
    """

    def sample(self, mask: NDArray[Any] | Parts | None = None, probability: Parts | None = None) -> NDArray[np.int64]:
        """A random action (H,), legal under `mask` if one is given: flat (A,), or one array per head."""
        if isinstance(mask, np.ndarray):
            # Gymnasium wants one mask for each head
            mask = tuple(np.split(mask.astype(np.int8), np.cumsum(self.nvec)[:-1]))
        return super().sample(mask, probability)


class HeadsBatchSpace(Box):
    """Actions int64 (n, H) of n rows; `sample` also accepts the legal masks (n, A) that views return."""

    def __init__(self, single: HeadsSpace, count: int, seed: int | np.random.Generator | None = None) -> None:
        self.nvec = single.nvec
        super().__init__(0, np.tile(single.nvec - 1, (count, 1)), dtype=np.int64, seed=seed)

    def sample(self, mask: ArrayOrTensor | None = None, probability: None = None) -> NDArray[Any]:
        """Random actions (n, H), legal under `mask` (n, A) if one is given."""
        if mask is None:
            return super().sample(mask, probability)
        return legal_samples(self.np_random, mask, self.nvec)


class ActionBatchSpace(MultiDiscrete):
    """Actions int64 (n,) of n rows with one head; `sample` also accepts the legal masks (n, A) that views return."""

    def sample(self, mask: ArrayOrTensor | Parts | None = None, probability: Parts | None = None) -> NDArray[np.int64]:
        """Random actions (n,), legal under `mask` if one is given: (n, A), or a tuple as of `MultiDiscrete`."""
        if mask is None or isinstance(mask, tuple):
            return super().sample(mask, probability)
        return legal_samples(self.np_random, mask, self.nvec[:1])[:, 0]


def legal_samples(generator: np.random.Generator, mask: ArrayOrTensor, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Random actions (n, H), each value uniform among those of its head that `mask` (n, A) has; A is the sum of the head sizes.

    Raises:
        OptionError: the mask has another shape.
    """
    allowed = on_host(mask)
    if allowed.ndim != 2 or allowed.shape[1] != sizes.sum():
        raise OptionError(f"mask: must be an array (n, {sizes.sum()}) such as info['action_mask'], got {allowed.shape}")
    keys = (1 - generator.random(allowed.shape)) * allowed  # above 0 where legal; each is the largest equally often
    parts = np.split(keys, np.cumsum(sizes)[:-1], axis=1)
    return np.stack([part.argmax(1) for part in parts], axis=1)


@batch_space.register(HeadsSpace)
def _(space: HeadsSpace, n: int = 1) -> HeadsBatchSpace:  # registered, so that Gymnasium's SyncVectorEnv makes it, too
    return HeadsBatchSpace(space, n, deepcopy(space.np_random))


def batched_actions(single: Discrete[Any] | HeadsSpace | Box, count: int) -> gym.Space[Any]:
    """Space of the actions of `count` rows; it begins with the random numbers of `single`, as Gymnasium's `batch_space` does."""
    if isinstance(single, Discrete):
        return ActionBatchSpace([int(single.n)] * count, seed=deepcopy(single.np_random))
    return batch_space(single, count)


def observation_space(spec: ObservationSpec) -> Box:
    """Space of what a seat or a critic sees."""
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


def action_row(facts: GameFacts, action: object) -> NDArray[Any]:
    """An action as (1,) for one head, (1, H) for several, float32 (1, D) for continuous actions. The engine checks whether it is legal.

    Raises:
        IllegalActionError: it is not one integer (one head), H integers or D numbers.
    """
    if facts.box is not None:
        numbers = np.asarray(action)
        # numbers of integers are taken, too; booleans and texts are not
        if numbers.shape != (facts.action_size,) or numbers.dtype.kind not in "fiu":
            raise IllegalActionError(f"{facts.name}: action must be {facts.action_size} numbers, got {action!r}")
        return numbers.astype(np.float32)[None]
    heads = len(facts.heads)
    given: Any = action
    try:
        if heads == 1:  # an array or tensor of one integer is that integer
            only = given[0] if getattr(given, "shape", None) == (1,) else given
            return np.array([operator.index(only)], np.int64)
        chosen = np.array([[operator.index(value) for value in given]], np.int64)
    except (TypeError, OverflowError):
        chosen = np.empty(0, np.int64)
    if chosen.shape != (1, heads):
        wanted = f"one integer 0..{facts.num_actions - 1}" if heads == 1 else f"{heads} integers, one per head"
        raise IllegalActionError(f"{facts.name}: action must be {wanted}, got {action!r}")
    return chosen


def render_modes(game: Game) -> list[str]:
    """Allowed render modes: "ansi" (text) and "human" (printed text) if the game draws text, "svg" if it draws SVG, and "rgb_array"."""
    return [*(["ansi", "human"] if game.look.text else []), *(["svg"] if game.look.svg else []), "rgb_array"]


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


def draw(game: Game, engine: Engine, row: int, seat: int | None, mode: str, camera: Camera) -> Picture:
    """Picture of game `row` as `seat` sees it; None: everything is visible. An array (height, width, 3) for "rgb_array", else a str."""
    if mode == "rgb_array":
        return camera(svg_picture(game, engine.state, row, seat))
    picture = game.look.svg if mode == "svg" else game.look.text
    assert picture is not None, mode
    return picture(engine.state, row, seat)


class PublicFacts:
    """Facts of `Look.info`, and those that only a seat knows, as a view shows them: bool, int, float and arrays.

    This runs in every step, and most facts are plain numbers, which stay so: the others are found once for each set of keys, since words
    come and go.

    Args:
        game: whose `look` tells them.
    """

    def __init__(self, game: Game) -> None:
        self._game, self._named = game, tuple(game.look.fact_names.items())
        self._others: dict[tuple[str, ...], list[str]] = {}  # keys -> those of facts that are no plain numbers

    def __call__(self, state: State, row: int, seat: int | None = None) -> dict[str, Any]:
        """Facts of game `row`, and with `seat` those of that seat."""
        look = self._game.look
        told = dict(look.info(state, row))
        if seat is not None:
            told |= look.seat_info(state, row, seat)
        for key, names in self._named:
            told[key] = names.numbers(told.get(key))
        keys = tuple(told)
        if (others := self._others.get(keys)) is None:
            others = self._others[keys] = [key for key, value in told.items() if type(value) not in _PLAIN]
        for key in others:
            value = told[key]
            if isinstance(value, _LISTS):
                value = told[key] = np.array(value)
            if not (value.dtype.kind in "biuf" if isinstance(value, _ARRAYS) else isinstance(value, _NUMBERS)):
                del told[key]
        return told


_LISTS, _ARRAYS, _NUMBERS = (list, tuple), (np.ndarray, np.generic), (int, float)
_PLAIN = frozenset((bool, int, float))


def warn_of_illegal(game: Game, message: str) -> None:
    """Warn that an illegal action lost a game; once for each game in a process, because untrained policies do it all the time."""
    if game.id not in _WARNED:
        _WARNED.add(game.id)
        gym.logger.warn(
            f"{message}. The game is lost, as `illegal='lose'` says; choose among info['action_mask'], or make the environment with "
            f"illegal='raise'. This is said once for {game.id}."
        )


_WARNED: set[str] = set()
