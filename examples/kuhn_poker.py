"""Kuhn's poker: chance, hidden cards, `redeal`, and how far a policy that learnt by self-play is from perfect play.

python examples/kuhn_poker.py    (read tic_tac_toe.py first)

Kuhn (1950), "A simplified two-person poker": three cards, one each, one chip in the pot from each player. A player passes or bets
one more chip. Passing after a bet folds; otherwise the higher card wins the pot. If both play perfectly, whoever moves first loses
1/18 of a chip per game.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import ludory
from ludory.agents import numpy_to_bits
from ludory.envs.chance import begin_episode, draw
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field, Kernels, Look, Rules, header
from ludory.testing import check_game

CARDS, PASS, BET = 3, 0, 1
PARTS = {"own_card": CARDS, "first_move": 2, "second_move": 2}

# --- The rules. `moves` counts the moves made, `said` holds them. --------------------------------------------------------


@kernel
def reset(state, i):
    """Deal one card each. `draw(state, i, n)` returns a number from 0 to n - 1."""
    begin_episode(state, i)
    first = draw(state, i, CARDS)
    state.cards[i, 0] = first
    state.cards[i, 1] = (first + 1 + draw(state, i, CARDS - 1)) % CARDS
    state.moves[i] = 0
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def legal(state, i, seat, mask):
    """Pass or bet, always."""
    mask[PASS] = True
    mask[BET] = True


@kernel
def step(state, i, action):
    """A bet is answered by a bet (a call) or a pass (a fold); two passes show the cards."""
    seat, move = int(state.to_move[i]), int(state.moves[i])
    answers_bet = move > 0 and int(state.said[i, move - 1]) == BET
    if answers_bet or (move == 1 and action == PASS):
        winner = 0 if int(state.cards[i, 0]) > int(state.cards[i, 1]) else 1
        if answers_bet and action == PASS:
            winner = 1 - seat
        chips = 2 if answers_bet and action == BET else 1
        state.rewards[i, winner] = chips
        state.rewards[i, 1 - winner] = -chips
        state.terminated[i] = True
    else:
        state.said[i, move] = action
        state.moves[i] += 1
    state.to_move[i] = 1 - seat


@kernel
def observe(state, i, seat, out):
    """The own card and both moves, one-hot; nothing of the other card."""
    out[int(state.cards[i, seat])] = 1
    for move in range(int(state.moves[i])):
        out[CARDS + 2 * move + int(state.said[i, move])] = 1


@kernel
def redeal(state, i, seat):
    """Draw what `seat` does not know from its exact distribution: the other card is either of the two left."""
    state.cards[i, 1 - seat] = (int(state.cards[i, seat]) + 1 + draw(state, i, CARDS - 1)) % CARDS


def make_game() -> Game:
    """The game. With `redeal` it can be searched, and `check_game` can prove that observations do not tell the other card."""
    size = sum(PARTS.values())
    facts = GameFacts(
        name="Kuhn poker",
        players=2,
        turns="sequential",
        reward="zero_sum",
        hidden_information=True,
        chance=True,
        heads=(Head("move", 2),),
        observation=ObservationSpec("own", (size,), "uint8", flat_segments(PARTS)),
        longest_game=3,
        min_return=-2,
        max_return=2,
    )
    fields = {
        "cards": Field("int8", (2,), low=0, high=CARDS - 1),
        "said": Field("int8", (2,), low=PASS, high=BET),
        "moves": Field("int8", low=0, high=2),
    }
    return Game(
        facts,
        Rules(header(players=2) | fields, Kernels(reset, step, legal, observe, redeal)),
        look=Look(
            action_name=lambda head, action: ("pass", "bet")[action],
            text=lambda state, i, seat: " ".join(
                "JQK"[card] if seat in (None, owner) else "?" for owner, card in enumerate(state.cards[i])
            ),
        ),
    )


# --- How good is a policy? A strategy is the chance to bet, (3 cards, 2 situations) for each seat. ------------------------

Strategy = NDArray[np.float64]
SITUATIONS = (((), (PASS, BET)), ((PASS,), (BET,)))
"""What was said before each of the two decisions of seat 0, and of seat 1."""


def strategy(policy: Any, seat: int) -> Strategy:
    """The chance that the network bets, by card and situation."""
    seen = np.zeros((CARDS, 2, sum(PARTS.values())), np.uint8)
    for card, (place, said) in product(range(CARDS), enumerate(SITUATIONS[seat])):
        seen[card, place, card] = 1
        for move, action in enumerate(said):
            seen[card, place, CARDS + 2 * move + action] = 1
    with torch.no_grad():
        logits = policy(numpy_to_bits(seen.reshape(CARDS * 2, -1), policy.observation)).logits
    bets: Strategy = logits.softmax(-1)[:, BET].double().numpy().reshape(CARDS, 2)
    return bets


def value(first: Strategy, second: Strategy) -> float:
    """Chips that seat 0 wins on average."""
    total = 0.0
    for mine, theirs in permutations(range(CARDS), 2):
        win = 1 if mine > theirs else -1
        bet, call = first[mine]
        bet_back, call_back = second[theirs]
        after_bet = call_back * 2 * win + (1 - call_back)
        after_pass = bet_back * (call * 2 * win - (1 - call)) + (1 - bet_back) * win
        total += bet * after_bet + (1 - bet) * after_pass
    return total / 6


def exploitability(first: Strategy, second: Strategy) -> float:
    """Half of what both seats together would gain by the best answer to the other's strategy; 0 at perfect play.

    A seat has 64 pure strategies, so all of them are tried.
    """
    pure = [np.reshape(bets, (CARDS, 2)) for bets in product((0.0, 1.0), repeat=CARDS * 2)]
    return (max(value(one, second) for one in pure) - min(value(first, one) for one in pure)) / 2


def main(timesteps: int = 500_000) -> float:
    """Check the game, learn by self-play, and return the exploitability of what was learnt."""
    game = make_game()
    check_game(
        game
    )  # among much else: observations hide the other card, and `redeal` draws it as often as fresh deals do
    print("the game keeps the contract")
    # Self-play of PPO alone circles around perfect play. A strong entropy bonus that fades keeps the circles small.
    options = {"n_steps": 6, "batch_size": 2048, "gamma": 1.0, "gae_lambda": 1.0, "normalize_advantage": False}
    fading = {"learning_rate": 2e-3, "final_learning_rate": 2e-4, "ent_coef": 0.2, "final_ent_coef": 0.03}
    model = ludory.make_algorithm("ppo", env=game, seats="all", hidden=(32, 32), seed=1, **options, **fading)
    for name in ("before", "after"):
        found = strategy(model.policy, 0), strategy(model.policy, 1)
        print(
            f"{name}: value {value(*found):+.3f} (perfect {-1 / 18:+.3f}), exploitability {exploitability(*found):.3f}"
        )
        if name == "before":
            model.learn(timesteps)
    return exploitability(*found)


if __name__ == "__main__":
    main()
