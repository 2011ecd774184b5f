"""`own_hand`: the cards of a seat, and which of them are playable or dead."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from games import nim as games

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.hanabi import make_game
from ludory.envs.hanabi.targets import DEAD, NO_CARD, OTHER, PLAYABLE, own_hand
from ludory.errors import OptionError


@pytest.fixture(scope="module")
def engine():
    """Played at random to all stages, finished games with short hands among them."""
    engine = KernelEngine(make_game(colors=2, ranks=5, hand_size=2, max_life_tokens=9), 256, seed=3)
    engine.reset()
    generator = np.random.default_rng(5)
    for move in range(60):
        rows = np.flatnonzero(generator.random(256) < 0.9)
        noise = generator.random((256, engine.facts.num_actions))
        engine.step(np.where(engine.legal(), noise, -1).argmax(1)[rows], rows)
        if move == 30:
            assert not engine.terminated.all()
    return engine


def kind_by_definition(engine, game, card):
    """Slow and obvious: build every stack up from where it is, with the copies that are not discarded."""
    color, rank = divmod(card, 5)
    height = int(engine.state.fireworks[game, color])
    if rank == height:
        return PLAYABLE
    copies = [3, 2, 2, 2, 1]
    gone = [int(engine.state.discards[game, color * 5 + r]) == copies[r] for r in range(5)]
    return DEAD if rank < height or any(gone[height:rank]) else OTHER


@pytest.mark.slow
@pytest.mark.parametrize("seat", [0, 1])
def test_cards_and_kinds_are_those_of_the_definition(engine, seat):
    cards, kinds = own_hand(engine, seat)
    assert cards.dtype == kinds.dtype == np.uint8
    assert cards.shape == kinds.shape == (256, 2)
    for game in range(256):
        for slot, card in enumerate(engine.state.hands[game, seat]):
            if card < 0:
                assert (cards[game, slot], kinds[game, slot]) == (NO_CARD, NO_CARD)
            else:
                assert cards[game, slot] == card
                assert kinds[game, slot] == kind_by_definition(engine, game, int(card))
    assert set(np.unique(kinds)) == {PLAYABLE, DEAD, OTHER, NO_CARD}


def test_a_card_above_an_exhausted_rank_is_dead():
    red_1, red_2, red_3, yellow_1 = 0, 1, 2, 5
    deck = [red_1, red_1, red_2, red_2, red_3, yellow_1, 0, 2, 3, 3, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9]
    engine = KernelEngine(make_game(colors=2, ranks=5, hand_size=2, max_life_tokens=9), 1, seed=0)
    engine.reset(options={"deck": deck})
    tell_rank_2, discard_oldest = [7], [0]
    for action in (tell_rank_2, discard_oldest, tell_rank_2, discard_oldest):
        engine.step(action)
    assert [part[0].tolist() for part in own_hand(engine, 0)] == [[red_1, red_1], [PLAYABLE, PLAYABLE]]
    assert [part[0].tolist() for part in own_hand(engine, 1)] == [[red_3, yellow_1], [DEAD, PLAYABLE]]


@pytest.mark.slow
def test_every_game_can_ask_for_another_seat(engine):
    seats = np.arange(256) % 2
    mixed = own_hand(engine, seats)
    for seat in (0, 1):
        for part, whole in zip(mixed, own_hand(engine, seat), strict=True):
            assert (part[seats == seat] == whole[seats == seat]).all()


@pytest.mark.slow
def test_torch_states_give_the_same(engine):
    class TorchEngine:
        facts, num_games = engine.facts, engine.num_games
        state = type(engine.state)(*(torch.from_numpy(np.array(field)) for field in engine.state))

    for mine, theirs in zip(own_hand(TorchEngine, 1), own_hand(engine, 1), strict=True):
        assert mine.dtype == torch.uint8
        assert (mine.numpy() == theirs).all()


@pytest.mark.slow
def test_other_games_and_seats_are_refused(engine):
    with pytest.raises(OptionError, match=r"seat=2: must lie in 0\.\.1"):
        own_hand(engine, 2)
    with pytest.raises(OptionError, match="needs an engine of Hanabi, got one of Nim"):
        own_hand(KernelEngine(games.nim(), 1), 0)
