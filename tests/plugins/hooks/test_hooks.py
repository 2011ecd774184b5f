"""What a game of another package offers to searches and analysts is used as if it were built in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from games.high_card import CARDS, HIGH_CARD, PARTS, RAISE
from numpy.typing import NDArray

from ludory import plugins
from ludory.agents.agent import BotKernels, KernelAgent
from ludory.agents.analysis import (
    Analyst,
    ExactSearch,
    GameAnalysis,
    HiddenCards,
    MoveSearch,
    StudiedPosition,
    analysis_of,
    mover,
)
from ludory.agents.analysis.positions import replay_of_moves
from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.hanabi.beliefs.hand_range import HandBelief
from ludory.agents.search.belief import Draw, GameBeliefs
from ludory.agents.search.blueprint import Blueprint, make_blueprint
from ludory.agents.search.particles import ParticleBelief, belief_maker
from ludory.agents.search.sparta import Sparta, make
from ludory.agents.seat import Seat, SeatMove
from ludory.envs.chance import KEY, hash_rows
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.engine.storage import new_records
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.make import NamedGame, make_game
from ludory.errors import OptionError, PluginError
from ludory.plugins import Registry, builtin
from ludory.plugins.discovery import discover
from ludory.web.analysis.report import PositionAnalysis
from ludory.web.analysis.review import review

pytestmark = pytest.mark.plain

assert HIGH_CARD.rules.kernels is not None
UNDEALT = replace(
    HIGH_CARD,
    rules=replace(HIGH_CARD.rules, kernels=HIGH_CARD.rules.kernels._replace(redeal=None)),
    id="UndealtCard-v0",
)
"""High card whose hidden card cannot be drawn anew: a search needs a belief of the game's own."""


@kernel
def _choose(state, i, seat, memory):  # type: ignore[no-untyped-def]
    return RAISE if int(state.cards[i, seat]) >= 3 and int(state.raises[i]) < 2 else 0


BOT = KernelAgent("open", BotKernels(_choose))


class CardBelief:
    """The cards that the other seat may hold if it plays the blueprint: the exact posterior, since all are equally likely."""

    contradictions = 0

    def __init__(self, blueprint: Blueprint, seat: int, particles: int) -> None:
        self.blueprint, self.seat, self.cards = blueprint, seat, np.arange(CARDS)

    @property
    def size(self) -> int:
        return len(self.cards)

    def watch(self, seat: Seat, move: SeatMove) -> None:
        worlds = self._worlds(seat, self.cards)
        same = self.blueprint.asked(worlds, move.seat, move.action, self.blueprint.no_memory(len(worlds)))
        if move.seat != self.seat:
            self.cards = worlds["cards"][same, move.seat].copy()

    def draw(self, seat: Seat, count: int, key: int) -> Draw:
        own = int(seat.observation[:CARDS].argmax())
        self.cards = self.cards[self.cards != own]
        worlds = self._worlds(seat, self.cards[np.arange(count) % len(self.cards)])
        worlds["random"][:, KEY] = hash_rows(key, np.arange(count))
        return Draw(worlds, self.blueprint.no_memory(count))

    def _worlds(self, seat: Seat, cards: NDArray[Any]) -> NDArray[Any]:
        """The game as the seat sees it, with each of `cards` in the other hand."""
        worlds, seen = new_records(self.blueprint.game.rules.fields, len(cards)), seat.observation
        own, turn, raises, die = np.split(seen, np.cumsum(list(PARTS.values()))[:-1])
        worlds["cards"][:, self.seat], worlds["cards"][:, 1 - self.seat] = own.argmax(), cards
        worlds["turn"], worlds["raises"], worlds["die"] = turn.sum(), raises.sum(), die.argmax()
        worlds["to_move"] = turn.sum() % 2
        return worlds


def offered(game: Game) -> GameBeliefs:
    return GameBeliefs(CardBelief)


