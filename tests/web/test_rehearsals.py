"""On a machine where nothing is compiled, games begin at once; a rehearsal compiles them meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason='the server needs pip install "ludory[web]"')

from starlette.testclient import TestClient

from ludory.envs.engine.binding import bind, plain_kernels
from ludory.envs.engine.binding.checked_cache import compiled_elsewhere
from ludory.web.players import MoveQuestion, PlayerPool
from ludory.web.tables import Tables

pytestmark = pytest.mark.slow

GAME = "TicTacToe-v0"


@pytest.fixture
def fresh_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache; whatever compiles here, and not in another process, is an error."""
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path / "cache"))
    bind._bind.cache_clear()
    with compiled_elsewhere():
        yield tmp_path
    bind._bind.cache_clear()


@pytest.fixture
def pool(fresh_machine: Path) -> Iterator[PlayerPool]:
    """Workers that start after the cache was emptied."""
    players = PlayerPool(1)
    yield players
    players.close()


def rehearsed(pool: PlayerPool, agents: tuple[str, ...]) -> None:
    """Wait for the end of a rehearsal."""
    [going] = [one for cast, one in pool.rehearsals._known.items() if cast.agents == agents]
    going.result(240)


def test_a_table_is_played_before_its_game_is_compiled_and_compiled_meanwhile(
    pool: PlayerPool, fresh_machine: Path
) -> None:
    tables = Tables(fresh_machine / "tables", pool)
    agents = ("", "random(seed=1)")
    table = tables.start(GAME, {}, 5, agents)
    assert pool.rehearsals.of(GAME, {}, agents) is not None
    tables.play(table, 0, (4,))
    tables.settle(table, 60)
    assert len(table.moves) == 2, "the agent has answered, in plain Python as well"
    assert tables.position(table).ran_plain
    rehearsed(pool, agents)
    assert pool.rehearsals.of(GAME, {}, agents) is None
    time.sleep(plain_kernels.LOOK_SECONDS)
    legal = tables.position(table).legal(0)[0][0]
    tables.play(table, 0, (legal.value,))
    step = tables.position(table).engine._bound.step_rows
    assert not isinstance(step, plain_kernels.PlainUntilCompiled), "compiled code was found on disk"
    [study] = pool.rehearsals._studies.values()
    study.result(240)
    assert list((fresh_machine / "cache").rglob("uct_*")), "what the analysis needs is compiled as well"
    until = time.monotonic() + 120
    while pool.rehearsals._pool is not None:  # its process ends just after the last result
        assert time.monotonic() < until
        time.sleep(0.01)


def test_an_agent_that_is_too_slow_in_plain_python_waits_for_its_rehearsal(pool: PlayerPool) -> None:
    agents = ("mcts(simulations=20000)", "")
    pool.rehearsals.start(GAME, {}, agents)
    assert isinstance(pool.choose(MoveQuestion("a", GAME, {}, 9, agents, (), 0)), int)
    rehearsed(pool, agents)


def test_a_cast_is_rehearsed_once_and_a_crash_ends_nothing_else(pool: PlayerPool) -> None:
    pool.rehearsals.start(GAME, {}, ("", ""))
    [first] = pool.rehearsals._known.values()
    pool.rehearsals.start(GAME, {}, ("", ""))
    assert list(pool.rehearsals._known.values()) == [first]
    while not (running := pool.rehearsals._pool) or not running._processes:
        time.sleep(0.01)
    next(iter(running._processes.values())).kill()
    assert first.exception(60) is not None
    pool.rehearsals.start(GAME, {}, ("random", ""))
    rehearsed(pool, ("random", ""))


def test_only_games_that_were_rehearsed_are_studied(pool: PlayerPool) -> None:
    pool.rehearsals.study(GAME, {}, ("", "random"))
    assert not pool.rehearsals._studies


def test_the_form_of_a_game_starts_its_rehearsal(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    around = client.app.state.ludory  # type: ignore[attr-defined]
    monkeypatch.setattr(around.tables, "prepare", lambda *given: asked.append(given))
    client.get("/setup?game=Hanabi3P-v0")
    client.get("/?game=TicTacToe-v0&agent=random")
    assert asked == [("Hanabi3P-v0", {}, ["", *["hanabi/iggi"] * 2]), (GAME, {}, ["", "mcts"])]
