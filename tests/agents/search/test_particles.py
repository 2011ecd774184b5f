"""Beliefs drawn for any game: equal to counting out what the other seat may hold, and never without the true world."""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from games.high_card import CARDS, CHECK, HIGH_CARD, RAISE
from support.chi_squared import assert_frequencies

from ludory.agents.agent import BotKernels, KernelAgent
from ludory.agents.evaluation.evaluate import evaluate, paired_difference
from ludory.agents.search.blueprint import make_blueprint
from ludory.agents.search.particles import ParticleBelief, belief_maker
from ludory.agents.search.sparta import Sparta
from ludory.agents.seat import Seat, SeatMove
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.kernels import kernel
from ludory.envs.make import make_game
from ludory.envs.texas42.state import BID_30, DECLARE_0, PASS, PLAY_0


@kernel
def timid_choose(state, i, seat, memory):
    """Raise with 4 and 5, unless the other seat has raised and the card is not 5; fold 0 then; memory: raises of the other."""
    card = int(state.cards[i, seat])
    if memory[0] > 0 and card == 0:
        return 2
    return 1 if card >= 4 + min(int(memory[0]), 1) and int(state.raises[i]) < 2 else 0


@kernel
def timid_notice(state, i, seat, action, memory):
    if action == 1 and int(state.to_move[i]) != seat:
        memory[0] += 1


TIMID = KernelAgent("timid", BotKernels(timid_choose, timid_notice, 1))


@kernel
def lowest_choose(state, i, seat, memory):
    """Bids 30 first of all, declares what it holds of the lowest tile, plays the lowest tile that it may; only its hand counts."""
    phase, held = int(state.phase[i]), int(state.held[i, seat])
    if phase == 0:
        return BID_30 if int(state.bid[i]) == 0 else PASS
    if phase == 1:
        return DECLARE_0 + held % 7
    trick = int(state.trick_len[i])
    for tile in range(28):
        if (held >> tile) & 1 and (trick == 0 or tile % 2 == 0):
            return PLAY_0 + tile
    for tile in range(28):
        if (held >> tile) & 1:
            return PLAY_0 + tile
    return 0


class Play:
    """One game in which all seats but one keep to a bot; beliefs of that seat, with and without taking worlds back."""

    def __init__(self, game: Any, bot: KernelAgent, seat: int, seed: int, counts: int) -> None:
        self.engine = KernelEngine(game, 1, seed=seed)
        self.engine.reset()
        self.start = self.engine.clone()
        blueprint = make_blueprint(bot, game, "this test")
        self.seat, self.history, self.bot = seat, list[SeatMove](), bot
        self.memories = [bot.initial_memory(1) for _ in range(game.facts.players)]
        belief = belief_maker(blueprint, "this test", counts)(seat)
        assert isinstance(belief, ParticleBelief)
        self.belief = belief

    def view(self) -> Seat:
        return Seat(self.engine, self.seat, 0, self.history)

    def step(self, action: int | None = None) -> None:
        mover = int(self.engine.to_move[0])
        rows = np.zeros(1, np.int64)
        if action is None:
            action = int(self.bot.choose(self.engine, mover, rows, self.memories[mover])[0])
        move = SeatMove(mover, action)
        self.belief.watch(self.view(), move)
        for seat, memory in enumerate(self.memories):
            self.bot.notice(self.engine, seat, rows, np.array([action]), memory)
        self.engine.step([action])
        self.history.append(move)


def agreeing(play: Play) -> list[int]:
    """Cards of the other seat with which it would have made its moves, each as likely as the other."""
    found, other = [], 1 - play.seat
    own = int(play.start.state.cards[0, play.seat])
    for card in set(range(CARDS)) - {own}:
        engine, memories = play.start.clone(), [play.bot.initial_memory(1) for _ in range(2)]
        engine.state.cards[0, other] = card
        row, agrees = np.zeros(1, np.int64), True
        for mover, action in play.history:
            if mover == other:
                agrees &= int(play.bot.choose(engine, mover, row, memories[mover])[0]) == action
            for seat, memory in enumerate(memories):
                play.bot.notice(engine, seat, row, np.array([action]), memory)
            engine.step([action])
        found += [card] * agrees
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seat", [0, 1])
def test_worlds_have_the_frequencies_of_counting_out(seat):
    narrowed = 0
    for seed in range(12):
        play = Play(HIGH_CARD, TIMID, seat, seed, counts=500)
        for turn in range(4):
            if play.engine.to_move[0] < 0:
                break
            if play.engine.to_move[0] == seat:
                expected = agreeing(play)
                worlds = play.belief.draw(play.view(), 200, key=seed).worlds
                kept = play.belief._kept
                assert kept is not None
                cards = Counter(kept.worlds["cards"][:, 1 - seat].tolist())
                assert set(cards) == set(expected) >= set(worlds["cards"][:, 1 - seat].tolist())
                assert not play.belief.contradictions
                assert (worlds["die"] == play.engine.state.die[0]).all()
                if len(expected) > 1:
                    total = sum(cards.values())
                    assert_frequencies([cards[c] for c in expected], [total / len(expected)] * len(expected))
                narrowed += len(expected) < CARDS - 1
                play.step(RAISE if turn < 2 and seed % 2 else None)
            else:
                play.step()
    assert narrowed > 4


@pytest.mark.plain
def test_what_no_bot_would_do_leaves_the_worlds_that_explain_most_of_it():
    play = Play(HIGH_CARD, TIMID, 1, 3, counts=200)
    own = int(play.engine.state.cards[0, 1])
    play.step(RAISE)  # 4 or 5
    assert set(play.belief.draw(play.view(), 50, 1).worlds["cards"][:, 0].tolist()) == {4, 5} - {own}
    play.step(CHECK)
    play.step(CHECK)  # 4 and 5 would raise again
    assert set(play.belief.draw(play.view(), 200, 2).worlds["cards"][:, 0].tolist()) == set(range(CARDS)) - {own}
    assert play.belief.contradictions == 1


@pytest.mark.slow
def test_hidden_hands_of_texas_42_agree_with_the_tiles_that_others_led():
    game = make_game("Texas42-v0")
    bot = KernelAgent("lowest", BotKernels(lowest_choose))
    play, narrower = Play(game, bot, 2, 5, counts=100), 0
    for _ in range(24):
        legal = play.engine.legal()[0]
        mover = int(play.engine.to_move[0])
        wanted = int(bot.choose(play.engine, mover, np.zeros(1, np.int64), play.memories[mover])[0])
        if mover == 2 and legal.sum() > 1:
            drawn = play.belief.draw(play.view(), 100, 7)
            held = drawn.worlds["held"]
            assert (held[:, 2] == play.engine.state.held[0, 2]).all()
            assert (np.bitwise_or.reduce(held, axis=1) == np.bitwise_or.reduce(play.engine.state.held[0])).all()
            if not play.belief.contradictions:
                narrower += 1
        play.step(wanted if legal[wanted] else int(np.flatnonzero(legal)[0]))
        if play.engine.to_move[0] < 0:
            break
    assert narrower > 1


@pytest.mark.slow
def test_search_over_a_timid_bot_gains_at_high_card():
    games = 100
    searching = [Sparta(HIGH_CARD, TIMID, rollouts=60, particles=60), TIMID]
    gain = paired_difference(
        evaluate(searching, HIGH_CARD, games=games, seed=3), evaluate([TIMID, TIMID], HIGH_CARD, games=games, seed=3)
    )
    assert (gain.mean[0], gain.mean[1]) == (-gain.mean[1], -gain.mean[0])
    assert gain.mean[0] > 2 * gain.stderr[0] > 0
