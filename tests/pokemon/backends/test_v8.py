"""The simulator within Python's process: the battles of the other backend, and nothing that waits, hangs or is left behind.

LUDORY_POKEMON_COUNT=60 compares so many battles per format.
"""

import asyncio
import gc
import hashlib
import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.windows.unix import needs_unix

import ludory
from ludory.atomic import atomic_file
from ludory.cli import main
from ludory.data.pokemon.replays import read_battles
from ludory.envs.make import make_engine, make_game
from ludory.envs.pokemon import failures
from ludory.envs.pokemon.backends import install, v8
from ludory.envs.pokemon.backends.install import V8
from ludory.envs.pokemon.backends.sim import SimWorker
from ludory.envs.pokemon.backends.v8 import V8Worker
from ludory.envs.pokemon.backends.worker import Worker, played_out
from ludory.envs.pokemon.formats import RULES, V8_RULES
from ludory.errors import BackendError, BackendTimeout, OptionError, SnapshotError

GAME = "PokemonGen1RandomBattle-v0"
BATTLES = int(os.environ.get("LUDORY_POKEMON_COUNT", "5"))
SAME_OUTCOME = {"gen1randombattle": 0.9, "gen3randombattle": 0.9, "gen4randombattle": 0.9, "gen9randombattle": 1.0}
"""Least share of battles of the same teams, seeds and choices that end alike on both simulators."""
HASHES = Path(__file__).parents[2] / "golden" / "pokemon" / "hashes-v8.json"
"""Hash of the omniscient log of one battle per format, and of the lock that pins the simulator."""


def engine_of(games: int, game: str = GAME, **options: Any) -> Any:
    engine = make_engine(game, games, **{"seed": 1, "observation": "none", "backend": "v8"} | options)
    engine.reset()
    return engine


def chosen(engine: Any, draw: np.random.Generator) -> NDArray[np.int64]:
    legal = engine.state.legal
    actions: NDArray[np.int64] = np.where(legal, draw.random(legal.shape), -1.0).argmax(-1)[..., None]
    return actions


def hashes(engine: Any) -> list[str]:
    """Hash of each game's log, after random play to the end."""
    draws = [np.random.default_rng((0, row)) for row in range(engine.num_games)]
    while not engine.over.all():
        actions = np.zeros((engine.num_games, 2, 1), np.int64)
        for row, draw in enumerate(draws):
            actions[row, :, 0] = [draw.choice(np.flatnonzero(mask)) for mask in engine.state.legal[row]]
        engine.step(actions)
    return [engine.info(row)["log_sha256"] for row in range(engine.num_games)]


# ---- the same game


def teams_of(worker: Worker, format: str, key: str) -> tuple[str, str]:
    """Packed random teams."""
    seeds = {part: f"gen5,{hashlib.sha256(f'{key}|{part}'.encode()).hexdigest()[:16]}" for part in ("p1", "p2")}
    sides = {seat: {"seed": seed} for seat, seed in seeds.items()}
    worker.reset([{"i": 9, "format": format, "seed": seeds["p1"], **sides}])
    first, second = worker.log([9])[0]["teams"]
    return first, second


@pytest.mark.parametrize("format", SAME_OUTCOME)
def test_both_simulators_play_the_same_battles(worker: SimWorker, v8_worker: V8Worker, format: str) -> None:
    """From the same teams, seeds and choices; generation 9 without an exception."""
    different = []
    for number in range(BATTLES):
        key = f"parity {format} {number}"
        teams = teams_of(worker, format, key)
        ends = [played_out(one, format, key, teams=teams) for one in (worker, v8_worker)]
        told = [(end["winner"], end["turns"]) for end in ends]
        if told[0] != told[1]:
            different.append((number, *told))
    assert len(different) <= (1 - SAME_OUTCOME[format]) * BATTLES + (SAME_OUTCOME[format] < 1), different


