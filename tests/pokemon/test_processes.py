"""Children are replaced when they die, and none is left behind. LUDORY_POKEMON_COUNT=50 repeats what is repeated 50 times."""

import gc
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ludory.cli import main
from ludory.cli.pokemon.resimulate import run as run_resimulate
from ludory.envs.make import make_engine
from ludory.envs.pokemon import failures
from ludory.envs.pokemon.engine import PokemonEngine
from ludory.errors import BackendError, WorkerError

GAME = "PokemonGen1RandomBattle-v0"
REPEATS = int(os.environ.get("LUDORY_POKEMON_COUNT", "3"))
pytestmark = pytest.mark.usefixtures("simulator")


@pytest.fixture(autouse=True)
def records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where records of failures go."""
    monkeypatch.setattr(failures, "failure_folder", lambda: tmp_path / "crashes")
    return tmp_path / "crashes"


def engine_of(games: int, **options: Any) -> PokemonEngine:
    engine = make_engine(GAME, games, seed=1, observation="none", **options)
    assert isinstance(engine, PokemonEngine)
    engine.reset()
    return engine


def chosen(engine: PokemonEngine, draw: np.random.Generator) -> NDArray[np.int64]:
    legal = engine.state.legal
    actions: NDArray[np.int64] = np.where(legal, draw.random(legal.shape), -1.0).argmax(-1)[..., None]
    return actions


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pids: list[int], seconds: float = 120.0) -> bool:
    end = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(alive, pids))


def test_play_goes_on_when_node_is_killed_at_any_time(records: Path) -> None:
    """Killed by a timer, between or within messages: the error names battle and record, the games end truncated, new ones are played."""
    engine, draw, known = engine_of(4, workers=0, on_crash="restart"), np.random.default_rng(7), set[int]()
    for _ in range(REPEATS):
        (pid,) = engine.pids()
        known.add(pid)
        killer = threading.Timer(draw.uniform(0, 0.2), os.kill, (pid, signal.SIGKILL))
        killer.start()
        end = time.monotonic() + 120
        while alive(pid) or not engine.truncated.any():
            assert time.monotonic() < end
            begun = engine.over.copy()
            engine.reset(np.flatnonzero(begun))
            if engine.truncated.any():  # it was dead already: the games that were to begin do so elsewhere
                break
            begun[:] = False
            engine.step(chosen(engine, draw))
            if engine.truncated.any():
                break
        killer.join()
        assert engine.truncated[~engine.terminated & ~begun].all()
        assert not engine.over[begun].any()
        assert not engine.rewards[engine.truncated].any()
        text = str(engine.pool.last_error)
        assert re.search(r"gen1randombattle, game \d, battle seed gen5,\w{16}: the simulator's process died", text), (
            text
        )
        assert Path(text.split()[-1]).parent == records
        engine.reset(np.flatnonzero(engine.over))
        engine.step(chosen(engine, draw))
        assert not engine.truncated.any()
    known |= set(engine.pids())
    engine.close()
    assert gone(sorted(known))
    assert len(known) == REPEATS + 1


def test_games_that_begin_at_a_dead_child_begin_at_the_next_one() -> None:
    """The others, which ran in it, end truncated."""
    engine, draw = engine_of(4, workers=0, on_crash="restart"), np.random.default_rng(3)
    while not engine.over.any():
        engine.step(chosen(engine, draw))
    over, (pid,) = engine.over.copy(), engine.pids()
    os.kill(pid, signal.SIGKILL)
    assert gone([pid])
    engine.reset(np.flatnonzero(over))
    assert not engine.over[over].any()
    assert engine.truncated[~over].all()
    engine.reset(np.flatnonzero(engine.over))
    engine.step(chosen(engine, draw))
    assert not engine.truncated.any()
    engine.close()


@pytest.mark.parametrize("observation", ["none", "entity"])
def test_records_of_a_lost_child_play_again(
    records: Path, observation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The battles of the record stand where those of the engine stood when their child was lost."""
    engine = make_engine(GAME, 3, seed=2, observation=observation, workers=0)
    assert isinstance(engine, PokemonEngine)
    engine.reset()
    draw = np.random.default_rng(1)
    for _ in range(12):
        engine.step(chosen(engine, draw))
    assert not engine.over.any()
    turns = engine.turns.tolist()
    os.kill(engine.pids()[0], signal.SIGKILL)
    assert gone(engine.pids())
    engine.pool.block.shared.worker()._process.wait()  # type: ignore[union-attr]
    actions = np.zeros((3, 2, 1), np.int64) + engine.state.legal.argmax(-1)[..., None]
    with pytest.raises(BackendError, match="ludory pokemon resimulate") as told:
        engine.step(actions)
    engine.close()
    (file,) = records.iterdir()
    assert str(file) in str(told.value)
    assert run_resimulate([str(file)]) == 0
    said = capsys.readouterr().out
    reached = [int(turn) for turn in re.findall(r"in turn (\d+)", said)]
    assert all(before <= after <= before + 1 for before, after in zip(turns, reached, strict=True)), (turns, said)