@pytest.fixture
def beliefs(monkeypatch: pytest.MonkeyPatch) -> Registry[Any]:
    """The registry of beliefs, which looks at the path anew and forgets afterwards what was added to it."""
    fresh: Registry[Any] = Registry("belief", builtin.BELIEFS, callable, "a function", discover.__wrapped__)
    monkeypatch.setattr(plugins, "beliefs", fresh)
    return fresh


def belief(game: Game, bot: KernelAgent = BOT) -> object:
    return belief_maker(make_blueprint(bot, game, "this test"), "this test", 10)(0)


def test_a_search_uses_the_belief_that_a_game_offers_by_its_id(beliefs: Registry[Any]) -> None:
    with pytest.raises(OptionError, match="cannot do"):
        Sparta(UNDEALT, BOT)
    beliefs.add(UNDEALT.id, offered)
    searcher, engine, row = Sparta(UNDEALT, BOT, rollouts=20), KernelEngine(UNDEALT, 1, seed=1), np.zeros(1, np.int64)
    engine.reset()
    engine.state.cards[0] = 4, 5
    memory = searcher.start_games(1, row)
    searcher.notice(engine, 1, row, np.array([RAISE]), memory)
    engine.step([RAISE])
    assert searcher.choose(engine, 1, row, memory)[0] == RAISE  # with the highest card
    (decision,) = searcher.decisions(memory, 0)
    assert decision.range_size == 2  # 3 and 4: the other seat raised, and 5 is the own card


def test_a_belief_of_a_family_serves_all_its_ids(beliefs: Registry[Any]) -> None:
    beliefs.add("high_card", offered)
    for id in ("OneCard-v0", "OtherCard-v0", ""):
        assert isinstance(belief(replace(UNDEALT, id=id, family="high_card")), CardBelief)
    assert isinstance(belief(replace(HIGH_CARD, id="OneCard-v0")), ParticleBelief)


def test_a_package_brings_the_belief_of_its_game(install: Any, beliefs: Registry[Any]) -> None:
    source = "from ludory.agents.search.belief import GameBeliefs\ndef make(game): return GameBeliefs(lambda *of: of)"
    install("ludory-cards", {"ludory.beliefs": "UndealtCard-v0 = undealt_cards:make"}, {"undealt_cards": source})
    assert belief(UNDEALT)[1:] == (0, 10)  # type: ignore[index]


def test_other_rules_do_not_get_the_belief_of_their_family(beliefs: Registry[Any]) -> None:
    from ludory.agents.make import make_agent

    tiny = make_game("HanabiTiny2P-v0")
    bot = make_agent("hanabi/iggi", tiny)
    assert isinstance(bot, KernelAgent)
    assert isinstance(belief(tiny, bot), HandBelief)
    assert isinstance(belief(replace(HIGH_CARD, family="hanabi")), ParticleBelief)
    with pytest.raises(OptionError, match="has no such search; try Hanabi2P-v0"):
        make(replace(HIGH_CARD, family="hanabi"), BOT, joint=True)


def test_seats_search_together_where_the_game_says_how(beliefs: Registry[Any]) -> None:
    beliefs.add(UNDEALT.id, lambda game: GameBeliefs(CardBelief, joint=lambda *options: options))
    assert make(UNDEALT, BOT, rollouts=30, joint=True)[:3] == (UNDEALT, BOT, 30)  # type: ignore[index]
    with pytest.raises(OptionError, match="joint=True"):
        evaluate(Sparta(UNDEALT, BOT, rollouts=20), UNDEALT, games=1)


def test_a_belief_of_another_form_is_refused_with_its_name(beliefs: Registry[Any]) -> None:
    beliefs.add(UNDEALT.id, lambda game: CardBelief)
    with pytest.raises(
        PluginError, match=r"belief 'UndealtCard-v0' returned a type .* must return a GameBeliefs or None"
    ):
        Sparta(UNDEALT, BOT)


