"""Action ids of Hanabi moves, for kernels."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel
from ludory.envs.hanabi.rules import rank_count

NO_RULE = -1
"""What a rule gives when it has no move."""


@kernel
def discard_id(slot):
    """Discard a slot."""
    return slot


@kernel
def play_id(state, slot):
    """Play a slot."""
    return state.hands.shape[2] + slot


@kernel
def tell_color_id(state, offset, color):
    """Tell the seat `offset` places on which of its cards have a colour."""
    return 2 * state.hands.shape[2] + (offset - 1) * state.fireworks.shape[1] + color


@kernel
def tell_rank_id(state, offset, rank):
    """Tell the seat `offset` places on which of its cards have a rank."""
    players, colors = state.hands.shape[1], state.fireworks.shape[1]
    return 2 * state.hands.shape[2] + (players - 1) * colors + (offset - 1) * rank_count(state) + rank
