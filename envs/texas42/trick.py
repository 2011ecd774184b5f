"""Following suit and winning tricks, as scalar kernels."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel

from .tiles import COUNT, FOLLOW, LED, NEARER, NELLO_HIGH, NELLO_LOW, RANK, SEVENS


@kernel
def sits_out(state, i):
    """The seat that does not play: the bidder's partner under nello, else -1."""
    decl = int(state.decl[i])
    if NELLO_HIGH <= decl <= NELLO_LOW:
        return (int(state.bidder[i]) + 2) & 3
    return -1


@kernel
def trick_size(state, i):
    """Tiles of a whole trick."""
    return 3 if sits_out(state, i) >= 0 else 4


@kernel
def next_seat(state, i, seat):
    """Who plays after `seat`."""
    after = (seat + 1) & 3
    return (after + 1) & 3 if after == sits_out(state, i) else after


@kernel
def nearest_to_seven(held):
    """The tiles of a hand that are nearest to seven pips."""
    # distances from seven pips are 0 to 7, and NEARER[d] has the tiles nearer than d
    for distance in range(1, 9):
        near = held & int(NEARER[distance])
        if near != 0:
            return near
    return 0


@kernel
def playable(decl, held, led):
    """Mask of the tiles that may be played from a hand; led: the suit led, -1 for the leader."""
    if decl == SEVENS:
        return nearest_to_seven(held)
    if led < 0:
        return held
    following = held & int(FOLLOW[decl, led])
    return following if following != 0 else held


@kernel
def shown_not_held(decl, led, tile):
    """Mask of the tiles that a seat which plays `tile` shows not to hold; led: -1 for the leader."""
    if decl == SEVENS:
        distance = 0
        # the tile's distance; anything nearer would have had to be played
        while (int(NEARER[distance + 1]) >> tile) & 1 == 0:
            distance += 1
        return int(NEARER[distance])
    # a leader, or who follows suit, shows nothing
    if led < 0 or (int(FOLLOW[decl, led]) >> tile) & 1:
        return 0
    return int(FOLLOW[decl, led])


@kernel
def suit_led(state, i):
    """Suit of the present trick, -1 before its first tile."""
    if int(state.trick_len[i]) == 0:
        return -1
    return int(LED[int(state.decl[i]), int(state.trick[i, 0])])


@kernel
def trick_winner(state, i):
    """Seat that wins the tiles lying in the trick."""
    decl, led = int(state.decl[i]), suit_led(state, i)
    seat, winner, best = int(state.leader[i]), -1, 0
    for place in range(int(state.trick_len[i])):
        rank = int(RANK[decl, led, int(state.trick[i, place])])
        # strictly: under sevens equals exist, of which the first wins
        if rank > best:
            winner, best = seat, rank
        seat = next_seat(state, i, seat)
    return winner


@kernel
def trick_points(state, i):
    """One for the trick and the counts of its tiles."""
    points = 1
    for place in range(int(state.trick_len[i])):
        points += int(COUNT[int(state.trick[i, place])])
    return points
