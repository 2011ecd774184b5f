"""Alpha-beta over the open hands of Texas 42, as a loop over an explicit stack, with a table of positions between tricks.

Values are points still to be won, Team 0's minus Team 1's; Team 0 maximises, whoever moves. Tiles are places (`tile_renumbering.py`),
hands masks of places. Nothing is allocated and nothing recurses, so that a thread can run it on any device; `frames` and `table`
are its working memory.

A word of the table, of 64 bits: leader and tiles left 30, lower and upper bound + 42 7 each, best tile 5, generation 15.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from ludory.envs import kernel
from ludory.envs.texas42.bits import count_of, index_of, size
from ludory.envs.texas42.tiles import NELLO_HIGH, NELLO_LOW, SEVENS

from .last_tricks import FAR, last_trick, last_two_tricks


@kernel
def lead_score(bit, hands, left, seat, follows, wins, fives, tens):
    """Leads that win for certain first, trumps and counts up; then those that the partner can win; then the rest, weak ones up."""
    at = index_of(bit)
    follow, able = int(follows[at]), int(wins[at])
    a, p, b = int(hands[(seat + 1) & 3]) & left, int(hands[(seat + 2) & 3]) & left, int(hands[(seat + 3) & 3]) & left
    # who cannot follow may answer with anything; `able` then leaves the trumps
    a = a & follow if a & follow else a
    p = p & follow if p & follow else p
    b = b & follow if b & follow else b
    theirs = max(a & able, b & able)
    count = count_of(bit, fives, tens)
    if bit > theirs:
        # the steps of 1000 keep the classes apart: count and place add up to 107 at most
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
    # the side wins without this tile: it takes the counts, and strength is kept
    if ours > theirs:
        return 1000 + 32 * count - at
    # a lost trick: hold back counts first, strength second
    return -8 * count - at


@kernel
def twin_of(bit, legal, left, top, follows, shared, fives, tens):
    """The next stronger tile left in the suit of a tile, if it is legal and worth as much; else 0.

    Both then take and lose the same tricks, with the same points: no tile of another seat lies between them, and no lead of another
    suit that is left can ask for either. `top`: the tile that wins the trick so far may lie between them, too.
    """
    at = index_of(bit)
    suit = int(follows[at])
    above = suit & (left | top) & ~((bit << 1) - 1)
    twin = above & -above
    if twin & legal == 0 or int(shared[at]) & left:
        return 0
    # a stronger tile that leads another suit shares this one with the weaker tile's lead
    if int(shared[index_of(twin)]) & left:
        return 0
    return twin if count_of(bit, fives, tens) == count_of(twin, fives, tens) else 0


FRAMES, COLUMNS = 30, 32
"""Shape of the stack, int32."""
TABLE_BITS = 16
"""The table has 2 ** TABLE_BITS words, int64."""

# Columns of a frame.
_LEFT, _SEAT, _PLACE, _FOLLOWS, _WINS, _TOP, _OWNER, _POINTS, _REST, _TRICKS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
_ALPHA, _BETA, _BEST, _MOVE, _FIRST_ALPHA, _FIRST_BETA = 10, 11, 12, 13, 14, 15
_LOWER, _UPPER, _DELTA, _MOVES, _NEXT = 16, 17, 18, 19, 20
_LIST = 21
# Columns of `contract`: what a trick is worth, and to whom.
LAST_PLACE, OUT, BY_TRICKS, HIT_TEAM, HIT_VALUE, NEAREST = 0, 1, 2, 3, 4, 5
# Columns of `position`.
P_LEFT, P_SEAT, P_PLACE, P_FOLLOW, P_ABLE, P_TOP, P_OWNER, P_POINTS, P_REST, P_TRICKS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9


@kernel
def nearest(held, level):
    """Under sevens: the strongest tile and its equals."""
    strongest = held
    while strongest & (strongest - 1):
        strongest &= strongest - 1
    # `level` names equals of higher place only, so a tile is as near as the strongest if it is that tile or names it.
    moves, rest = 0, held
    while rest != 0:
        bit = rest & -rest
        rest ^= bit
        if bit == strongest or int(level[index_of(bit)]) & strongest:
            moves |= bit
    return moves


@kernel
def play(
    bit, left, seat, place, follow, able, top, owner, points, rest, tricks, contract, follows, wins, level, fives, tens
):  # fmt: skip
    """The position after a tile, and what Team 0 gains by it, which is 0 but for the last tile of a trick."""
    left ^= bit
    if place == 0:
        at = index_of(bit)
        follow, able, top, owner, points = int(follows[at]), int(wins[at]), bit, seat, 1
    elif (bit & able) > top:
        top, owner = bit, seat
    if int(contract[NEAREST]) and top == bit:
        top |= int(level[index_of(bit)])
    points += count_of(bit, fives, tens)
    if place < int(contract[LAST_PLACE]):
        after = (seat + 1) & 3
        if after == int(contract[OUT]):
            after = (after + 1) & 3
        return left, after, place + 1, follow, able, top, owner, points, rest, tricks, 0
    gain = points if owner & 1 == 0 else -points
    if int(contract[BY_TRICKS]):
        gain = int(contract[HIT_VALUE]) if owner & 1 == int(contract[HIT_TEAM]) else 0
    return left, owner, 0, 0, 0, 0, owner, 0, rest - points, tricks - 1, gain


@kernel
def moves_of(held, place, follow, contract, level):
    """Mask of the tiles that may be played."""
    if int(contract[NEAREST]):
        return nearest(held, level)
    following = held & follow
    return following if following != 0 else held


@kernel
def slot_of(key):
    """Place of a position in the table."""
    # multiplicative hashing: the factor is 2^32 over the golden ratio, and the upper bits of the product are the mixed ones
    return ((key * 2654435761) & 0xFFFFFFFF) >> (32 - TABLE_BITS)


@kernel
def narrowed(value, alpha, beta, lower, upper):
    """Bounds of a value after a fail-soft search: above alpha it is a lower bound, below beta an upper one, between them both."""
    return max(lower, value) if value > alpha else lower, min(upper, value) if value < beta else upper


@kernel
def search(hands, position, alpha, beta, contract, follows, wins, counts, level, shared, table, generation, frames):
    """Value of a position, or a bound of it outside (alpha, beta).

    hands int32 [4]: dealt. position int64 [10]: tiles left, seat to move, its place in the trick, the tiles that follow and those
    that can win, the winning tile and its owner, points in the trick, points left with those of the trick, tricks left with it.
    contract int64 [6]. table int64 [2 ** TABLE_BITS]. frames int32 [FRAMES, COLUMNS].
    """
    fives, tens, mark = int(counts[0]), int(counts[1]), generation << 49
    by_tricks = int(contract[BY_TRICKS])
    left, seat, place = int(position[P_LEFT]), int(position[P_SEAT]), int(position[P_PLACE])
    follow, able, top = int(position[P_FOLLOW]), int(position[P_ABLE]), int(position[P_TOP])
    owner, points, rest = int(position[P_OWNER]), int(position[P_POINTS]), int(position[P_REST])
    tricks = int(position[P_TRICKS])
    depth, delta, value, entering, bit, forced = 0, 0, 0, True, 0, False
    while True:
        if entering:
            # No position is 29 tiles deep and no frame lists more than seven tiles, so that this entry is free to count
            # nodes.
            frames[29, 31] += 1
            # what is left for either side bounds the value before anything is searched
            hint, lower, upper = 0, -rest, rest
            if place == 0:
                if by_tricks:
                    # every trick of the side that breaks the contract counts, so 0 means that it was kept
                    lower, upper = (-tricks, 0) if int(contract[HIT_VALUE]) < 0 else (0, tricks)
                done = True
                if left == 0:
                    value = 0
                elif alpha >= upper:
                    value = upper
                elif beta <= lower:
                    value = lower
                elif tricks == 1 and not by_tricks:
                    value = last_trick(hands, left, seat, rest, wins)
                else:
                    done = False
                    key = left | (seat << 28)
                    slot = slot_of(key)
                    word = int(table[slot])
                    # words of earlier deals and declarations have another generation, so that tables need not be
                    # cleared
                    if (word & 0x3FFFFFFF) == key and (word >> 49) == (mark >> 49):
                        lower, upper = ((word >> 30) & 127) - 42, ((word >> 37) & 127) - 42
                        hint = 1 << ((word >> 44) & 31)
                        if lower >= beta or lower == upper:
                            value, done = lower, True
                        elif upper <= alpha:
                            value, done = upper, True
                    if not done and tricks == 2 and not by_tricks:
                        if seat & 1:
                            value = -last_two_tricks(hands, left, seat, rest, -beta, -alpha, follows, wins, fives, tens)
                        else:
                            value = last_two_tricks(hands, left, seat, rest, alpha, beta, follows, wins, fives, tens)
                        # two of three of these positions come again: kept, they save a sixth of the whole time
                        lower, upper = narrowed(value, alpha, beta, lower, upper)
                        table[slot] = key | ((lower + 42) << 30) | ((upper + 42) << 37) | mark
                        done = True
                    # still alpha < beta: where they would meet was answered above
                    alpha, beta = max(alpha, lower), min(beta, upper)
                if done:
                    value += delta
                    if depth == 0:
                        return value
                    entering = False
                    depth -= 1
                    continue
            moves = moves_of(int(hands[seat]) & left, place, follow, contract, level)
            best, cursor, count = (FAR if seat & 1 else -FAR), 0, 0
            forced = place > 0 and moves & (moves - 1) == 0
            if forced:
                bit = moves
            else:
                ours, theirs = 0, 0
                if place > 0:
                    if (owner ^ seat) & 1:
                        theirs = top
                    else:
                        ours = top
                    if place < 3:
                        following = int(hands[(seat + 1) & 3]) & left
                        following = following & follow if following & follow else following
                        # what the next seats can still answer with decides who wins, not only what lies
                        theirs = max(theirs, following & able)
                    if place == 1:
                        following = int(hands[(seat + 2) & 3]) & left
                        following = following & follow if following & follow else following
                        ours = max(ours, following & able)
                legal = moves
                while moves != 0:
                    bit = moves & -moves
                    moves ^= bit
                    # a fifth of all nodes is behind such tiles
                    if twin_of(bit, legal, left, top, follows, shared, fives, tens) != 0:
                        continue
                    # the best tile of an earlier search of this position
                    if bit == hint:
                        score = 9999
                    elif place == 0:
                        score = lead_score(bit, hands, left, seat, follows, wins, fives, tens)
                    else:
                        score = follow_score(bit, ours, theirs, able, fives, tens)
                    # score above five bits of place: one integer to sort by, and a negative score keeps its place in
                    # the lower bits
                    entry = (score << 5) | index_of(bit)
                    k = count
                    while k > 0 and int(frames[depth, _LIST + k - 1]) < entry:  # insertion sort: seven at most
                        frames[depth, _LIST + k] = frames[depth, _LIST + k - 1]
                        k -= 1
                    frames[depth, _LIST + k] = entry
                    count += 1
                for k in range(count):
                    frames[depth, _LIST + k] = 1 << (int(frames[depth, _LIST + k]) & 31)
                frames[depth, _LEFT], frames[depth, _SEAT], frames[depth, _PLACE] = left, seat, place
                frames[depth, _FOLLOWS], frames[depth, _WINS], frames[depth, _TOP] = follow, able, top
                frames[depth, _OWNER], frames[depth, _POINTS], frames[depth, _REST] = owner, points, rest
                frames[depth, _TRICKS], frames[depth, _DELTA] = tricks, delta
                frames[depth, _FIRST_ALPHA], frames[depth, _FIRST_BETA] = alpha, beta
                frames[depth, _LOWER], frames[depth, _UPPER] = lower, upper
                frames[depth, _MOVES], frames[depth, _MOVE] = count, 0
                # what was gained on the way here is in the frame now, and added when the node returns
                delta = 0
        else:
            left, seat, place = int(frames[depth, _LEFT]), int(frames[depth, _SEAT]), int(frames[depth, _PLACE])
            follow, able, top = int(frames[depth, _FOLLOWS]), int(frames[depth, _WINS]), int(frames[depth, _TOP])
            owner, points, rest = int(frames[depth, _OWNER]), int(frames[depth, _POINTS]), int(frames[depth, _REST])
            tricks, count = int(frames[depth, _TRICKS]), int(frames[depth, _MOVES])
            alpha, beta = int(frames[depth, _ALPHA]), int(frames[depth, _BETA])
            best, cursor = int(frames[depth, _BEST]), int(frames[depth, _NEXT])
            if seat & 1:
                if value < best:
                    best = value
                    frames[depth, _MOVE] = frames[depth, _LIST + cursor - 1]
                beta = min(beta, best)
            else:
                if value > best:
                    best = value
                    frames[depth, _MOVE] = frames[depth, _LIST + cursor - 1]
                alpha = max(alpha, best)
            if alpha >= beta or cursor == count:
                if place == 0:
                    lower, upper = narrowed(
                        best,
                        int(frames[depth, _FIRST_ALPHA]),
                        int(frames[depth, _FIRST_BETA]),
                        int(frames[depth, _LOWER]),
                        int(frames[depth, _UPPER]),
                    )
                    key = left | (seat << 28)
                    word = key | ((lower + 42) << 30) | ((upper + 42) << 37)
                    word |= (index_of(int(frames[depth, _MOVE])) << 44) | mark
                    table[slot_of(key)] = word
                value = best + int(frames[depth, _DELTA])
                if depth == 0:
                    return value
                depth -= 1
                continue
            forced, delta = False, 0
        if not forced:  # a forced tile needs no frame: its node has the value of its only child
            bit = int(frames[depth, _LIST + cursor])
            frames[depth, _NEXT], frames[depth, _BEST] = cursor + 1, best
            frames[depth, _ALPHA], frames[depth, _BETA] = alpha, beta
            depth += 1
        left, seat, place, follow, able, top, owner, points, rest, tricks, gain = play(
            bit, left, seat, place, follow, able, top, owner, points, rest, tricks,
            contract, follows, wins, level, fives, tens,
        )  # fmt: skip
        # the window moves along: below here values are of what is still to be won after this tile
        delta += gain
        alpha -= gain
        beta -= gain
        entering = True


@kernel
def set_contract(contract, decl, bidder):
    """Points; or, under nello, tricks of the bidder, under sevens tricks of its opponents: what breaks the contract."""
    nello = NELLO_HIGH <= decl <= NELLO_LOW
    contract[LAST_PLACE] = 2 if nello else 3
    contract[OUT] = (bidder + 2) & 3 if nello else -1
    contract[BY_TRICKS] = nello or decl == SEVENS
    contract[HIT_TEAM] = bidder & 1 if nello else 1 - (bidder & 1)
    contract[HIT_VALUE] = -1 if bidder & 1 == 0 else 1
    contract[NEAREST] = decl == SEVENS


@kernel
def as_places(tiles, place):
    """A mask of tiles as a mask of places."""
    places = 0
    while tiles != 0:
        bit = tiles & -tiles
        tiles ^= bit
        places |= 1 << int(place[index_of(bit)])
    return places


@kernel
def set_up(held, leader, trick, decl, bidder, place, follows, wins, counts, level, hands, position, contract):
    """Fill `hands` [4], `position` [10] and `contract` [6].

    held [4]: masks of the tiles held, without those of the trick. trick [3]: tiles lying, in order, then -1.
    """
    set_contract(contract, decl, bidder)
    fives, tens, out = int(counts[0]), int(counts[1]), int(contract[OUT])
    left, points = 0, 0
    # nello: tiles of the partner who sits out are never played, and `left` would never become empty
    for seat in range(4):
        hands[seat] = as_places(int(held[seat]), place)
        if seat != out:
            left |= int(hands[seat])
    seat, top, owner, follow, able, number = leader, 0, leader, 0, 0, 0
    for k in range(3):
        if int(trick[k]) >= 0:
            at = int(place[int(trick[k])])
            bit = 1 << at
            if k == 0:
                follow, able = int(follows[at]), int(wins[at])
            if (bit & able) > top:
                # under sevens the first of equals wins: `top` also has the equals of higher place, which then do not
                # beat it
                top, owner = bit | int(level[at]), seat
            points += 1 if k == 0 else 0
            points += count_of(bit, fives, tens)
            number += 1
            seat = (seat + 1) & 3
            if seat == out:
                seat = (seat + 1) & 3
    tricks = size(int(hands[seat]))  # the seat to move has not played to this trick
    fives_left, tens_left = size(left & fives), size(left & tens)
    position[P_LEFT], position[P_SEAT], position[P_PLACE] = left, seat, number
    position[P_FOLLOW], position[P_ABLE] = follow, able
    position[P_TOP], position[P_OWNER], position[P_POINTS] = top, owner, points
    # `points` has the 1 of the present trick, and so has `tricks`
    position[P_REST] = tricks + 5 * fives_left + 10 * tens_left + (points - 1 if number > 0 else 0)
    position[P_TRICKS] = tricks
