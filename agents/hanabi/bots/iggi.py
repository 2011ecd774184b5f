"""IGGI (Walton-Rivers et al., Evaluating and modelling Hanabi-playing agents, arXiv 1704.07069), made deterministic."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.agents.hanabi.cards import unseen_copies
from ludory.agents.hanabi.moves import NO_RULE
from ludory.envs.kernels import kernel

from .simple_rules import discard_or_tell, play_if_certain, play_safe, tell_useful


@kernel
def choose_iggi(state, i, seat, memory):
    """PlayIfCertain, PlaySafe, TellUseful, OsawaDiscard, DiscardOldest, TellAnything: the first that has a move."""
    move = play_if_certain(state, i, seat)
    if move != NO_RULE:
        return move
    ones, twos = unseen_copies(state, i, seat)
    move = play_safe(state, i, seat, ones, twos)
    if move == NO_RULE:
        move = tell_useful(state, i, seat)
    return discard_or_tell(state, i, seat, ones, twos) if move == NO_RULE else move
