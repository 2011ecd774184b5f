"""What an environment of another library must return: checked, so that a fault of it is one line that says what is wrong."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Protocol, SupportsFloat

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.errors import OptionError

from .spaces import MASK


def flat_mask(mask: ArrayLike) -> NDArray[np.bool_]:
    """Legal actions (A,) from one mask, or from one mask per head."""
    parts = mask if isinstance(mask, tuple | list) else [mask]
    return np.concatenate([np.ravel(part) for part in parts]).astype(bool)


class Masks:
    """Writes the masks of an environment; where it gives none every action is legal, with a warning if it gave one when the game began."""

    def __init__(self, name: str) -> None:
        self._name, self._at_reset = name, False

    def write(self, mask: ArrayLike | None, legal: NDArray[np.bool_], begins: bool = False) -> None:
        """Write the legal actions (A,) of a decision; `mask` is one, or one per head, or None.

        Raises:
            OptionError: it does not have an entry for each action.
        """
        if mask is not None:
            flat = flat_mask(mask)
            if flat.shape != legal.shape:
                raise OptionError(
                    f"the action mask has {len(flat)} entries, must have one for each of {len(legal)} actions"
                )
            legal[:] = flat
        else:
            legal[:] = True
            if self._at_reset and not begins:
                warnings.warn(
                    f"{self._name} gives an action mask at reset and none at a step: there all actions are legal; "
                    f"put {MASK!r} into the info of every step, also if it is the same",
                    stacklevel=2,
                )
        self._at_reset = mask is not None if begins else self._at_reset


RESET_FORM, STEP_FORM = "(observation, info)", "(observation, reward, terminated, truncated, info)"
"""What `reset` and `step` of Gymnasium and of parallel environments return."""


class Restartable(Protocol):
    """An environment of Gymnasium or PettingZoo. What its `reset` takes and returns is checked here, not assumed."""

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        """Start an episode."""


class Steppable(Protocol):
    """An environment of Gymnasium, or a parallel one of PettingZoo. What its `step` returns is checked here, not assumed."""

    def step(self, *args: Any, **kwargs: Any) -> Any:
        """Play actions."""


def started(env: Restartable, seed: int | None, options: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """What `env.reset` returns.

    Raises:
        OptionError: it does not take a seed, or does not return (observation, info).
    """
    found: tuple[Any, Mapping[str, Any]] = _checked("reset", RESET_FORM, lambda: reset(env, seed, options))
    return found


def stepped(env: Steppable, action: object) -> tuple[Any, Any, Any, Any, Mapping[str, Any]]:
    """What `env.step` returns.

    Raises:
        OptionError: it does not return (observation, reward, terminated, truncated, info).
    """
    found: tuple[Any, Any, Any, Any, Mapping[str, Any]] = _checked("step", STEP_FORM, lambda: env.step(action))
    return found


def reset(env: Restartable, seed: int | None, options: Mapping[str, Any]) -> Any:
    """Call `env.reset`, without options if there are none.

    Raises:
        OptionError: it has another signature.
    """
    try:
        return env.reset(seed=seed, **({"options": dict(options)} if options else {}))
    except TypeError as error:
        if not any(f"unexpected keyword argument '{name}'" in str(error) for name in ("seed", "options")):
            raise
        raise OptionError(f"{error}; its signature must be reset(self, seed=None, options=None)") from error


def _checked(method: str, form: str, call: Callable[[], Any]) -> Any:
    """The tuple that a method returned, whose last entry is a dict; `form` names its entries."""
    try:
        found = call()
    except (TypeError, ValueError) as error:
        # Wrappers of Gymnasium unpack what a method returns, and cannot say which environment is wrong.
        if not ("unpack" in str(error) and traceback.extract_tb(error.__traceback__)[-1].filename.startswith(WRAPPERS)):
            raise
        raise OptionError(f"{method}() must return {form}: {error}") from error
    if not isinstance(found, tuple) or len(found) != form.count(",") + 1:
        given = f"{len(found)} values" if isinstance(found, tuple) else f"a {type(found).__name__}"
        raise OptionError(f"{method}() must return {form}, it returned {given}")
    if not isinstance(found[-1], Mapping):
        raise OptionError(f"{method}() must return {form}, its info is a {type(found[-1]).__name__}, must be a dict")
    return found


WRAPPERS = gymnasium.__path__[0]
"""Folder of the wrappers that stand between an environment and its user."""


def finite_reward(reward: SupportsFloat | None) -> float:
    """A reward as a number.

    Raises:
        OptionError: it is no finite number of float32.
    """
    try:
        number = float(reward)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = np.nan
    if not abs(number) <= np.finfo(np.float32).max:
        raise OptionError(f"the reward is {reward!r}, must be a finite number")
    return number
