"""Single games in plain Python until their kernels are compiled: the same games, and the switch to compiled code."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from ludory.agents.make import make_agent
from ludory.envs.engine import kernel_engine
from ludory.envs.engine.binding import bind, plain_kernels
from ludory.envs.engine.binding.checked_cache import NotCompiledError, compiled_elsewhere
from ludory.envs.engine.kernel_engine import few_steps
from ludory.envs.make import make_engine, make_game
from ludory.envs.seats.player import memory_of_new_games

ROWS = np.zeros(1, np.int64)
COMPILE = """
from ludory.envs.make import make_engine

engine = make_engine("KuhnPoker-v0", seed=1, threads=1, compiled=True)
engine.reset()
engine.step([1])
"""


@pytest.fixture
def always_plain(monkeypatch):
    """Compiled code is not looked for."""
    plain_kernels.until_compiled.cache_clear()
    monkeypatch.setattr(plain_kernels, "LOOK_SECONDS", np.inf)
    yield
    plain_kernels.until_compiled.cache_clear()


def engines(game):
    """One game played in plain Python, and compiled."""
    both = [make_engine(game, seed=5, first_game=2, threads=1, compiled=compiled) for compiled in (None, True)]
    both[0].plain_start = True
    for engine in both:
        engine.reset()
    return both


def choice(engine, players, memories):
    if engine.facts.simultaneous:
        seats = enumerate(zip(players, memories, strict=True))
        chosen = [player.choose(engine, seat, ROWS, memory) for seat, (player, memory) in seats]
        return np.stack([np.asarray(part).reshape(1, -1) for part in chosen], axis=1)
    mover = int(engine.to_move[0])
    actions = players[mover].choose(engine, mover, ROWS, memories[mover])
    for seat, (player, memory) in enumerate(zip(players, memories, strict=True)):
        player.notice(engine, seat, ROWS, actions, memory)
    return actions


@pytest.mark.usefixtures("always_plain")
@pytest.mark.parametrize(
    ("id", "agent", "moves"),
    [
        ("Hanabi2P-v0", "hanabi/iggi", 80),
        pytest.param("Hanabi3P-v0", "hanabi/smartbot", 12, marks=pytest.mark.slow),
        pytest.param("Arena2P-v0", "arena/rusher", 40, marks=pytest.mark.slow),
        pytest.param("Texas42-v0", "random(seed=1)", 60, marks=pytest.mark.slow),
        ("LeducPoker-v0", "random(seed=1)", 8),
        pytest.param("ConnectFour-v0", "mcts(simulations=30)", 42, marks=pytest.mark.slow),
        pytest.param("Sokoban-v0", "random(seed=1)", 40, marks=pytest.mark.slow),
        pytest.param("Sudoku4-v0", "random(seed=1)", 16, marks=pytest.mark.slow),
        pytest.param("FrozenLakeAny-v0", "random(seed=1)", 20, marks=pytest.mark.slow),
    ],
)
def test_plain_python_plays_the_games_of_compiled_code_bit_for_bit(id, agent, moves):
    game = make_game(id)
    plain, compiled = engines(game)
    players = [make_agent(agent, game) for _ in range(game.facts.players)]
    memories = [
        [memory_of_new_games(player, engine, seat, ROWS) for seat, player in enumerate(players)]
        for engine in (plain, compiled)
    ]
    for _ in range(moves):
        for name, values in plain.fields().items():
            np.testing.assert_array_equal(values, compiled.fields()[name], err_msg=name)
        np.testing.assert_array_equal(plain.legal(), compiled.legal())
        for seat in range(game.facts.players):
            np.testing.assert_allclose(plain.observe(seat), compiled.observe(seat), rtol=1e-6)
        if int(compiled.to_move[0]) < 0:
            break
        chosen = [choice(engine, players, held) for engine, held in zip((plain, compiled), memories, strict=True)]
        np.testing.assert_array_equal(*chosen)
        plain.step(chosen[0])
        compiled.step(chosen[1])
    assert plain.ran_plain
    assert not compiled.ran_plain


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A machine on which nothing is compiled; every call looks for compiled code."""
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(plain_kernels, "LOOK_SECONDS", -1.0)
    bind._bind.cache_clear()
    yield tmp_path
    bind._bind.cache_clear()  # the modules of this folder are gone with it


@pytest.mark.parametrize("patience", [1e9, 1e-9])
def test_few_games_are_compiled_when_they_have_been_played_in_plain_python_for_a_while(
    patience, empty_cache, monkeypatch, capfd
):
    monkeypatch.setattr(kernel_engine, "PATIENCE", patience)
    with few_steps(False):
        engine = make_engine("KuhnPoker-v0", seed=4, threads=1)
        for _ in range(2):
            engine.reset()
    assert isinstance(engine._bound.reset_rows, plain_kernels.PlainUntilCompiled) == (patience > 1)
    assert bool(list(empty_cache.rglob("*reset_rows*.nbi"))) == (patience < 1)
    assert ("compiling this game's kernels, once" in capfd.readouterr().err) == (patience < 1)


@pytest.mark.parametrize("num_games", [1, 2])
def test_own_games_and_those_that_were_asked_to_are_compiled_at_the_first_call(num_games, empty_cache):
    own = replace(make_game("KuhnPoker-v0"), id="")
    with few_steps(False), compiled_elsewhere():
        for game, options in ((own, {}), ("KuhnPoker-v0", {"compiled": True})):
            with pytest.raises(NotCompiledError, match="reset_rows is not compiled yet"):
                make_engine(game, num_games, seed=4, threads=1, **options).reset()


@pytest.mark.slow
def test_compiled_code_of_another_process_is_taken_in_the_middle_of_a_game(empty_cache):
    engine = make_engine("KuhnPoker-v0", seed=4, threads=1)
    engine.plain_start = True
    engine.reset()
    assert engine.ran_plain
    assert not list(empty_cache.rglob("*.nbi")), "nothing was compiled"
    subprocess.run([sys.executable, "-c", COMPILE], env=dict(os.environ), check=True, capture_output=True)
    step = engine._bound.step_rows
    with compiled_elsewhere():  # were it compiled here, this would raise
        engine.step([1])
    assert step.compiled
    assert not step.ran_plain


def test_many_games_are_never_played_in_plain_python(empty_cache):
    engine = make_engine("KuhnPoker-v0", plain_kernels.PLAIN_GAMES + 1, seed=4, threads=1)
    engine.plain_start = True
    with compiled_elsewhere(), pytest.raises(NotCompiledError, match="reset_rows is not compiled yet"):
        engine.reset()


def test_copies_begin_like_the_engine_that_they_come_from():
    engine = make_engine("KuhnPoker-v0", seed=4, threads=1)
    engine.plain_start = True
    engine.reset()
    assert engine.gather([0, 0]).plain_start


def test_a_twin_belongs_to_the_module_of_its_kernel():
    """By its name an error is told to be a package's, see `ludory.cli.common.guard`."""
    from ludory.envs.classic import tic_tac_toe

    assert plain_kernels.interpreted(tic_tac_toe.step).__globals__["__name__"] == tic_tac_toe.__name__
