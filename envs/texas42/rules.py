"""Texas 42's rules as scalar kernels: reset, legal, step; for a hand with its auction, a match, and a fixed contract.

Action ids: 0 pass, 1..12 bid 30..41, 13..19 bid 1..7 marks, 20 plunge, 21 splash, 22 + declaration, 36 + tile.
With a fixed contract, which is only played, ids are tiles.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import begin_episode, draw, kernel

from . import state as at
from .auction import ask_declaration, clear_auction, declare, legal_bids, legal_declarations, place_bid
from .bits import size
from .options import MOST_ATTEMPTS
from .tiles import COUNT, COUNTING, NELLO_HIGH, SEVENS, STRAIGHT
from .trick import next_seat, playable, shown_not_held, suit_led, trick_points, trick_size, trick_winner


@kernel
def shuffle(state, i):
    """Deal all 28 tiles: Fisher-Yates in `tiles`, then cut in sevens."""
    # `tiles` holds the deck until the play begins, which clears it
    for tile in range(28):
        state.tiles[i, tile] = tile
    for k in range(27, 0, -1):
        other = draw(state, i, k + 1)
        tile = int(state.tiles[i, k])
        state.tiles[i, k] = state.tiles[i, other]
        state.tiles[i, other] = tile
    for seat in range(4):
        hand = 0
        for k in range(7):
            hand |= 1 << int(state.tiles[i, 7 * seat + k])
        state.dealt[i, seat] = hand


@kernel
def clear_play(state, i):
    """Nothing has been played of the hands in `dealt`."""
    for seat in range(4):
        state.held[i, seat] = state.dealt[i, seat]
        state.cannot[i, seat] = 0
        state.trick[i, seat] = -1
    for k in range(28):
        state.tiles[i, k] = -1
        state.seats[i, k] = -1
    for team in range(2):
        state.points[i, team] = 0
        state.tricks[i, team] = 0
    state.trick_len[i] = 0
    state.leader[i] = -1
    state.plays[i] = 0


@kernel
def begin_hand(state, i):
    """Start a hand with the hands in `dealt`; the shaker stays."""
    clear_play(state, i)
    clear_auction(state, i)


@kernel
def begin_game(state, i):
    """Common part of all resets; returns whether reset options set a whole position, which is then kept."""
    # options hold for one reset
    given = int(state.given[i])
    begin_episode(state, i)
    state.given[i] = at.NOTHING
    if given != at.POSITION:
        for column in range(state.last.shape[1]):
            state.last[i, column] = -1
        for team in range(2):
            state.marks[i, team] = 0
        state.attempt[i] = 0
        state.terminated[i] = False
        state.truncated[i] = False
        if given != at.DEAL:
            shuffle(state, i)
    return given == at.POSITION


@kernel
def reset(state, i):
    """Draw what reset options leave open, and choose the shaker."""
    shaker = int(state.given_shaker[i])
    state.given_shaker[i] = -1
    if not begin_game(state, i):
        state.shaker[i] = shaker if shaker >= 0 else draw(state, i, 4)
        begin_hand(state, i)


@kernel
def contract_column(state, i, column):
    """A column of the contract: from reset options, else from the game."""
    given = int(state.given_contract[i, column])
    state.given_contract[i, column] = -1
    return given if given >= 0 else int(state.contract[i, column])


@kernel
def reset_play(state, i):
    """Draw what reset options leave open; the contract is fixed."""
    # read in any case, so that given values do not outlast this reset
    decl, bid = contract_column(state, i, at.DECL), contract_column(state, i, at.BID)
    bidder = contract_column(state, i, at.BIDDER)
    leader = contract_column(state, i, at.LEADER)
    points_0 = contract_column(state, i, at.POINTS_0)
    points_1 = contract_column(state, i, at.POINTS_1)
    if not begin_game(state, i):
        state.shaker[i] = -1
        begin_hand(state, i)
        # drawn even if the declaration is given, so that later draws do not depend on it
        drawn = draw(state, i, len(STRAIGHT))
        state.bid[i] = bid
        state.bidder[i] = bidder
        declare(state, i, leader if leader >= 0 else bidder, decl if decl >= 0 else STRAIGHT[drawn])
        state.points[i, 0] = points_0
        state.points[i, 1] = points_1
        state.to_move[i] = state.leader[i]


@kernel
def legal(state, i, seat, mask):
    """Legal ids of `seat`; none for a seat that is not to move or when the game is over."""
    if state.terminated[i] or state.truncated[i] or int(state.to_move[i]) != seat:
        return
    phase = int(state.phase[i])
    if phase == at.AUCTION:
        legal_bids(state, i, seat, mask)
    elif phase == at.DECLARE:
        legal_declarations(state, i, mask)
    else:
        # the mask of the tiles alone: the same kernel serves a fixed contract
        legal_tiles(state, i, seat, mask[at.PLAY_0 :])


@kernel
def legal_play(state, i, seat, mask):
    """As `legal`, for a fixed contract."""
    if not state.terminated[i] and int(state.to_move[i]) == seat:
        legal_tiles(state, i, seat, mask)


@kernel
def legal_tiles(state, i, seat, mask):
    """Mask [28]: the tiles that follow suit if there are any, else all that are held."""
    tiles = playable(int(state.decl[i]), int(state.held[i, seat]), suit_led(state, i))
    for tile in range(28):
        mask[tile] = (tiles >> tile) & 1 == 1


@kernel
def play_tile(state, i, seat, tile):
    """Move a tile from a hand to the trick and record what it reveals; returns whether the trick is complete."""
    plays, place = int(state.plays[i]), int(state.trick_len[i])
    # before the tile leaves: what it shows depends on the trick so far
    state.cannot[i, seat] = int(state.cannot[i, seat]) | shown_not_held(int(state.decl[i]), suit_led(state, i), tile)
    state.held[i, seat] = int(state.held[i, seat]) & ~(1 << tile)
    state.trick[i, place] = tile
    state.trick_len[i] = place + 1
    state.tiles[i, plays] = tile
    state.seats[i, plays] = seat
    state.plays[i] = plays + 1
    state.to_move[i] = next_seat(state, i, seat)
    return place + 1 == trick_size(state, i)


@kernel
def finish_trick(state, i):
    """The winner takes the points of the trick and leads."""
    winner, points = trick_winner(state, i), trick_points(state, i)
    state.last[i, at.WINNER] = winner
    state.last[i, at.TRICK_POINTS] = points
    state.points[i, winner & 1] += points
    state.tricks[i, winner & 1] += 1
    for place in range(4):
        state.trick[i, place] = -1
    state.trick_len[i] = 0
    state.leader[i] = winner
    state.to_move[i] = winner


@kernel
def points_left(state, i):
    """Points that can still be won: one for each trick, and the counts that are held."""
    held = int(state.held[i, 0]) | int(state.held[i, 1]) | int(state.held[i, 2]) | int(state.held[i, 3])
    # one for each trick left: the leader's tiles tell how many
    points = size(int(state.held[i, int(state.leader[i])]))
    for tile in COUNTING:
        points += ((held >> tile) & 1) * int(COUNT[tile])
    return points


@kernel
def outcome(state, i):
    """At the end of a trick: MADE or SET where the contract is decided, else NOT_OVER."""
    # partners sit two places apart
    decl, bid, team = int(state.decl[i]), int(state.bid[i]), int(state.bidder[i]) & 1
    over = int(state.held[i, int(state.leader[i])]) == 0
    if decl >= NELLO_HIGH:  # nello: no trick for the bidder; sevens: none for the others
        losing = int(state.tricks[i, 1 - team if decl == SEVENS else team])
        return at.SET if losing > 0 else at.MADE if over else at.NOT_OVER
    # 42 is all there is: more marks raise the stake, not what must be won
    need, points = min(bid, 42), int(state.points[i, team])
    if points >= need:
        return at.MADE
    # not even all that is left would be enough
    return at.SET if over or points + points_left(state, i) < need else at.NOT_OVER


@kernel
def record_result(state, i, result):
    """Note how a hand ended; returns the marks that Team 0 wins by it (Team 1's if below 0)."""
    # a bid of points stakes one mark
    stake = max(1, int(state.bid[i]) // 42)
    state.last[i, at.SETTLED] = result
    state.last[i, at.STAKE] = stake
    state.last[i, at.HAND_BID] = state.bid[i]
    state.last[i, at.HAND_BIDDER] = state.bidder[i]
    if result == at.ALL_PASSED:
        return 0
    # Team 0 gains if it made its bid, or set that of the others
    return stake if (result == at.MADE) == (int(state.bidder[i]) & 1 == 0) else -stake


@kernel
def reward_teams(state, i, gain):
    """Reward `gain` to both seats of Team 0, the opposite to the others."""
    for seat in range(4):
        state.rewards[i, seat] = gain if seat & 1 == 0 else -gain


@kernel
def end_hand(state, i, result):
    """Settle the contract: the game is over, or the next hand of a match begins."""
    gain = record_result(state, i, result)
    if int(state.setup[i, at.FORMAT]) != at.WHOLE_MATCH:
        reward_teams(state, i, gain)
        state.terminated[i] = True
        return
    state.marks[i, 0] += max(gain, 0)
    state.marks[i, 1] += max(-gain, 0)
    state.attempt[i] += 1
    won = max(int(state.marks[i, 0]), int(state.marks[i, 1])) >= int(state.setup[i, at.TARGET])
    if int(state.setup[i, at.REWARD]) == at.AS_IT_FALLS:
        reward_teams(state, i, gain)
    elif won:
        reward_teams(state, i, 1 if gain > 0 else -1)
    if won:
        state.terminated[i] = True
    elif int(state.attempt[i]) == MOST_ATTEMPTS:
        state.truncated[i] = True
    else:
        shuffle(state, i)
        # the shaker moves on also after a hand that all passed
        state.shaker[i] = (int(state.shaker[i]) + 1) & 3
        begin_hand(state, i)


@kernel
def note_action(state, i, seat, action):
    """Begin the record of a move."""
    state.last[i, at.ACTOR] = seat
    state.last[i, at.ACTION] = action
    state.last[i, at.WINNER] = -1
    state.last[i, at.TRICK_POINTS] = 0
    state.last[i, at.SETTLED] = at.NOT_OVER


@kernel
def hand_result(state, i):
    """`outcome` where the hand is over: all is played, or the contract is decided and the house stops there."""
    if int(state.held[i, int(state.leader[i])]) == 0 or int(state.setup[i, at.EARLY_STOP]):
        return outcome(state, i)
    return at.NOT_OVER


@kernel
def step(state, i, action):
    """Bid, declare or play; the marks of a hand are the reward, at its end."""
    seat, action, phase = int(state.to_move[i]), int(action), int(state.phase[i])
    result = at.NOT_OVER
    note_action(state, i, seat, action)
    if phase == at.PLAYING:
        if play_tile(state, i, seat, action - at.PLAY_0):
            finish_trick(state, i)
            result = hand_result(state, i)
    elif phase == at.DECLARE:
        declare(state, i, seat, action - at.DECLARE_0)
    elif place_bid(state, i, seat, action):
        if int(state.bid[i]) > 0:
            ask_declaration(state, i)
        else:
            result = at.ALL_PASSED
    if result != at.NOT_OVER:
        end_hand(state, i, result)


@kernel
def step_play(state, i, action):
    """Play a tile of a fixed contract; rewards are points of each trick in parts of 42, or +1 and -1 at the end."""
    seat = int(state.to_move[i])
    note_action(state, i, seat, at.PLAY_0 + int(action))
    if play_tile(state, i, seat, int(action)):
        finish_trick(state, i)
        result = hand_result(state, i)
        if result != at.NOT_OVER:
            gain = record_result(state, i, result)
            state.terminated[i] = True
            # rewards that fall with the tricks are paid below
            if int(state.setup[i, at.REWARD]) != at.AS_IT_FALLS:
                reward_teams(state, i, 1 if gain > 0 else -1)
        if int(state.setup[i, at.REWARD]) == at.AS_IT_FALLS:
            points = int(state.last[i, at.TRICK_POINTS])
            # the winner leads, so the leader tells whose points they are
            reward_teams(state, i, (points if int(state.leader[i]) & 1 == 0 else -points) / 42)