def test_a_fault_in_python_leaves_a_record(records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ludory.envs.pokemon import lane

    engine = make_engine(GAME, 1, seed=2, workers=0)
    engine.reset()

    def broken(*_: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(lane, "seat_request", broken)
    with pytest.raises(BackendError, match="on purpose"):
        engine.step(chosen(engine, np.random.default_rng(0)))  # type: ignore[arg-type]
    engine.close()
    (file,) = records.iterdir()
    assert "Traceback" in file.read_text()
    assert ">p1 move" in file.read_text() or ">p1 switch" in file.read_text()


def test_old_records_make_room(records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "KEPT_FILES", 3)
    for number in range(5):
        start = {"seed": f"gen5,{number:016x}", "p1": {"seed": "x"}, "p2": {"seed": "x"}}
        file = failures.save_failure([failures.FailedBattle("gen1randombattle", start, [])], "line\n" * 50)
        os.utime(file, (number, number))
        assert file.read_text().count("line") == failures.STACK_LINES
    assert len(list(records.iterdir())) == 3


def test_engines_made_again_and_again_leave_nothing() -> None:
    """As in a notebook, where a name is given to the next engine: closed ones end at once, forgotten ones when the next one starts."""
    pids: list[int] = []
    gc.collect()
    before = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for number in range(REPEATS):
        engine = engine_of(2, workers=0)  # the name holds the engine before it until this one has started
        assert gone(pids[:-1])
        pids += engine.pids()
        if number % 2:
            engine.close()
            engine.close()
            assert gone(pids[-1:])
    engine.close()
    del engine
    gc.collect()
    assert gone(pids)
    assert len(set(pids)) == REPEATS
    assert threading.active_count() <= before[0] + 1
    assert len(os.listdir("/proc/self/fd")) <= before[1] + 2


@pytest.mark.parametrize("workers", [0, 1])
def test_a_closed_engine_says_so_and_starts_nothing(records: Path, workers: int) -> None:
    engine = engine_of(2, workers=workers)
    pids = engine.pids()
    engine.close()
    assert gone(pids)
    for use in (lambda: engine.step(chosen(engine, np.random.default_rng(0))), engine.reset, engine.logs):
        with pytest.raises(WorkerError, match="closed; make a new one"):
            use()
    assert not records.exists()


def _load(numbers: list[int]) -> list[int]:
    return [number * number for number in numbers]


def test_a_forked_data_loader_does_not_disturb_the_engine() -> None:
    """Processes forked while an engine runs end, with their copies of it, and the engine plays on."""
    engine, draw = engine_of(2, workers=0), np.random.default_rng(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_load, [[1, 2], [3]]) == [[1, 4], [9]]
        engine.step(chosen(engine, draw))
        pool.close()
        pool.join()
    child = os.fork()
    if child == 0:
        engine.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    engine.step(chosen(engine, draw))
    assert (engine.turns > 0).all()
    engine.close()


LEFT_OPEN = """
import os, sys
from ludory.envs.make import make_engine
if __name__ == "__main__":
    engine = make_engine("PokemonGen1RandomBattle-v0", 2, seed=1, observation="none", workers=int(sys.argv[2]))
    engine.reset()
    print(*engine.pids(), *engine.pool.worker_pids, flush=True)
    if sys.argv[1] == "error":
        engine.step([[[99], [99]]] * 2)
    if sys.argv[1] == "kill":
        os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("how", ["exit", "error", "kill"])
def test_an_engine_left_open_leaves_no_process(how: str, workers: int) -> None:
    """A program that ends without `close`, by an error in `step`, and by a signal that it cannot handle."""
    program = [sys.executable, "-c", LEFT_OPEN, how, str(workers)]
    done = subprocess.run(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120)
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == max(1, 2 * workers)
    assert done.returncode == {"exit": 0, "error": 1, "kill": -9}[how]
    assert gone(pids)


def test_a_soak_reads_every_process_and_leaves_none(simulator, tmp_path, capsys):
    result = tmp_path / "soak.json"
    command = ["bench", "pokemon-soak", "--battles", "40", "--settle", "10", "--games", "8", "--out", str(result)]
    assert main(command) == 0
    report = json.loads(result.read_text())
    assert len(report["resident_mib"]) == 5
    assert {"this process", "node 0", "worker 0"} <= set(report["growth"])
    assert report["processes_left"] == report["files_left"] == []
    assert str(tmp_path) not in result.read_text()
    assert "left behind" in capsys.readouterr().out
