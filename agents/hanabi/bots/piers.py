"""Piers (Walton-Rivers et al., Evaluating and modelling Hanabi-playing agents, arXiv 1704.07069), made deterministic."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.agents.hanabi.cards import unseen_copies
from ludory.agents.hanabi.moves import NO_RULE
from ludory.envs.hanabi.rules import deck_left
from ludory.envs.kernels import kernel

from .simple_rules import discard_or_tell, play_probable, play_safe, tell_dispensable, tell_useful


@kernel
def choose_piers(state, i, seat, memory):
    """IGGI's list with risks while a life can be spared, most of all in the last round, and hints to free useless cards."""
    ones, twos = unseen_copies(state, i, seat)
    can_risk = int(state.lives[i]) > 1
    move = NO_RULE
    if can_risk and deck_left(state, i) == 0:
        move = play_probable(state, i, seat, ones, twos, 0, 1)
    if move == NO_RULE:
        move = play_safe(state, i, seat, ones, twos)
    if move == NO_RULE and can_risk:
        move = play_probable(state, i, seat, ones, twos, 3, 5)
    if move == NO_RULE:
        move = tell_useful(state, i, seat)
    if move == NO_RULE and int(state.tokens[i]) < 4:
        move = tell_dispensable(state, i, seat)
    return discard_or_tell(state, i, seat, ones, twos) if move == NO_RULE else move
