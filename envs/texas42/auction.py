"""The auction and the declaration of Texas 42 as scalar kernels."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel

from . import state as at
from .bits import size
from .options import MOST_MARKS
from .tiles import DOUBLE_TILES, FOLLOW_ME, NELLO_HIGH, SEVENS

_DOUBLES_SUIT = FOLLOW_ME - 1  # declaration 8, which only files of oracles use


@kernel
def plunge_marks(state, i, highest):
    """Marks of a plunge over the bid `highest`, 0 if there is none."""
    # one mark more than the bid, if that is a mark bid; points count as 0 marks
    least = int(state.setup[i, at.PLUNGE_MARKS])
    marks = max(least, highest // 42 + 1)
    return marks if least > 0 and marks <= MOST_MARKS else 0


@kernel
def splash_marks(state, i, highest):
    """Marks of a splash over the bid `highest`, 0 if there is none."""
    marks = max(2, highest // 42 + 1)
    return marks if int(state.setup[i, at.SPLASH_ON]) and marks <= 3 else 0


@kernel
def bid_value(state, i, action, highest):
    """What the bid `action` over `highest` amounts to: 0 pass, 30..41 points, 42 m for m marks."""
    if action == at.PASS:
        return 0
    if action < at.ONE_MARK:
        return action - at.BID_30 + 30
    if action == at.PLUNGE:
        return 42 * plunge_marks(state, i, highest)
    if action == at.SPLASH:
        return 42 * splash_marks(state, i, highest)
    return 42 * (action - at.ONE_MARK + 1)


@kernel
def legal_bids(state, i, seat, mask):
    """Passing, higher points, one mark more (one or two over points), and what the own doubles allow."""
    highest = int(state.bid[i])
    # three have passed, and the house forces the shaker to bid
    forced = int(state.setup[i, at.FORCED]) != 0 and highest == 0 and seat == int(state.shaker[i])
    mask[at.PASS] = not forced
    for points in range(max(30, highest + 1), 42):
        mask[points - 30 + at.BID_30] = True
    # over points one or two marks may be bid, over marks just one more
    if highest < 42:
        mask[at.ONE_MARK] = True
        mask[at.ONE_MARK + 1] = True
    elif highest < 42 * MOST_MARKS:
        mask[at.ONE_MARK + highest // 42] = True
    # only the own mask depends on the doubles, so nobody else learns of them
    doubles = size(int(state.held[i, seat]) & DOUBLE_TILES)
    mask[at.PLUNGE] = doubles >= at.PLUNGE_DOUBLES and plunge_marks(state, i, highest) > 0
    mask[at.SPLASH] = doubles >= at.SPLASH_DOUBLES and splash_marks(state, i, highest) > 0


@kernel
def place_bid(state, i, seat, action):
    """Record the bid; returns whether the auction is over, which it is after the shaker's bid."""
    value = bid_value(state, i, action, int(state.bid[i]))
    state.bids[i, seat] = action
    if value > 0:
        state.bid[i] = value
        state.bidder[i] = seat
        state.kind[i] = at.PLUNGED if action == at.PLUNGE else at.SPLASHED if action == at.SPLASH else at.PLAIN
    state.to_move[i] = (seat + 1) & 3
    # one round: the shaker bids last
    return seat == int(state.shaker[i])


@kernel
def ask_declaration(state, i):
    """The bidder declares, after a plunge or splash its partner."""
    bidder = int(state.bidder[i])
    state.phase[i] = at.DECLARE
    state.to_move[i] = bidder if int(state.kind[i]) == at.PLAIN else (bidder + 2) & 3


@kernel
def legal_declarations(state, i, mask):
    """Those of straight 42; after a plain mark bid also nello and sevens where the house plays them."""
    for decl in range(FOLLOW_ME + 1):
        mask[at.DECLARE_0 + decl] = decl != _DOUBLES_SUIT
    if int(state.bid[i]) >= 42 and int(state.kind[i]) == at.PLAIN:
        for form in range(3):
            mask[at.DECLARE_0 + NELLO_HIGH + form] = (int(state.setup[i, at.NELLO_FORMS]) >> form) & 1 == 1
        mask[at.DECLARE_0 + SEVENS] = int(state.setup[i, at.SEVENS_ON]) != 0


@kernel
def declare(state, i, seat, decl):
    """Who declares leads."""
    state.decl[i] = decl
    state.leader[i] = seat
    state.phase[i] = at.PLAYING


@kernel
def clear_auction(state, i):
    """Nobody has bid; the seat to the left of the shaker begins."""
    for seat in range(4):
        state.bids[i, seat] = -1
    state.bid[i] = 0
    state.kind[i] = at.PLAIN
    state.bidder[i] = -1
    state.decl[i] = -1
    state.phase[i] = at.AUCTION
    state.to_move[i] = (int(state.shaker[i]) + 1) & 3
