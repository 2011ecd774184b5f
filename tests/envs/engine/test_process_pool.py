"""Environments in worker processes: the same games as in this process, and what happens when one of them fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from games.external import DIE, FAIL, HANG, guess

from ludory.envs.engine.external import ExternalEngine
from ludory.envs.make import make_engine
from ludory.errors import OptionError, WorkerError


def played(workers: int) -> list[np.ndarray]:
    engine = make_engine(guess(), 5, seed=3, workers=workers)
    engine.reset()
    seen = [engine.observe()]
    for step in range(5):
        engine.step(np.arange(5) % 2)
        seen += [engine.rewards, engine.terminated, engine.observe()]
        if step == 2:
            engine.reset(np.array([1, 4]))
    engine.close()
    return seen


@pytest.mark.slow
def test_workers_play_the_games_of_this_process(children):
    alone, shared = played(0), played(2)
    assert all((mine == theirs).all() for mine, theirs in zip(alone, shared, strict=True))
    assert not children()


def broken(action: int, **options) -> ExternalEngine:
    """Four games on two workers, of which game 1, on the first, is broken by its third action."""
    engine = make_engine(guess(breakable=True), 4, seed=0, workers=2, **options)
    engine.reset()
    for move in (0, 1):
        engine.step(np.array([0, move, 0, 0]))
    engine.step(np.array([0, action, 0, 0]))
    return engine


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "words"),
    [
        (DIE, "worker 0 of 2, with the environments 0..1, died with exit code 7"),
        (HANG, "worker 0 of 2, with the environments 0..1, did not answer within 0.5 seconds"),
    ],
)
def test_a_lost_worker_is_named_with_the_last_actions_of_its_environments(action, words, children):
    with pytest.raises(WorkerError) as caught:
        broken(action, worker_timeout=0.5 if action == HANG else 60.0)
    assert words in str(caught.value)
    assert f"environment 1, last actions [0, 1, {action}]" in str(caught.value)
    assert not children()


@pytest.mark.slow
def test_games_of_a_lost_worker_end_truncated_and_the_next_ones_are_played():
    engine = broken(DIE, on_crash="restart")
    assert engine.truncated.tolist() == [True, True, False, False]
    assert engine.terminated.tolist() == [False, False, True, True]
    assert engine.rewards[:2].sum() == 0
    engine.reset()
    engine.step(np.zeros(4, np.int64))
    assert not engine.truncated.any()
    engine.close()


@pytest.mark.slow
def test_an_error_in_an_environment_is_told_and_leaves_the_others_alone():
    with pytest.raises(WorkerError, match=r"environment 1 failed after the actions \[0, 1, 4\]:(.|\n)*a broken rule"):
        broken(FAIL)
    engine = broken(FAIL, on_crash="restart")
    assert engine.truncated.tolist() == [False, True, False, False]
    engine.close()


@pytest.mark.slow
def test_a_program_without_a_main_guard_uses_workers_and_ends_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from ludory.envs.engine.pool_worker import ArraySpec\n"
        "from ludory.envs.engine.process_pool import ProcessPool\n"
        "class Echo:\n"
        "    def step(self, action, row): row.seen[...] = action\n"
        "    def close(self): pass\n"
        "pool = ProcessPool([Echo] * 2, {'seen': ArraySpec((), 'int64')}, ArraySpec((), 'int64'), workers=2)\n"
        "pool.step(np.arange(2), np.array([4, 5]))\n"
        "print(pool.arrays['seen'].tolist(), *[worker.process.pid for worker in pool._workers])\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    seen, pids = done.stdout.split("]")
    assert (seen, done.stderr) == ("[4, 5", "")
    for pid in pids.split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_a_program_that_is_stopped(how, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import signal\n"
        "import numpy as np\n"
        "from ludory.envs.engine.pool_worker import ArraySpec\n"
        "from ludory.envs.engine.process_pool import ProcessPool\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background has it switched off
        "class Slow:\n"
        "    def step(self, action, row):\n"
        "        import time\n"
        "        time.sleep(0.01)\n"
        "    def close(self): pass\n"
        "pool = ProcessPool([Slow] * 2, {'seen': ArraySpec((), 'int64')}, ArraySpec((), 'int64'), workers=2)\n"
        "print(*[worker.process.pid for worker in pool._workers], flush=True)\n"
        "while True: pool.step(np.arange(2), np.zeros(2, np.int64))\n"
    )
    program = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert program.stdout is not None
    pids = [int(pid) for pid in program.stdout.readline().split()]
    if how == signal.SIGINT:
        os.killpg(program.pid, how)  # as a terminal does
    else:
        program.kill()
    _, said = program.communicate(timeout=30)
    assert len(pids) == 2
    assert "Traceback" not in said.replace("Traceback", "", 1)  # of the program itself, and of no worker
    end = time.monotonic() + 120
    while (alive := [pid for pid in pids if Path(f"/proc/{pid}").exists()]) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive


def test_options_of_the_pool_are_checked():
    for name, value in {"workers": -1, "worker_timeout": 0, "on_crash": "ignore"}.items():
        with pytest.raises(OptionError, match=name):
            make_engine(guess(), 1, **{name: value})