def test_battles_of_the_ids_go_as_recorded(v8_worker: V8Worker) -> None:
    """One of each generation's random teams; a changed lock needs new hashes."""
    golden = json.loads(HASHES.read_text("utf-8"))
    assert golden["lock"] == install.lock_hash(V8)
    assert set(golden["log_sha256"]) == set(SAME_OUTCOME)
    for format, wanted in golden["log_sha256"].items():
        assert played_out(v8_worker, format, f"golden {format}")["log_sha256"] == wanted, format


def test_results_depend_on_the_seed_alone(bundle: Path) -> None:
    """The same battles in this process, in two worker processes, with observations, and again."""
    found = []
    for workers, observation in ((0, "none"), (2, "none"), (0, "entity"), (0, "none")):
        engine = engine_of(3, seed=5, workers=workers, observation=observation)
        found.append(hashes(engine))
        engine.close()
    assert found[0] == found[1] == found[2] == found[3]
    assert len(set(found[0])) == 3


def test_saved_and_copied_games_go_on_alike(bundle: Path, tmp_path: Path) -> None:
    engine: Any = make_engine(GAME, 2, seed=3, backend="v8")
    engine.reset()
    draw = np.random.default_rng(2)
    for _ in range(8):
        engine.step(chosen(engine, draw))
    copy = engine.gather(np.array([1, 0, 1]))
    engine.save(tmp_path / "games.npz")
    restored: Any = make_engine(GAME, 1, seed=9, backend="v8")
    restored.restore(tmp_path / "games.npz")
    np.testing.assert_array_equal(restored.entity, engine.entity)
    for _ in range(10):
        actions = chosen(engine, draw)
        engine.step(actions)
        restored.step(actions)
        copy.step(actions[[1, 0, 1]])
    logs = [log["log"] for log in engine.logs()]
    assert [log["log"] for log in restored.logs()] == logs
    assert [log["log"] for log in copy.logs()] == [logs[1], logs[0], logs[1]]
    other: Any = make_engine(GAME, 1, seed=9)
    with pytest.raises(SnapshotError, match=rf"rules of {V8_RULES}, this engine plays by {RULES}"):
        other.restore(tmp_path / "games.npz")
    for one in (engine, copy, restored, other):
        one.close()


# ---- what tells the two apart


def test_rules_are_named_and_a_difference_is_a_warning_once(bundle: Path, tmp_path: Path) -> None:
    from ludory.envs import conventions

    game = make_game(GAME, backend="v8")
    assert game.records.conventions["rules"] == V8_RULES
    assert make_game(GAME).records.conventions["rules"] == RULES
    assert make_game(make_game(GAME), backend="v8").records.conventions["rules"] == V8_RULES
    model = ludory.make_algorithm("ppo", env=game, num_envs=2, n_steps=4, batch_size=4, seed=1)
    model.learn(8)
    model.save(tmp_path / "agent.ludory")
    conventions._told.cache_clear()
    with pytest.warns(UserWarning, match=f"made with the rules of {V8_RULES}, this version plays by {RULES}"):
        ludory.make_agent(str(tmp_path / "agent.ludory"), make_game(GAME))
    conventions._told.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ludory.make_agent(str(tmp_path / "agent.ludory"), game)
        same = ludory.load(tmp_path / "agent.ludory")
    assert same.game.records.conventions["rules"] == V8_RULES
    np.testing.assert_array_equal(same.engine.turns, model.engine.turns)
    with pytest.warns(UserWarning, match="results of the two are not comparable"):  # its games begin anew
        other = type(model).load(tmp_path / "agent.ludory", env=make_game(GAME))
    assert (other.game.records.conventions["rules"], other.num_timesteps) == (RULES, model.num_timesteps)
    assert not other.sampler.started


def test_formats_that_it_lacks_are_refused_with_the_backend_that_has_them() -> None:
    with pytest.raises(
        OptionError, match=r"gen9battlefactory.*@pkmn/sim 0\.10\.11 does not play it; type backend='sim'"
    ):
        make_engine("PokemonGen9BattleFactory-v0", backend="v8")
    with pytest.raises(OptionError, match="'sim', 'v8', 'server'"):
        make_engine(GAME, backend="node")


