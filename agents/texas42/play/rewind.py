"""Worlds of Texas 42 taken back to an earlier decision of the same deal: a hand then is the hand dealt less what was played by then."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def rewind(before: NDArray[Any], worlds: NDArray[Any]) -> NDArray[Any] | None:
    """The records `worlds` [n] as they were in the state `before` [1] of the same game; None: that was another deal."""
    if int(before["attempt"][0]) != int(worlds["attempt"][0]):
        return None
    then = np.repeat(before, len(worlds))
    played = before["dealt"][0] & ~before["held"][0]
    then["dealt"], then["held"] = worlds["dealt"], worlds["dealt"] & ~played
    return then
