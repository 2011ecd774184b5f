"""The observation `conventions` shows what SmartBot has in mind, bit for bit, whoever plays."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ludory.agents.make import make_agent
from ludory.envs.hanabi.observation import HINT_BITS, OWN_VIEW_BITS
from ludory.envs.make import make_engine, make_game

pytestmark = pytest.mark.slow

GAMES = 20


@pytest.fixture(scope="module", params=[2, 3])
def game(request):
    return make_game("Hanabi-v0", players=request.param, observation="conventions")


def test_every_seat_keeps_what_the_bot_keeps(game) -> None:
    """Random moves in a third of the games, which break the conventions; the bot's in the others."""
    engine, bot = make_engine(game, GAMES, seed=4), make_agent("hanabi/smartbot", game)
    engine.reset()
    memories = [bot.initial_memory(GAMES) for _ in range(game.facts.players)]
    generator, compared, known = np.random.default_rng(5), 0, 0
    while (running := np.flatnonzero(engine.to_move >= 0)).size:
        actions = (generator.random((GAMES, game.facts.num_actions)) * engine.legal()).argmax(1)
        for seat, memory in enumerate(memories):
            rows = np.flatnonzero(engine.to_move == seat)
            chosen = bot.choose(engine, seat, rows, memory)  # it settles its memory first
            actions[rows] = np.where(rows % 3 > 0, chosen, actions[rows])
            np.testing.assert_array_equal(engine.state.concluded[rows, seat], memory[rows])
            compared, known = compared + len(rows), known + np.count_nonzero(memory[rows])
        for seat, memory in enumerate(memories):
            bot.notice(engine, seat, running, actions[running], memory)
        engine.step(actions)
    assert compared > 500
    assert known > compared


def test_bits_are_those_of_the_sets(game) -> None:
    engine = make_engine(game, GAMES, seed=6)
    engine.reset()
    generator = np.random.default_rng(7)
    for move in range(40):
        if move % 4 == 3:
            for seat in range(game.facts.players):
                seen = _segments(game, engine.observe(seat))
                for row in np.flatnonzero(engine.to_move >= 0):
                    _check(engine, row, seat, {name: part[row] for name, part in seen.items()})
        engine.step((generator.random((GAMES, game.facts.num_actions)) * engine.legal()).argmax(1))


def _segments(game, observation: NDArray[np.uint8]) -> dict[str, NDArray[np.uint8]]:
    segments = game.facts.observation.segments
    return {part.name: observation[:, part.start : part.start + part.length] for part in segments}


def _check(engine, row: int, seat: int, seen: dict[str, NDArray[np.uint8]]) -> None:
    """Sets instead of bit sets, and the definitions word by word."""
    state, players = engine.state, engine.facts.players
    hand, cards = state.hands.shape[2], state.discards.shape[1]
    believed = seen["believed"].reshape(players, hand, cards)
    bits = seen["believed_slots"].reshape(players, hand, 8)
    left = [
        _copies(card) - int(state.discards[row, card]) - (card % 5 < state.fireworks[row, card // 5])
        for card in range(cards)
    ]
    playable = {c * 5 + int(state.fireworks[row, c]) for c in range(5) if state.fireworks[row, c] < 5}
    worthless = {card for card in range(cards) if _is_worthless(state, row, left, card)}
    for offset in range(players):
        other = (seat + offset) % players
        for slot in range(hand):
            ruled_out = int(state.concluded[row, seat, other * hand + slot])
            mind = {card for card in range(cards) if not ruled_out >> card & 1}
            if slot >= state.held[row, other]:
                assert not believed[offset, slot].any()
                assert not bits[offset, slot].any()
                continue
            assert set(np.flatnonzero(believed[offset, slot])) == mind
            surely, maybe = (
                bool(mind) and mind <= playable,
                not mind or (bool(mind & playable) and not mind <= playable),
            )
            assert bits[offset, slot, :2].tolist() == [surely, maybe]
            useless = bool(mind) and mind <= worthless
            assert bits[offset, slot, 2] == useless
            assert bits[offset, slot, 6] == (len(mind) == 1)
        assert bits[offset, :, 7].sum() <= 1
    assert seen["own_view"].shape == (hand * OWN_VIEW_BITS,)
    hints = seen["hints"].reshape(-1, HINT_BITS)
    assert (hints[:, 1:] <= hints[:, :-1]).all(), "a thermometer"


def _copies(card: int) -> int:
    return (3, 2, 2, 2, 1)[card % 5]


def _is_worthless(state, row: int, left: list[int], card: int) -> bool:
    height = int(state.fireworks[row, card // 5])
    return card % 5 < height or any(left[card - card % 5 + rank] == 0 for rank in range(height, card % 5))


def test_another_bot_finds_its_game_in_it() -> None:
    game = make_game("HanabiTiny2P-v0", observation="conventions")
    assert [make_agent(name, game).name for name in ("hanabi/smartbot", "hanabi/iggi")] == [
        "hanabi/smartbot",
        "hanabi/iggi",
    ]
    assert make_agent("sparta(hanabi/smartbot, rollouts=20)", game).name.startswith("sparta")
