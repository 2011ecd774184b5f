"""IGGI, Piers and CheatBot: the strength they are known for, the rules they are made of, and what they may look at."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from games.nim import nim
from reference.hanabi_bots import PLAIN, Position

from ludory.agents.agent import Agent
from ludory.agents.evaluation.evaluate import EvaluationResult, evaluate
from ludory.agents.make import make_agent
from ludory.envs.engine.kernel_engine import LARGE_BATCH, KernelEngine, few_steps
from ludory.envs.hanabi import HanabiOptions
from ludory.envs.make import make_game
from ludory.errors import OptionError

GAMES = 10_000
MEANS = {
    "hanabi/iggi": {2: 17.67, 3: 17.02, 4: 16.26, 5: 15.17},
    "hanabi/piers": {2: 17.49, 3: 17.68, 4: 17.19, 5: 16.40},
    "hanabi/cheatbot": {2: 24.90, 3: 24.98, 4: 24.97, 5: 24.96},
}
"""Mean scores over 10,000 to 20,000 other games, with standard errors of at most 0.014."""
CHEATBOT_PERFECT = {2: 0.937, 3: 0.982, 4: 0.978, 5: 0.966}

EVERY_BOT = pytest.mark.parametrize(
    "bot", [pytest.param(bot, marks=[] if bot == "hanabi/iggi" else pytest.mark.slow) for bot in MEANS]
)
HONEST_BOT = pytest.mark.parametrize("bot", ["hanabi/iggi", "hanabi/piers"])
PLAYERS = pytest.mark.parametrize("players", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4, 5))])

ODD = [
    {"players": 2, "colors": 3, "ranks": 4, "hand_size": 3},
    {"players": 2, "colors": 3, "ranks": 4, "hand_size": 3, "max_information_tokens": 1, "max_life_tokens": 1},
    {"players": 5, "colors": 1, "ranks": 5, "hand_size": 2, "max_information_tokens": 3},  # the deal empties the deck
    {"players": 5, "colors": 1, "ranks": 5, "hand_size": 2, "max_information_tokens": 0},
    {"players": 2, "colors": 3, "ranks": 1, "hand_size": 1, "max_information_tokens": 0},
    {
        "players": 2,
        "colors": 3,
        "ranks": 1,
        "hand_size": 1,
        "max_information_tokens": 1,
    },  # the last mover sees an empty hand
]


@cache
def played(bot: str, players: int) -> EvaluationResult:
    return evaluate(bot, f"Hanabi{players}P-v0", games=GAMES, seed=1)


def started(game: Any, games: int) -> KernelEngine:
    engine = KernelEngine(game, games, seed=11)
    engine.reset()
    return engine


def moves(agent: Agent, engine: KernelEngine) -> np.ndarray:
    """What `agent` does in every seat that is to move; 0 in finished games."""
    actions = np.zeros(engine.num_games, np.int64)
    for seat in range(engine.facts.players):
        rows = np.flatnonzero(engine.to_move == seat)
        actions[rows] = agent.choose(engine, seat, rows, agent.initial_memory(engine.num_games))
    return actions


def moves_that_change_when_own_hand_is_redealt(bot: str, game: Any, games: int) -> int:
    agent, engine, changed = make_agent(bot, game), started(game, games), 0
    while not engine.over.all():
        actions, other_world = moves(agent, engine), engine.clone()
        other_world.redeal(np.maximum(engine.to_move, 0), seed=int(engine.state.turn.max()))
        changed += int((moves(agent, other_world) != actions).sum())
        engine.step(actions)
    return changed


@EVERY_BOT
@PLAYERS
def test_mean_score_is_the_known_one(bot: str, players: int) -> None:
    result = played(bot, players)
    assert result.mean == pytest.approx(MEANS[bot][players], abs=0.1)
    assert result.outcomes["score"].mean() == result.mean


@HONEST_BOT
@PLAYERS
def test_iggi_and_piers_never_lose_all_lives(bot: str, players: int) -> None:
    assert "bomb" not in played(bot, players).outcomes["end"]


@pytest.mark.slow
@PLAYERS
def test_cheatbot_is_nearly_always_perfect(players: int) -> None:
    ends = np.array(played("hanabi/cheatbot", players).outcomes["end"])
    assert (ends == "perfect").mean() == pytest.approx(CHEATBOT_PERFECT[players], abs=0.01)


def test_iggi_takes_70_moves_for_a_game_of_two() -> None:
    assert played("hanabi/iggi", 2).outcomes["turn"].mean() == pytest.approx(70.6, abs=0.1)


@pytest.mark.slow
@PLAYERS
def test_random_play_nearly_always_bombs(players: int) -> None:
    """Of 10,000 games for three, one did not."""
    result = evaluate("random", f"Hanabi{players}P-v0", games=500, seed=1)
    bombed = np.array(result.outcomes["end"]) == "bomb"
    assert bombed.sum() >= 498
    assert not result.returns[bombed].any()


def test_random_play_for_two_stacks_a_card_and_a_quarter() -> None:
    outcomes = played("random", 2).outcomes
    assert outcomes["stacks"].mean() == pytest.approx(1.25, abs=0.05)
    assert outcomes["turn"].mean() == pytest.approx(12.7, abs=0.3)


@EVERY_BOT
@pytest.mark.parametrize("players", [2, 3])
def test_every_move_follows_the_rules_as_written(bot: str, players: int) -> None:
    assert_moves_follow_the_rules(bot, {"players": players}, games=12)


@HONEST_BOT
@pytest.mark.parametrize("options", ODD, ids=str)
def test_odd_variants_are_played_by_the_same_rules(bot: str, options: dict[str, int]) -> None:
    assert_moves_follow_the_rules(bot, options, games=30)


def assert_moves_follow_the_rules(bot: str, options: dict[str, int], games: int) -> None:
    game, variant = make_game("Hanabi-v0", **options), HanabiOptions(**options)
    agent, engine = make_agent(bot, game), started(game, games)
    while not engine.over.all():
        actions = moves(agent, engine)
        for i in np.flatnonzero(engine.to_move >= 0):
            assert actions[i] == PLAIN[bot](Position(variant, engine.state, i)), (
                f"game {i}, turn {engine.state.turn[i]}"
            )
        engine.step(actions)  # raises if a move is illegal


@HONEST_BOT
@pytest.mark.parametrize("players", [2, 3])
def test_the_own_hand_and_the_deck_do_not_matter(bot: str, players: int) -> None:
    assert moves_that_change_when_own_hand_is_redealt(bot, make_game(f"Hanabi{players}P-v0"), games=12) == 0


def test_cheatbot_does_look_at_its_own_hand() -> None:
    game = make_game("Hanabi2P-v0")
    assert make_agent("hanabi/cheatbot", game).privileged
    assert moves_that_change_when_own_hand_is_redealt("hanabi/cheatbot", game, games=6) > 0


@EVERY_BOT
def test_another_game_is_refused(bot: str) -> None:
    with pytest.raises(OptionError, match=f"{bot} plays Hanabi only, got Nim"):
        make_agent(bot, nim())


@EVERY_BOT
def test_options_are_refused(bot: str) -> None:
    with pytest.raises(OptionError, match="unexpected keyword argument 'depth'"):
        make_agent(f"{bot}(depth=3)", "Hanabi2P-v0")


@pytest.mark.parametrize(
    "options", [{"colors": 4}, {"ranks": 4}, {"hand_size": 3}, {"max_life_tokens": 1}, {"max_information_tokens": 7}]
)
def test_cheatbot_refuses_all_but_the_full_game(options: dict[str, int]) -> None:
    with pytest.raises(OptionError, match=r"plays the full game only .*use Hanabi2P-v0"):
        make_agent("hanabi/cheatbot", make_game("Hanabi-v0", players=2, **options))


def test_few_games_share_compiled_code_and_large_batches_have_their_own() -> None:
    """Types of large batches name their sizes, else code for two player counts would be mixed up by a process that loads both."""
    with few_steps(False):
        small, large = (
            [KernelEngine(make_game(f"Hanabi{players}P-v0"), games)._bound for players in (2, 3)]
            for games in (1, LARGE_BATCH)
        )
    assert vars(small[0]).keys() == vars(small[1]).keys()
    assert small[0].step_rows is small[1].step_rows
    assert len({id(module.step_rows) for module in (*small, *large)}) == 3