def test_teams_are_checked_without_node(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the simulator for V8 is installed, it validates teams, and plays them."""
    from ludory.envs.pokemon import teams

    monkeypatch.setattr(teams, "runs", lambda: False)
    monkeypatch.setattr(teams, "SimWorker", None)
    with pytest.raises(OptionError, match=r"teams\[0\]:1, team 1: "):
        make_game("PokemonGen1OU-v0", teams=["Pikachu\n- Fly Away\n"])
    game = make_game(
        "PokemonGen1OU-v0", teams=["Chansey\nAbility: No Ability\n- Ice Beam\n- Thunderbolt\n"], backend="v8"
    )
    engine = make_engine(game, 1, seed=1)
    engine.reset()
    assert not engine.over.any()
    engine.close()


# ---- one process


def programs_started() -> list[str]:
    """Names of the running children of this process."""
    command = ["ps", "-o", "comm=", "--ppid", str(os.getpid())]
    return sorted(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_no_process_is_started_and_no_thread_is_left(bundle: Path) -> None:
    """Also when engines are made again and again, closed or forgotten."""
    gc.collect()
    threads, opened, programs = threading.active_count(), len(v8._contexts), programs_started()
    for number in range(3):
        engine = engine_of(2, workers=0)
        engine.step(chosen(engine, np.random.default_rng(number)))
        assert engine.pids() == []
        assert programs_started() == programs
        if number % 2:
            engine.close()
            engine.close()
            with pytest.raises(BackendError, match="closed; make a new one"):
                engine.step(np.zeros((2, 2, 1), np.int64))
    del engine
    gc.collect()
    assert len(v8._contexts) == opened
    assert threading.active_count() <= threads + 1


def test_it_runs_without_node_on_the_path(bundle: Path) -> None:
    code = (
        "import ludory\n"
        f"engine = ludory.make_engine('{GAME}', 2, seed=1, observation='none', backend='v8')\n"
        "engine.reset()\n"
        "print(engine.turns.tolist())\n"
    )
    environment = {**os.environ, "PATH": "/nowhere"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, "[1, 1]"), done.stderr


def test_closing_twice_and_asking_afterwards(bundle: Path) -> None:
    worker = V8Worker(bundle)
    worker.close()
    worker.close()
    assert worker.closed
    with pytest.raises(BackendError, match="closed"):
        worker.log([])


def test_a_loop_without_end_is_ended_in_time(bundle: Path) -> None:
    worker = V8Worker(bundle, timeout=1.0)
    worker._context.racer.eval("Simulator.Teams.import = () => { for (;;); }")
    worker.timeout = 1.0
    with pytest.raises(BackendTimeout, match="did not answer 'pack' in time"):
        worker.pack("Pikachu")
    assert worker.closed


def test_a_full_memory_ends_the_simulator_and_not_the_process(bundle: Path) -> None:
    worker = V8Worker(bundle)
    worker._context.racer.set_hard_memory_limit(300_000_000)
    worker._context.racer.eval(
        "Simulator.Teams.import = () => { for (const all = [];;) all.push(new Array(1e5).fill(0.5)); }"
    )
    with pytest.raises(BackendError, match="its memory is full; play fewer games, or with more workers"):
        worker.pack("Pikachu")
    assert worker.closed


def test_a_caller_within_an_event_loop_is_served(bundle: Path) -> None:
    async def ask() -> int:
        with V8Worker(bundle) as worker:
            return len(worker.hello["formats"]["singles"])

    assert asyncio.run(ask()) > 100


@needs_unix("Windows forks no processes")
def test_a_fork_is_refused_and_may_make_its_own(bundle: Path) -> None:
    """The copy of the worker says so, can be closed, does not hold up the end of its process, and leaves the original as it was."""
    code = f"""
import os, sys
from ludory.envs.pokemon.backends.v8 import V8Worker
from ludory.errors import BackendError
worker = V8Worker()
child = os.fork()
if child == 0:
    try:
        worker.log([])
    except BackendError as error:
        print(error, flush=True)
    with V8Worker() as own:
        print(own.hello["rules"], flush=True)
    if sys.argv[1] == "close":
        worker.close()
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(worker.hello["rules"] == "{V8_RULES}", worker.log([]))
"""
    for how in ("close", "exit"):
        done = subprocess.run([sys.executable, "-c", code, how], capture_output=True, text=True, timeout=120)
        lines = done.stdout.splitlines()
        assert "of which this is a forked copy" in lines[0], done
        assert "make a new engine here" in lines[0]
        assert lines[1:] == [V8_RULES, "7", "True []"], done
        assert done.returncode == 0, done


LEFT_OPEN = """
import os, sys
from ludory.envs.make import make_engine
if __name__ == "__main__":
    engine = make_engine("PokemonGen1RandomBattle-v0", 2, seed=1, observation="none", workers=int(sys.argv[2]), backend="v8")
    engine.reset()
    print(*engine.pool.worker_pids, flush=True)
    if sys.argv[1] == "error":
        engine.step([[[99], [99]]] * 2)
    if sys.argv[1] == "kill":
        os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize(("how", "workers"), [("exit", 0), ("error", 0), ("kill", 0), ("exit", 2), ("kill", 2)])
def test_an_engine_left_open_ends_with_its_program(bundle: Path, how: str, workers: int, tmp_path: Path) -> None:
    program = tmp_path / "program.py"  # spawned workers read it again
    program.write_text(LEFT_OPEN)
    done = subprocess.run(
        [sys.executable, str(program), how, str(workers)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120,
    )  # fmt: skip
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == workers
    assert done.returncode == {"exit": 0, "error": 1, "kill": -9}[how]
    end = threading.Event()
    for _ in range(100):
        if not any(_alive(pid) for pid in pids):
            break
        end.wait(0.1)
    assert not any(_alive(pid) for pid in pids)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_battle_that_crashes_is_recorded_and_plays_again(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other battles go on; the message has the command, which names the backend."""
    monkeypatch.setattr(failures, "failure_folder", lambda: tmp_path / "crashes")
    engine = engine_of(3, observation="entity", on_crash="restart")
    draw = np.random.default_rng(4)
    for _ in range(4):
        engine.step(chosen(engine, draw))
    lane = engine.pool.block
    worker = lane.shared.worker()
    content = json.loads(worker.export([1 + lane._first])[0])
    for side in content["state"]["sides"]:
        for pokemon in side["pokemon"]:
            pokemon["modifiedStats"] = None
    worker.import_games({1 + lane._first: json.dumps(content)})
    while not engine.truncated.any():
        engine.step(chosen(engine, draw))
        assert not engine.over[[0, 2]].any()
    assert engine.truncated.tolist() == [False, True, False]
    (file,) = (tmp_path / "crashes").iterdir()
    assert f"ludory pokemon resimulate {file} --backend v8" in str(engine.pool.last_error)
    engine.reset(np.array([1]))
    engine.step(chosen(engine, draw))
    assert not engine.over.any()
    engine.close()
    assert len(list(read_battles(file))) == 1
    assert main(["pokemon", "resimulate", str(file), "--backend", "v8"]) == 0
    assert "plays again without a fault" in capsys.readouterr().out


def test_the_hash_of_texts_is_sha256(v8_worker: V8Worker) -> None:
    """Also at the ends of blocks, and for letters of one to four bytes."""
    racer = v8_worker._context.racer
    for text in (
        "",
        "abc",
        "é",
        "Flabébé|💥|\u2640",
        "ü" * 999,
        *("a" * count for count in (55, 56, 63, 64, 65, 119, 120)),
    ):
        assert racer.eval(f"require('./sha256.js')({json.dumps(text)})") == hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":  # writes the hashes of the installed simulator
    with V8Worker() as started, atomic_file(HASHES, "w") as handle:
        found = {format: played_out(started, format, f"golden {format}")["log_sha256"] for format in SAME_OUTCOME}
        handle.write(json.dumps({"lock": install.lock_hash(V8), "log_sha256": found}, indent=2) + "\n")
