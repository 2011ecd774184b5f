"""Which tile a search tries first: the sooner the best one, the more of the others need not be tried. Weights are by trial."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs.kernels import kernel

from .tile_bits import count_of, index_of


@kernel
def lead_score(bit, hands, left, seat, follows, wins, fives, tens):
    """Leads that win for certain first, trumps and counts up; then those that the partner can win; then the rest, weak ones up."""
    at = index_of(bit)
    follow, able = int(follows[at]), int(wins[at])
    a, p, b = int(hands[(seat + 1) & 3]) & left, int(hands[(seat + 2) & 3]) & left, int(hands[(seat + 3) & 3]) & left
    a = a & follow if a & follow else a
    p = p & follow if p & follow else p
    b = b & follow if b & follow else b
    theirs = max(a & able, b & able)
    count = count_of(bit, fives, tens)
    if bit > theirs:
        return 2000 + 8 * count + at
    if p & able > theirs:
        return 1000 + 8 * count - at
    return at - count


@kernel
def follow_score(bit, ours, theirs, able, fives, tens):
    """With tiles that win for the side counts up, with others counts down; strong tiles later."""
    count, at = count_of(bit, fives, tens), index_of(bit)
    if bit & able > max(ours, theirs):
        return 1000 + 4 * count - at
    if ours > theirs:
        return 1000 + 32 * count - at
    return -8 * count - at
