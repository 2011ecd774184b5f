"""What a seat may think of what is hidden from it: the probability of every card in its hand, or of every holder of a tile."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ludory.agents.search.blueprint import records_of
from ludory.envs.engine.protocol import on_host
from ludory.envs.hanabi.rules import step as hanabi_step
from ludory.envs.hanabi.sight import LETTERS
from ludory.envs.texas42.tiles import ALL_TILES, TILE_NAMES, tiles_of
from ludory.envs.texas42.worlds import Worlds, knowledge

from .positions import StudiedPosition
from .searches import Analyst, BotAnalyst
from .solved import is_texas42
from .values import Floats

SAMPLES = 2000
"""Worlds of a sampled belief: an error of at most 1.1 % of any probability."""


class HiddenCards(NamedTuple):
    """R hidden things, C values that each may have."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    probabilities: Floats
    """(R, C); rows sum to 1."""
    truth: tuple[int, ...] | None
    """(R,): the true values; None where they may not be seen."""
    note: str
    """Where the probabilities come from, one sentence."""


def belief_at(
    position: StudiedPosition, seat: int, analyst: Analyst | None, key: int, shown: bool
) -> HiddenCards | None:
    """What `seat` may think of what is hidden from it; None if nothing is, or the game has no such table.

    Args:
        position: of the game.
        seat: who thinks.
        analyst: that of the game, which has followed it to this position; None: nothing is inferred from the moves of others.
        key: of draws.
        shown: whether the truth may be shown.
    """
    if position.over:
        return None
    if position.game.has_kernel("step", hanabi_step):
        return _hand(position, seat, analyst, key, shown)
    if is_texas42(position.game):
        return _holders(position, seat, shown, key)
    return None


def _hand(position: StudiedPosition, seat: int, analyst: Analyst | None, key: int, shown: bool) -> HiddenCards:
    view = position.seat(seat)
    if isinstance(analyst, BotAnalyst) and seat in analyst.beliefs:
        belief = analyst.beliefs[seat]
        hands = belief.draw(view, SAMPLES, key).worlds["hands"][:, seat]
        missed = belief.contradictions
        note = f"{SAMPLES} hands that agree with the hints, and with the moves of others if they play as {analyst.bot}"
        if missed:
            note += f"; {missed} of their moves {'does' if missed == 1 else 'do'} not, and no longer count{'s' if missed == 1 else ''}"
    else:
        hands = records_of(view.worlds(SAMPLES, abs(key) >> 2), "a belief")["hands"][:, seat]
        note = f"{SAMPLES} hands that agree with the hints"
    state = position.engine.state
    ranks = state.discards.shape[1] // state.fireworks.shape[1]
    held, cards = int(on_host(state.held)[0, seat]), int(on_host(state.discards).shape[1])
    shares = np.stack([np.bincount(hands[:, slot], minlength=cards) / len(hands) for slot in range(held)])
    names = tuple(f"{LETTERS[card // ranks]}{card % ranks + 1}" for card in range(cards))
    truth = tuple(int(card) for card in on_host(state.hands)[0, seat, :held]) if shown else None
    slots = tuple(f"slot {slot + 1}" for slot in range(held))
    return HiddenCards(f"Hand of seat {seat}", slots, names, shares, truth, note)


def _holders(position: StudiedPosition, seat: int, shown: bool, key: int) -> HiddenCards | None:
    state: Any = position.engine.state
    known = knowledge(state, 0, seat)
    tiles = tiles_of(known.unseen & ALL_TILES)
    if not tiles:
        return None
    worlds = Worlds(known)
    hands = worlds.choose(SAMPLES, key, SAMPLES)
    shares = np.array([[(hands[:, k] >> tile & 1).mean() for k in range(3)] for tile in tiles])
    others = [(seat + k) % 4 for k in (1, 2, 3)]
    truth = None
    if shown:
        held = [int(state.held[0, other]) for other in others]
        truth = tuple(next(k for k, mask in enumerate(held) if mask >> tile & 1) for tile in tiles)
    names = tuple(TILE_NAMES[tile] for tile in tiles)
    every = f"all {worlds.count}" if len(hands) == worlds.count else f"{len(hands)} of {worlds.count:,}"
    note = f"{every} deals that agree with what was played; nothing is inferred from plays but voids"
    return HiddenCards("Who holds which tile", names, tuple(f"seat {other}" for other in others), shares, truth, note)
