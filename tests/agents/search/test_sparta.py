"""Search over a rule bot: it is fair to the rules of the game, repeats from its seed, knows no more than its seat, and gains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from games.nim import matching, nim

from ludory.agents.evaluation.evaluate import evaluate, paired_difference
from ludory.agents.make import make_agent
from ludory.agents.search.rollouts import PairedReturns, SearchDecision
from ludory.agents.search.sparta import Sparta
from ludory.agents.seat import Seat, SeatMove, SeatNotes
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.make import make_game
from ludory.errors import OptionError

pytestmark = pytest.mark.slow

SMALL = make_game("HanabiSmall2P-v0")
BOT = "hanabi/smartbot"


def sparta(**options: Any) -> Sparta:
    return Sparta(SMALL, BOT, **options)


class Game:
    """Games of a search in seat 1 with the bot in seat 0, decision by decision."""

    def __init__(self, agent: Sparta, games: int, seed: int = 1) -> None:
        self.agent, self.bot = agent, make_agent(BOT, SMALL)
        self.engine = KernelEngine(SMALL, games, seed=seed)
        self.engine.reset()
        self.notes: np.ndarray = agent.initial_memory(games)
        self.bot_memories = [self.bot.initial_memory(games) for _ in range(2)]

    def seat(self, i: int) -> Seat:
        return Seat(self.engine, 1, i, self.notes[i].history)

    def step(self) -> np.ndarray:
        """Everybody moves once; returns the actions."""
        movers = self.engine.to_move
        actions = np.zeros(len(movers), np.int64)
        for seat, agent in enumerate([self.bot, self.agent]):
            rows = np.flatnonzero(movers == seat)
            actions[rows] = agent.choose(self.engine, seat, rows, self.notes if seat else self.bot_memories[0])
        running = np.flatnonzero(movers >= 0)
        self.agent.notice(self.engine, 1, running, actions[running], self.notes)
        for seat, memory in enumerate(self.bot_memories):
            self.bot.notice(self.engine, seat, running, actions[running], memory)
        self.engine.step(actions)
        return actions

    def decisions(self, i: int) -> list[SearchDecision]:
        return self.notes[i].own.decisions


def test_search_gains_on_the_same_deals() -> None:
    games = 60
    alone = evaluate(BOT, SMALL, games=games, seed=3)
    searching = evaluate([BOT, sparta(rollouts=200)], SMALL, games=games, seed=3)
    gain = paired_difference(searching, alone)
    assert gain.mean > 3 * gain.stderr > 0


def test_the_same_seed_makes_the_same_moves_wherever_the_game_is_in_a_batch() -> None:
    together = Game(sparta(rollouts=200, seed=4), 6)
    other_seed = Game(sparta(rollouts=200, seed=5), 6)
    for _ in range(8):
        together.step()
        other_seed.step()
    for first in (2, 5):
        alone = Game(sparta(rollouts=200, seed=4), 1)
        alone.engine = KernelEngine(SMALL, 1, seed=1, first_game=first)
        alone.engine.reset()
        for _ in range(8):
            alone.step()
        assert same(alone.decisions(0), together.decisions(first))
        assert not same(alone.decisions(0), other_seed.decisions(first))


def same(one: list[SearchDecision], other: list[SearchDecision]) -> bool:
    return len(one) == len(other) > 0 and all(
        np.array_equal(a.values, b.values, equal_nan=True) and a.action == b.action
        for a, b in zip(one, other, strict=True)
    )


def test_it_decides_by_what_its_seat_knows() -> None:
    game = Game(sparta(rollouts=100), 12)
    for move in range(9):
        for i in np.flatnonzero(game.engine.to_move == 1):
            other_world = game.engine.clone()
            other_world.redeal(1, seed=move)
            note = game.notes[i]
            elsewhere = Seat(other_world, 1, i, note.history)
            counted = len(note.own.decisions)
            assert game.agent.decide(elsewhere, note.own) == game.agent.decide(game.seat(i), note.own)
            assert len(note.own.decisions) == counted or same(*([d] for d in note.own.decisions[-2:]))
            del note.own.decisions[counted:]
        game.step()


def test_a_rollout_is_the_game_played_on_by_the_bots() -> None:
    game = Game(sparta(rollouts=100), 8)
    for _ in range(5):
        game.step()
    compared = 0
    for i in np.flatnonzero(game.engine.to_move == 1):
        seat, note = game.seat(i), game.notes[i]
        drawn = note.own.belief.draw(seat, 20, key=9)
        for action in np.flatnonzero(seat.mask):
            returns = game.agent.blueprint.play(drawn, np.array([action]), 1)[:, 0]
            np.testing.assert_array_equal(returns, played_on(game, drawn, int(action)))
            compared += 1
    assert compared > 10


def played_on(game: Game, drawn: Any, action: int) -> np.ndarray:
    """What the game's own engine and the bot as an agent make of it."""
    engine = KernelEngine(SMALL, len(drawn.worlds))
    engine.load_fields(
        {name: drawn.worlds[name] for name in SMALL.rules.fields} | {"_started": np.ones(len(drawn.worlds), bool)},
        check=False,  # of the cards played, a world holds only what the rules need
    )
    memories, returns = drawn.memories.copy(), np.zeros(len(drawn.worlds))
    actions = np.full(engine.num_games, action)
    while (running := np.flatnonzero(engine.to_move >= 0)).size:
        for seat in range(2):
            mine = np.ascontiguousarray(memories[:, seat])
            game.bot.notice(engine, seat, running, actions[running], mine)
            memories[:, seat] = mine
        engine.step(actions)
        returns += engine.rewards[:, 1]
        for seat in range(2):
            rows = np.flatnonzero(engine.to_move == seat)
            actions[rows] = game.bot.choose(engine, seat, rows, np.ascontiguousarray(memories[:, seat]))
    return returns


