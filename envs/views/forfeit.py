"""What an illegal action costs when a view plays on instead of raising."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Literal, get_args

from ludory.envs.engine.protocol import Array
from ludory.envs.game import GameFacts
from ludory.errors import OptionError

Illegal = Literal["lose", "raise"]


def checked_illegal(illegal: str) -> str:
    """`illegal`.

    Raises:
        OptionError: it is neither "lose" nor "raise".
    """
    if illegal not in get_args(Illegal):
        raise OptionError(f"illegal={illegal!r}: must be 'lose' (the game ends with the worst return) or 'raise'")
    return illegal


def forfeit_rewards(facts: GameFacts, returns: Array, seats: Sequence[int]) -> Array:
    """Rewards (m, P) that end m games which `seats` have lost by an illegal action, given the returns (m, P) so far.

    The return of a seat that lost becomes the worst possible, or falls by 1 where returns have no bound; a shared reward is shared,
    other seats get 0.
    """
    rewards = returns * 0
    losers = range(facts.players) if facts.reward == "shared" else seats
    for seat in losers:
        rewards[:, seat] = facts.min_return - returns[:, seat] if isfinite(facts.min_return) else -1
    return rewards
