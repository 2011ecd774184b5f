"""Hanabi's rules as scalar kernels: reset, legal, step.

Sizes are read from the shapes of the state's arrays, so the same kernels serve every variant.
Action ids: 0..h-1 discard a slot; h..2h-1 play a slot; then hint a colour to seat +1, +2, ...; then hint a rank to seat +1, +2, ...
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import begin_episode, draw, kernel

from . import state as at


@kernel
def copies_of(rank, ranks):
    """Copies of a rank in one colour: 3 of the lowest, 1 of the highest, 2 of the others."""
    return 3 if rank == 0 else 1 if rank == ranks - 1 else 2


@kernel
def rank_count(state):
    """R, from the shapes."""
    return state.discards.shape[1] // state.fireworks.shape[1]


@kernel
def deck_left(state, i):
    """Cards still in the deck."""
    return state.deck.shape[1] - int(state.deck_top[i])


@kernel
def fireworks_sum(state, i):
    """Sum of the stack heights."""
    total = 0
    for color in range(state.fireworks.shape[1]):
        total += int(state.fireworks[i, color])
    return total


@kernel
def score(state, i):
    """Sum of the stack heights, 0 once all lives are lost."""
    return fireworks_sum(state, i) if int(state.lives[i]) > 0 else 0


@kernel
def fill_deck(state, i):
    """Complete the deck behind its first `given` cards with the cards left over, shuffled."""
    size, ranks = state.deck.shape[1], rank_count(state)
    given = int(state.given[i])
    for card in range(state.discards.shape[1]):
        state.discards[i, card] = copies_of(card % ranks, ranks)  # copies not placed yet
    for k in range(given):
        state.discards[i, int(state.deck[i, k])] -= 1
    k = given
    for card in range(state.discards.shape[1]):
        for _ in range(int(state.discards[i, card])):
            state.deck[i, k] = card
            k += 1
    # Fisher-Yates over what was not given
    for k in range(size - 1, given, -1):
        other = given + draw(state, i, k - given + 1)
        card = int(state.deck[i, k])
        state.deck[i, k] = state.deck[i, other]
        state.deck[i, other] = card


@kernel
def deal_card(state, i, seat):
    """Move the top card of the deck to the first free slot of `seat`; nothing about it is known."""
    slot = int(state.held[i, seat])
    state.hands[i, seat, slot] = state.deck[i, int(state.deck_top[i])]
    state.colors[i, seat, slot] = (1 << state.fireworks.shape[1]) - 1
    state.ranks[i, seat, slot] = (1 << rank_count(state)) - 1
    state.hinted[i, seat, slot] = 0
    state.held[i, seat] += 1
    state.deck_top[i] += 1


@kernel
def take_card(state, i, seat, slot):
    """Remove a card from a hand and close the gap; returns its id."""
    card = int(state.hands[i, seat, slot])
    last = int(state.held[i, seat]) - 1
    for s in range(slot, last):
        state.hands[i, seat, s] = state.hands[i, seat, s + 1]
        state.colors[i, seat, s] = state.colors[i, seat, s + 1]
        state.ranks[i, seat, s] = state.ranks[i, seat, s + 1]
        state.hinted[i, seat, s] = state.hinted[i, seat, s + 1]
    state.hands[i, seat, last] = at.EMPTY
    state.colors[i, seat, last] = 0
    state.ranks[i, seat, last] = 0
    state.hinted[i, seat, last] = 0
    state.held[i, seat] = last
    return card


@kernel
def reset(state, i):
    """Shuffle what reset options leave open, deal hand by hand, choose the starting seat."""
    players, hand = state.hands.shape[1], state.hands.shape[2]
    begin_episode(state, i)
    fill_deck(state, i)
    for card in range(state.discards.shape[1]):
        state.discards[i, card] = 0
    for color in range(state.fireworks.shape[1]):
        state.fireworks[i, color] = 0
    for column in range(state.last.shape[1]):
        state.last[i, column] = 0
    state.deck_top[i] = 0
    # hand by hand, not card by card round the table: given decks are read in this order
    for seat in range(players):
        state.held[i, seat] = 0
        for _ in range(hand):
            deal_card(state, i, seat)
    start = int(state.given_start[i])
    if start < 0:
        start = draw(state, i, players) if int(state.setup[i, at.RANDOM_START]) else 0
    state.to_move[i] = start
    state.tokens[i] = state.setup[i, at.MAX_TOKENS]
    state.lives[i] = state.setup[i, at.MAX_LIVES]
    state.turns_left[i] = players
    state.turn[i] = 0
    state.end[i] = at.RUNNING
    state.terminated[i] = False
    state.truncated[i] = False
    # options hold for one reset
    state.given[i] = 0
    state.given_start[i] = -1


@kernel
def legal(state, i, seat, mask):
    """Legal ids of `seat`; none for a seat that is not to move or when the game is over."""
    if state.terminated[i] or int(state.to_move[i]) != seat:
        return
    players, hand = state.hands.shape[1], state.hands.shape[2]
    colors, ranks = state.fireworks.shape[1], rank_count(state)
    tokens = int(state.tokens[i])
    for slot in range(int(state.held[i, seat])):
        mask[slot] = tokens < int(state.setup[i, at.MAX_TOKENS])
        mask[hand + slot] = True
    if tokens == 0:
        return
    for offset in range(1, players):
        target = (seat + offset) % players
        first_color = 2 * hand + (offset - 1) * colors
        first_rank = 2 * hand + (players - 1) * colors + (offset - 1) * ranks
        for slot in range(int(state.held[i, target])):
            card = int(state.hands[i, target, slot])
            mask[first_color + card // ranks] = True
            mask[first_rank + card % ranks] = True


@kernel
def gain_token(state, i):
    """Regain one information token if below the cap; returns whether it did."""
    if int(state.tokens[i]) < int(state.setup[i, at.MAX_TOKENS]):
        state.tokens[i] += 1
        return 1
    return 0


@kernel
def play_card(state, i, seat, slot):
    """Play a slot: the stack grows, or a life is lost and the card is discarded."""
    ranks = rank_count(state)
    card = take_card(state, i, seat, slot)
    color, rank = card // ranks, card % ranks
    state.last[i, at.KIND] = at.PLAY
    state.last[i, at.SLOT] = slot
    state.last[i, at.CARD] = card
    if rank == int(state.fireworks[i, color]):
        state.fireworks[i, color] += 1
        state.last[i, at.SCORED] = 1
        # only below the cap, see `gain_token`
        if rank == ranks - 1:
            state.last[i, at.TOKEN] = gain_token(state, i)
    else:
        state.lives[i] -= 1
        state.discards[i, card] += 1


@kernel
def discard_card(state, i, seat, slot):
    """Discard a slot for one token."""
    card = take_card(state, i, seat, slot)
    state.last[i, at.KIND] = at.DISCARD
    state.last[i, at.SLOT] = slot
    state.last[i, at.CARD] = card
    state.discards[i, card] += 1
    gain_token(state, i)


@kernel
def give_hint(state, i, target, value, is_color):
    """Tell `target` which of its cards have colour or rank `value`."""
    ranks = rank_count(state)
    bit, touched = 1 << value, 0
    for slot in range(int(state.held[i, target])):
        card = int(state.hands[i, target, slot])
        if is_color:
            known = int(state.colors[i, target, slot])
            match = card // ranks == value
            # a negative hint rules out, but sets no flag, even if one colour is left
            state.colors[i, target, slot] = bit if match else known & ~bit
        else:
            known = int(state.ranks[i, target, slot])
            match = card % ranks == value
            state.ranks[i, target, slot] = bit if match else known & ~bit
        if match:
            touched |= 1 << slot
            state.hinted[i, target, slot] = int(state.hinted[i, target, slot]) | (
                at.COLOR_KNOWN if is_color else at.RANK_KNOWN
            )
    state.tokens[i] -= 1
    state.last[i, at.KIND] = at.HINT_COLOR if is_color else at.HINT_RANK
    state.last[i, at.TARGET] = target
    state.last[i, at.VALUE] = value
    state.last[i, at.TOUCHED] = touched


@kernel
def apply_action(state, i, seat, action):
    """Carry out a legal action id and note it in `last`."""
    players, hand = state.hands.shape[1], state.hands.shape[2]
    colors, ranks = state.fireworks.shape[1], rank_count(state)
    for column in range(state.last.shape[1]):
        state.last[i, column] = 0
    state.last[i, at.ACTOR] = seat
    state.last[i, at.ACTION] = action
    hint = action - 2 * hand
    if action < hand:
        discard_card(state, i, seat, action)
    elif hint < 0:
        play_card(state, i, seat, action - hand)
    elif hint < (players - 1) * colors:
        give_hint(state, i, (seat + 1 + hint // colors) % players, hint % colors, True)
    else:
        hint -= (players - 1) * colors
        give_hint(state, i, (seat + 1 + hint // ranks) % players, hint % ranks, False)


@kernel
def end_reason(state, i):
    """Why the game is over after a move, or RUNNING; the order of the tests is the rule."""
    if int(state.lives[i]) == 0:
        return at.BOMB
    if fireworks_sum(state, i) == state.discards.shape[1]:
        return at.PERFECT
    if int(state.turns_left[i]) <= 0:
        return at.DECK_OUT
    return at.RUNNING


@kernel
def step(state, i, action):
    """Play one legal move; the reward is the change of the score, the same for all seats."""
    players = state.hands.shape[1]
    seat = int(state.to_move[i])
    before = fireworks_sum(state, i)
    # before the move: the move that draws the last card does not count
    if deck_left(state, i) == 0:
        state.turns_left[i] -= 1
    apply_action(state, i, seat, int(action))
    end = end_reason(state, i)
    drew = int(state.last[i, at.KIND]) == at.PLAY or int(state.last[i, at.KIND]) == at.DISCARD
    if drew and deck_left(state, i) > 0 and (end == at.RUNNING or int(state.setup[i, at.TERMINAL_DEAL])):
        deal_card(state, i, seat)
    after = fireworks_sum(state, i)
    # a bomb takes back all points: the reward is what was scored, negative
    if end == at.BOMB and not int(state.setup[i, at.KEEP_BOMB]):
        after = 0
    for s in range(players):
        state.rewards[i, s] = after - before
    state.turn[i] += 1
    state.to_move[i] = (seat + 1) % players
    state.end[i] = end
    state.terminated[i] = end != at.RUNNING
