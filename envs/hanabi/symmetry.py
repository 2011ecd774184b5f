"""Hanabi stays the same game if its colours are renamed. Other-Play uses this (arXiv 2003.02979); here it augments data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludory.envs import Symmetry

from .observation import HINT_BITS, observation_spec
from .variants import HanabiOptions


def draw_colors(options: HanabiOptions, generator: np.random.Generator) -> Symmetry:
    """One of the C! ways to rename the colours, all equally likely."""
    return rename_colors(options, generator.permutation(options.colors))


def rename_colors(options: HanabiOptions, names: NDArray[np.int64]) -> Symmetry:
    """The renaming of colour c to names[c]."""
    p, h, c, r = options.players, options.hand_size, options.colors, options.ranks
    was = np.argsort(names)  # colour j was colour was[j]
    spec = observation_spec(options)
    observation = np.arange(spec.size)
    tables = {  # segment -> shape in which an axis is the colour, and that axis
        "hands": ((p - 1) * h, c, r),
        "fireworks": (1, c, r),
        "discards": (1, c, -1),
        "last_color": (1, c, 1),
        "last_card": (1, c, r),
        "playable_cards": (1, c, r),
        "worthless_cards": (1, c, r),
        "believed": (p * h, c, r),
    }
    for segment in spec.segments:
        part = observation[segment.start : segment.start + segment.length]
        if segment.name in tables:
            part[:] = part.reshape(tables[segment.name])[:, was].ravel()
        elif segment.name == "knowledge":
            # a slot has cards, then colours, then ranks; ranks do not change their name
            slots = part.reshape(p * h, c * r + c + r)
            slots[:, : c * r] = slots[:, : c * r].reshape(p * h, c, r)[:, was].reshape(p * h, c * r)
            slots[:, c * r : c * r + c] = slots[:, c * r : c * r + c][:, was]
        elif segment.name == "hints":
            hints_told = part.reshape(p - 1, c + r, HINT_BITS)
            hints_told[:, :c] = hints_told[:, :c][:, was]
    actions = np.arange(options.num_actions)
    hints = actions[2 * h : 2 * h + (p - 1) * c].reshape(p - 1, c)
    # the id of a colour hint is the first of its seat plus the colour
    hints[:] = hints[:, :1] + names
    return Symmetry(observation, actions)