def test_a_decision_says_what_was_tried() -> None:
    game = Game(sparta(rollouts=120, threshold=0.0, confirm=True), 20)
    for _ in range(6):
        masks, movers, before = game.engine.legal(), game.engine.to_move, [len(game.decisions(i)) for i in range(20)]
        bots = [int(a) for a in game.bot.choose(game.engine, 1, np.arange(20), game.bot_memories[1].copy())]
        actions = game.step()
        for i in np.flatnonzero(movers == 1):
            if masks[i].sum() == 1:
                continue
            assert len(game.decisions(i)) == before[i] + 1
            found = game.decisions(i)[-1]
            assert found.action == actions[i]
            assert found.blueprint_action == bots[i]
            np.testing.assert_array_equal(np.isnan(found.values), ~masks[i])
            np.testing.assert_array_equal(found.counts > 0, masks[i])
            assert found.rollouts <= 120
            assert found.counts[found.blueprint_action] == found.counts.max()
            assert found.range_size is None or found.range_size > 0


def test_a_huge_threshold_leaves_the_blueprint() -> None:
    alone = evaluate(BOT, SMALL, games=10, seed=3)
    cautious = evaluate([BOT, sparta(rollouts=50, threshold=100.0)], SMALL, games=10, seed=3)
    np.testing.assert_array_equal(alone.returns, cautious.returns)


def test_seconds_cut_a_search_short() -> None:
    game = Game(sparta(rollouts=10**7, seconds=0.02), 2)
    game.step()
    game.step()
    assert 0 < game.decisions(0)[0].rollouts < 10**6


def test_it_goes_on_when_a_stranger_breaks_the_conventions() -> None:
    result = evaluate(["random", sparta(rollouts=40)], SMALL, games=10, seed=3)
    assert len(result.returns) == 10


class TestPairedReturns:
    def test_leads_are_means_of_differences_in_the_same_worlds(self) -> None:
        returns = np.random.default_rng(0).normal([0, 0.2, 0.1], size=(60, 3))
        paired = PairedReturns(3, baseline=1, threshold=0.05)
        paired.add(returns[:25])
        paired.add(returns[25:])
        differences = returns - returns[:, [1]]
        np.testing.assert_allclose(paired.leads, differences.mean(axis=0))
        np.testing.assert_allclose(paired.stderrs, differences.std(axis=0, ddof=1) / 60**0.5, atol=1e-9)
        np.testing.assert_allclose(paired.values, returns[:, 1].mean() + differences.mean(axis=0))

    def test_what_is_clearly_behind_is_given_up_and_the_baseline_never(self) -> None:
        noise = np.random.default_rng(0).normal(scale=0.1, size=(40, 3))
        paired = PairedReturns(3, baseline=0, threshold=0.05)
        paired.add(noise + np.array([0, 5, 1]))
        paired.give_up()
        assert paired.tried.tolist() == [0, 1]
        assert paired.best() == 1
        paired.add(noise[:, :2] + np.array([0, 5]))
        assert paired.rounds.tolist() == [80, 80, 40]

    def test_nothing_is_given_up_after_few_worlds(self) -> None:
        paired = PairedReturns(2, baseline=0, threshold=0.05)
        paired.add(np.array([[0.0, -9.0]] * 34))
        paired.give_up()
        assert paired.tried.tolist() == [0, 1]
        paired.add(np.array([[0.0, -9.0]]))
        paired.give_up()
        assert paired.tried.tolist() == [0]

    def test_the_baseline_is_kept_unless_beaten_by_the_threshold(self) -> None:
        for lead, expected in ((0.04, 0), (0.06, 1)):
            paired = PairedReturns(2, baseline=0, threshold=0.05)
            paired.add(np.array([[1.0, 1.0 + lead]] * 40))
            assert paired.best() == expected

    def test_the_baseline_is_kept_unless_beaten_beyond_doubt(self) -> None:
        leads = np.array([[0.0, 1.0], [0.0, -1.0]] * 20 + [[0.0, 1.0]] * 10)  # mean 0.2, standard error 0.14
        for errors, expected in ((1.0, 1), (2.0, 0)):
            paired = PairedReturns(2, baseline=0, threshold=0.05, errors=errors)
            paired.add(leads)
            assert paired.best() == expected

    def test_few_worlds_that_all_agree_are_not_beyond_doubt(self) -> None:
        for worlds, expected in ((2, 0), (3, 1)):  # doubt: 1 / sqrt(2), 1 / sqrt(6)
            paired = PairedReturns(2, baseline=0, threshold=0.05, errors=2.0)
            paired.add(np.array([[0.0, 1.0]] * worlds))
            assert paired.best() == expected


