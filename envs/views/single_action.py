"""One seat's action as a user types it, checked and put in the form of an engine's batch."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.game import GameFacts
from ludory.errors import IllegalActionError


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