class CardAnalysis(GameAnalysis):
    """Says something of everything that a game may add to its analysis."""

    def analyst(self, agent: str | None, seats: Sequence[int] | None) -> Analyst:
        return CardAnalyst()

    def hidden(
        self, position: StudiedPosition, seat: int, analyst: Analyst | None, key: int, shown: bool
    ) -> HiddenCards:
        return HiddenCards("The other card", ("card",), ("low", "high"), np.array([[0.25, 0.75]]), None, "as told")

    def remark(self, position: StudiedPosition) -> str:
        return f", remarked after {position.number}"


class CardAnalyst(Analyst):
    def search(self, position: StudiedPosition, key: int) -> MoveSearch:
        moves = position.legal(mover(position)).tolist()
        names = [position.name(move) for move in moves]
        return ExactSearch(mover(position), moves, names, np.array(moves, float), "by number", "chips")


def test_the_analysis_of_a_game_shows_what_the_game_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    analysts: Registry[Any] = Registry("analyst", builtin.ANALYSTS, callable, "a function", discover.__wrapped__)
    monkeypatch.setattr(plugins, "analysts", analysts)
    replay = replay_of_moves(HIGH_CARD, 1, [0, 0])
    assert PositionAnalysis(replay, 1, asked={}, game=HIGH_CARD).run(10)["belief"] is None
    mine = replace(HIGH_CARD, family="cards")
    analysts.add("cards", CardAnalysis)
    found = PositionAnalysis(replay, 1, asked={}, game=mine).run(10)
    assert (found["values"]["method"], found["values"]["moves"][0]["name"]) == ("by number", "raise")
    assert found["belief"]["probabilities"] == [[0.25, 0.75]]
    judged = list(review(replay, game=mine))
    assert [one.loss for one in judged] == [1.0, 1.0]
    assert [one.words.endswith(f", remarked after {number}") for number, one in enumerate(judged, 1)] == [True, True]


@pytest.mark.parametrize(
    "id", ["HanabiSmall3P-v0", "Texas42Match-v0", "Texas42Play-v0", "SokobanGym-v0", "FrozenLake6-v0", "Sudoku9-v0"]
)
def test_every_id_of_a_family_has_its_analysis(id: str) -> None:
    assert type(analysis_of(make_game(id))) is not GameAnalysis


@pytest.mark.parametrize("family", ["hanabi", "texas42", "sokoban", "frozen_lake", "sudoku"])
def test_other_rules_do_not_get_the_analysis_of_their_family(family: str) -> None:
    assert type(analysis_of(replace(HIGH_CARD, family=family))) is GameAnalysis


@pytest.mark.parametrize(
    ("id", "thing", "said"),
    [
        ("two words", offered, "an id is a name such as Mine-v0"),
        ("hanabi", offered, "is of the package ludory; choose another id"),
        ("Mine-v0", 3, "is a int, must be a function"),
    ],
)
def test_what_cannot_be_registered_in_a_process_is_named(
    beliefs: Registry[Any], id: str, thing: Any, said: str
) -> None:
    with pytest.raises(PluginError, match=said):
        beliefs.add(id, thing)


def test_a_game_registered_in_a_process_is_made_listed_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    games: Registry[Any] = Registry("game", builtin.GAMES, callable, "a function", discover.__wrapped__)
    monkeypatch.setattr("ludory.envs.make.games", games)
    for name in ("one", "two"):
        games.add("Mine-v0", lambda name=name: replace(HIGH_CARD, facts=replace(HIGH_CARD.facts, name=name)))
        assert make_game("Mine").facts.name == name
    assert games.ids().count("Mine-v0") == 1
    assert (games.describe("Mine-v0").distribution, games.describe("Mine-v0").problem) == ("this process", "")
    assert games.package_of("Mine-v0") == ""


def test_a_game_registered_in_a_process_is_not_sent_to_others_by_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    games: Registry[Any] = Registry("game", builtin.GAMES, callable, "a function", discover.__wrapped__)
    monkeypatch.setattr("ludory.envs.make.games", games)
    games.add("Mine-v0", lambda: HIGH_CARD)
    mine = make_game("Mine-v0")
    assert mine.__reduce__()[0] is Game
    with pytest.raises(OptionError, match="Mine-v0 has no id that other processes know"):
        NamedGame.of(mine)
