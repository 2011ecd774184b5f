"""Games of tic-tac-toe, Connect Four, Kuhn and Leduc poker, written down by hand from the rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludory.envs.engine.protocol import Engine
from ludory.envs.make import make_engine


def play(id: str, moves: str, **fields: Any) -> Engine:
    """One game after `moves`, names of actions between commas; `fields` of the state are set after the reset."""
    engine = make_engine(id, seed=1)
    engine.reset()
    state = {name: np.copy(values) for name, values in engine.fields().items()}
    for name, values in fields.items():
        state[name][0] = values
    engine.load_fields(state)
    for name in filter(None, moves.split(",")):
        action = engine.game.language.decode(name).action
        assert action is not None, name
        assert not engine.terminated[0], f"the game is over before {name}"
        engine.step(np.array([action]))
    return engine


def names_of_legal(engine: Engine) -> list[str]:
    return [engine.game.look.action_name(0, action) for action in np.flatnonzero(engine.legal()[0])]


@pytest.mark.parametrize(
    ("moves", "reward"),
    [
        ("a1,a2,b1,b2,c1", 1),  # the top row
        ("a1,b1,a2,b2,a3", 1),  # the left column
        ("a1,a2,b2,a3,c3", 1),  # a diagonal
        ("a1,c1,b1,b2,c3,a3", -1),  # the other diagonal, for seat 1
        ("a1,b1,c1,b2,a2,c2,b3,a3,c3", 0),  # a full board
        ("a1,b1,c1,c2,b2,a2,b3,a3,c3", 1),  # the last square completes a diagonal
    ],
)
def test_tic_tac_toe_ends_with_three_in_a_row_or_a_full_board(moves, reward):
    engine = play("TicTacToe-v0", moves)
    assert engine.terminated[0]
    assert engine.rewards[0].tolist() == [reward, -reward]


def test_tic_tac_toe_offers_the_empty_squares_and_shows_own_and_other_marks():
    engine = play("TicTacToe-v0", "b2,a1,c3")
    assert names_of_legal(engine) == ["b1", "c1", "a2", "c2", "a3", "b3"]
    own, other = engine.observe(1)[0].astype(int).tolist()
    assert own == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert other == [[0, 0, 0], [0, 1, 0], [0, 0, 1]]


def columns(digits: str) -> str:
    return ",".join(f"column {digit}" for digit in digits)


@pytest.mark.parametrize(
    ("digits", "reward"),
    [
        ("1212121", 1),  # upwards
        ("1122334", 1),  # across
        ("12123212", -1),  # upwards, for seat 1
        ("12233434474", 1),  # rising diagonal
        ("76655454414", 1),  # falling diagonal
        ("121215", 0),  # three
        ("1122446", 0),  # two, a gap, one, a gap, one
    ],
)
def test_connect_four_knows_its_lines(digits, reward):
    engine = play("ConnectFour-v0", columns(digits))
    assert bool(engine.terminated[0]) == (reward != 0)
    assert engine.rewards[0].tolist() == [reward, -reward]


def test_a_line_does_not_run_from_the_top_of_a_column_into_the_next():
    """Seat 0 has the three upper stones of column 1 and the lowest one of column 2."""
    engine = play("ConnectFour-v0", columns("3"), stones=(0b111000 | 1 << 7, 0b000111))
    assert not engine.terminated[0]


def test_connect_four_full_columns_are_closed_and_a_full_board_is_a_draw():
    engine = play("ConnectFour-v0", columns("111111"))
    assert names_of_legal(engine) == [f"column {column}" for column in range(2, 8)]
    engine = play("ConnectFour-v0", columns("1" * 6 + "2" * 6 + "3" * 6 + "7" + "4" * 6 + "5" * 6 + "6" * 6 + "7" * 5))
    assert engine.terminated[0]
    assert engine.observe(0).sum() == 42
    assert engine.rewards[0].tolist() == [0, 0]
    assert "draw" in engine.game.look.text(engine.state, 0, None)


def test_connect_four_shows_stones_from_the_top():
    engine = play("ConnectFour-v0", columns("4431"))
    own, other = engine.observe(0)[0].astype(int)
    assert np.argwhere(own).tolist() == [[5, 2], [5, 3]]
    assert np.argwhere(other).tolist() == [[4, 3], [5, 0]]


@pytest.mark.parametrize(
    ("moves", "cards", "reward"),
    [
        ("pass,pass", "KQ", 1),
        ("pass,pass", "JQ", -1),
        ("bet,pass", "JK", 1),  # a fold, whatever the cards
        ("bet,bet", "JK", -2),
        ("bet,bet", "KJ", 2),
        ("pass,bet,pass", "KJ", -1),
        ("pass,bet,bet", "QJ", 2),
        ("pass,bet,bet", "QK", -2),
    ],
)
def test_kuhn_poker_pays(moves, cards, reward):
    engine = play("KuhnPoker-v0", moves, cards=["JQK".index(card) for card in cards])
    assert engine.terminated[0]
    assert engine.rewards[0].tolist() == [reward, -reward]


def test_kuhn_poker_shows_the_own_card_and_the_moves():
    engine = play("KuhnPoker-v0", "pass,bet", cards=(2, 0))
    assert engine.observe(0)[0].tolist() == [1, 0, 0, 0, 1, 1, 0, 0, 1]
    assert engine.observe(1)[0].tolist() == [0, 1, 1, 0, 0, 1, 0, 0, 1]


J, J2, Q, Q2, K, K2 = range(6)


@pytest.mark.parametrize(
    ("moves", "cards", "reward"),
    [
        ("raise,fold", (J, K, Q), 1),  # the ante
        ("call,raise,fold", (K, J, Q), -1),
        ("raise,raise,fold", (K, J, Q), -3),  # ante and one raise
        ("call,call,call,call", (J, Q, K), -1),
        ("call,call,call,call", (J, Q, J2), 1),  # a pair
        ("call,call,call,call", (K, Q, Q2), -1),
        ("call,call,call,call", (K, K2, Q), 0),  # equal ranks share the pot
        ("raise,call,raise,call", (K, Q, J), 7),  # 1 + 2 + 4
        ("raise,raise,call,raise,raise,call", (K, Q, J), 13),
        ("call,raise,raise,call,call,raise,raise,call", (J, Q, K), -13),
        ("call,call,raise,raise,fold", (J, Q, K), 5 * -1),  # 1 + 4
        ("raise,raise,call,call,raise,fold", (K, Q, J), -5),
    ],
)
def test_leduc_poker_pays(moves, cards, reward):
    engine = play("LeducPoker-v0", moves, cards=cards)
    assert engine.terminated[0]
    assert engine.rewards[0].tolist() == [reward, -reward]


def test_leduc_poker_offers_a_fold_after_a_raise_and_two_raises_per_round():
    assert names_of_legal(play("LeducPoker-v0", "")) == ["call", "raise"]
    assert names_of_legal(play("LeducPoker-v0", "raise")) == ["fold", "call", "raise"]
    assert names_of_legal(play("LeducPoker-v0", "call,raise,raise")) == ["fold", "call"]
    second = play("LeducPoker-v0", "raise,raise,call")
    assert names_of_legal(second) == ["call", "raise"]
    assert second.to_move[0] == 0


def test_leduc_poker_shows_the_public_card_after_the_first_round():
    before, after = (play("LeducPoker-v0", moves, cards=(K, Q, J)) for moves in ("call", "call,call"))
    public = slice(5, 8)
    assert before.observe(0)[0, public].tolist() == [0, 0, 0]
    assert after.observe(0)[0, public].tolist() == [1, 0, 0]
    assert "Public card: J♠." in after.game.language.encode(after.state, 0, 1)


@pytest.mark.parametrize("id", ["KuhnPoker-v0", "LeducPoker-v0"])
def test_the_distribution_of_deals_is_that_of_the_shuffle(id):
    engine = make_engine(id, 60_000, seed=2)
    engine.reset()
    dealt = engine.state.cards // (2 if id == "LeducPoker-v0" else 1)
    outcomes = engine.game.analysis.chance.start()
    stated = outcomes.fields["cards"] // (2 if id == "LeducPoker-v0" else 1)
    assert outcomes.probabilities.sum() == pytest.approx(1)
    shares = [(dealt == cards).all(axis=1).mean() for cards in stated]
    assert sum(shares) == pytest.approx(1)
    np.testing.assert_allclose(shares, outcomes.probabilities, atol=5 * np.sqrt(0.25 / 60_000))


@pytest.mark.parametrize("id", ["TicTacToe-v0", "ConnectFour-v0"])
def test_a_turned_board_is_the_same_game(id):
    """Playing renamed actions leads to the renamed observation."""
    generator = np.random.default_rng(3)
    engine = make_engine(id, seed=1)
    size, seen = engine.facts.observation.size, set()
    for _ in range(30):
        symmetry = engine.game.analysis.symmetry(generator)
        seen.add(symmetry.actions.tobytes())
        one, other = make_engine(id, seed=1), make_engine(id, seed=1)
        one.reset()
        other.reset()
        for _ in range(6):
            action = int(generator.choice(np.flatnonzero(one.legal()[0])))
            one.step(np.array([action]))
            other.step(np.array([symmetry.actions[action]]))
            for seat in (0, 1):
                flat = one.observe(seat).reshape(size)
                assert other.observe(seat).reshape(size).tolist() == flat[symmetry.observation].tolist()
    assert len(seen) == {"TicTacToe-v0": 8, "ConnectFour-v0": 2}[id]


def test_what_a_language_model_reads_of_tic_tac_toe():
    engine = play("TicTacToe-v0", "b2,a1")
    assert engine.game.language.encode(engine.state, 0, 0) == (
        "1 o . .\n2 . x .\n3 . . .\n  a b c\nYou are seat 0 (x).\nIt is your turn. You may: b1, c1, a2, c2, a3, b3, c3."
    )


def test_what_a_language_model_reads_of_leduc_poker():
    engine = play("LeducPoker-v0", "raise,call,call,raise", cards=(K, Q, J))
    assert engine.game.language.encode(engine.state, 0, 0) == (
        "You are seat 0.\n"
        "Seat 0: card K♠, 3 chips in the pot.\n"
        "Seat 1: card hidden, 7 chips in the pot.\n"
        "Public card: J♠.\n"
        "Round 1: seat 0: raise, seat 1: call.\n"
        "Round 2: seat 0: call, seat 1: raise.\n"
        "It is your turn. You may: fold, call, raise."
    )


@pytest.mark.parametrize(
    ("id", "moves", "fields", "said"),
    [
        ("TicTacToe-v0", "a1,a2,b1,b2,c1", {}, "seat 0 wins"),
        ("ConnectFour-v0", columns("12123212"), {}, "seat 1 wins"),
        ("KuhnPoker-v0", "bet,bet", {"cards": (2, 0)}, "seat 0 wins 2 chips"),
        ("LeducPoker-v0", "raise,raise,fold", {}, "seat 1 wins 3 chips"),
    ],
)
def test_pictures_say_who_won_also_when_other_games_of_the_batch_go_on(id, moves, fields, said):
    engine = play(id, moves, **fields)
    engine.step(np.array([0]))  # ignored: the game is over, and its rewards are 0 now
    assert engine.rewards[0].tolist() == [0, 0]
    game = engine.game
    for picture in (game.look.text, game.look.svg, game.language.encode):
        assert said in picture(engine.state, 0, None)
