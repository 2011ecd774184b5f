"""Orders of Hanabi's action ids in files of other programs, and the legal actions that follow from an observation."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ludory.envs import GameFacts
from ludory.errors import OptionError

ActionOrder = Literal["ludory", "play_first_bw", "play_first"]
ACTION_ORDERS: tuple[str, ...] = get_args(ActionOrder)
WHITE, BLUE = 3, 4


class Sizes(NamedTuple):
    """Players, hand size, colours and ranks of a variant of Hanabi."""

    players: int
    hand: int
    colors: int
    ranks: int


def hanabi_sizes(facts: GameFacts) -> Sizes:
    """Sizes, read from the segments of the observation.

    Raises:
        OptionError: the game is not Hanabi.
    """
    lengths = {segment.name: segment.length for segment in facts.segments}
    if facts.name != "Hanabi":
        raise OptionError(f"{facts.name}: these logs are of Hanabi; name one of its ids, e.g. Hanabi2P-v0")
    return Sizes(facts.players, lengths["last_slot"], lengths["last_color"], lengths["last_rank"])


def ludory_ids(order: str, sizes: Sizes) -> NDArray[np.int64]:
    """(A,) Ludory's id of every id in a file.

    `ludory`: discards first, colours R Y G W B (as hanabi-learning-environment). `play_first`: plays before discards.
    `play_first_bw`: plays first, and with five colours R Y G B W.

    Raises:
        OptionError: the order is unknown.
    """
    if order not in ACTION_ORDERS:
        raise OptionError(f"action_order={order!r}: must be one of {', '.join(ACTION_ORDERS)}")
    players, hand, colors, ranks = sizes
    ids = np.arange(2 * hand + (players - 1) * (colors + ranks))
    if order != "ludory":
        ids[: 2 * hand] = np.roll(ids[: 2 * hand], -hand)
    if order == "play_first_bw" and colors == 5:
        for offset in range(players - 1):
            at = 2 * hand + offset * colors
            ids[[at + WHITE, at + BLUE]] = ids[[at + BLUE, at + WHITE]]
    return ids


def told_by_observation(observations: NDArray[Any], facts: GameFacts) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(m, A) legal actions as they follow from tokens, slots and the cards of others, and (m, A) where they do follow.

    Args:
        observations: (m, size) entries of the game's observation.
        facts: of Hanabi.
    """
    players, hand, colors, ranks = hanabi_sizes(facts)
    count = len(observations)
    part = {s.name: observations[:, s.start : s.start + s.length] != 0 for s in facts.segments}
    tokens, most = part["info"].sum(1)[:, None], part["info"].shape[1]
    cards = part["hands"].reshape(count, players - 1, hand, colors, ranks)
    hints = np.concatenate([cards.any((2, 4)).reshape(count, -1), cards.any((2, 3)).reshape(count, -1)], 1)
    if "knowledge" in part:
        own = part["knowledge"].reshape(count, players, hand, -1)[:, 0, :, : colors * ranks].any(2)
        own_known = np.ones_like(own)
    else:
        own = own_known = np.repeat(~part["short_hand"][:, :1], hand, 1)
    legal = np.concatenate([own & (tokens < most), own, hints & (tokens > 0)], 1)
    known = np.concatenate([own_known | (tokens >= most), own_known, np.ones_like(hints)], 1)
    return legal, known


def fitting_orders(
    masks: NDArray[np.bool_], observations: NDArray[Any], facts: GameFacts
) -> dict[str, NDArray[np.bool_]]:
    """For every action order, which masks (m, A) of a file fit their observations."""
    legal, known = told_by_observation(observations, facts)
    sizes = hanabi_sizes(facts)
    fits = {}
    for order in ACTION_ORDERS:
        ids = ludory_ids(order, sizes)
        fits[order] = ((masks == legal[:, ids]) | ~known[:, ids]).all(1)
    return fits