@pytest.mark.parametrize(
    ("spec", "game", "message"),
    [
        ("sparta(hanabi/cheatbot)", "Hanabi2P-v0", "hanabi/cheatbot looks at hidden cards"),
        (
            "sparta(random)",
            "Hanabi2P-v0",
            "searches with a rule bot such as hanabi/smartbot or a trained network .* got random",
        ),
        ("sparta(hanabi/smartbot, rollouts=0)", "Hanabi2P-v0", "rollouts=0: must be an integer of at least 1"),
        ("sparta(hanabi/smartbot, threshold=-1)", "Hanabi2P-v0", "threshold=-1: must be at least 0"),
        ("sparta(hanabi/smartbot, errors=-1)", "Hanabi2P-v0", "errors=-1: must be at least 0"),
        ("sparta(hanabi/smartbot, seconds=0)", "Hanabi2P-v0", "seconds=0: must be above 0"),
        ("sparta(hanabi/smartbot, worlds=3)", "Hanabi2P-v0", "worlds"),
    ],
)
def test_wrong_specs_are_refused(spec: str, game: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make_agent(spec, game)


def test_two_seats_that_search_each_on_its_own_are_refused() -> None:
    with pytest.raises(OptionError, match=r"searches in seat 0 and in seat 1 .* unsound=True"):
        evaluate(sparta(rollouts=20), SMALL, games=1)
    assert len(evaluate(sparta(rollouts=20, unsound=True), SMALL, games=2).returns) == 2


def test_searching_together_is_proposed_where_it_can_be_done() -> None:
    with pytest.raises(OptionError, match="joint=True"):
        evaluate(sparta(rollouts=20), SMALL, games=1)
    with pytest.raises(OptionError, match="unsound=True") as refused:
        evaluate("sparta(texas42/quick, rollouts=20)", "Texas42Play-v0", games=1)
    assert "joint" not in str(refused.value)


class TestSeat:
    def test_worlds_show_the_seat_what_it_sees_and_repeat_from_their_seed(self) -> None:
        engine = KernelEngine(SMALL, 3, seed=2)
        engine.reset()
        seat = Seat(engine, 1, 2)
        worlds, again, others = seat.worlds(50, seed=7), seat.worlds(50, seed=7), seat.worlds(50, seed=8)
        assert (worlds.observe(1) == seat.observation).all()
        assert len(np.unique(worlds.state.hands[:, 1], axis=0)) > 10
        np.testing.assert_array_equal(worlds.state.deck, again.state.deck)
        assert not np.array_equal(worlds.state.deck, others.state.deck)

    def test_a_seat_not_to_move_has_no_legal_action(self) -> None:
        engine = KernelEngine(SMALL, 1, seed=2)
        engine.reset()
        assert not Seat(engine, 1, 0).mask.any()
        np.testing.assert_array_equal(Seat(engine, 0, 0).mask, engine.legal()[0])
        assert Seat(engine, 0, 0).to_move == 0

    def test_history_holds_the_moves_of_its_own_game(self) -> None:
        game = Game(sparta(rollouts=20), 3)
        first, second = game.step(), game.step()
        for i in range(3):
            assert game.seat(i).history == (SeatMove(0, int(first[i])), SeatMove(1, int(second[i])))
        assert game.agent.initial_memory(2)[1].history == []
        assert isinstance(game.notes[0], SeatNotes)

    def test_games_in_which_all_move_at_once_are_refused(self) -> None:
        with pytest.raises(OptionError, match="seats move one after another"):
            Sparta(matching(), "random")

    def test_games_without_a_belief_are_refused(self) -> None:
        with pytest.raises(OptionError, match=r"which Nim cannot do \(it has no `redeal`\)"):
            Sparta(nim(), make_agent(BOT, SMALL))
