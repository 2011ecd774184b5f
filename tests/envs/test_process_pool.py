"""Environments in worker processes: the same games as in this process, and what happens when one of them fails."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest

from ludory.envs.external import ExternalEngine
from ludory.envs.game import Game, GameFacts, Head, ObservationSpec, Segment
from ludory.envs.make import make_engine
from ludory.envs.pooled_engine import POOL_OPTIONS, PooledEngine
from ludory.errors import OptionError, WorkerError

DIE, HANG, FAIL = 2, 3, 4
"""Actions that break an environment; 0 and 1 are guesses."""


class Guess:
    """Guess three bits of the seed, one point each; the third guess ends the game."""

    def reset(self, seed, options, row):
        self.bits = [seed >> k & 1 for k in range(3)]
        row.observations[0, :] = self.bits

    def step(self, action, row):
        guess = int(action[0])
        if guess == DIE:
            os._exit(7)
        if guess == HANG:
            time.sleep(60)
        if guess == FAIL:
            raise ValueError("a broken rule")
        row.rewards[0] = guess == self.bits.pop(0)
        row.terminated[...] = not self.bits

    def close(self):
        pass


def guess() -> Game:
    spec = ObservationSpec("bits", (3,), "uint8", (Segment("bits", 0, 3),))
    facts = GameFacts("guess", 1, "sequential", "general", False, True, (Head("guess", 5),), spec, 3, 0, 3)
    return Game(facts, engine=partial(PooledEngine, environment=Guess), engine_options=POOL_OPTIONS)


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


def test_workers_play_the_games_of_this_process():
    alone, shared = played(0), played(2)
    assert all((mine == theirs).all() for mine, theirs in zip(alone, shared, strict=True))
    assert not multiprocessing.active_children()


def broken(action: int, **options) -> ExternalEngine:
    """Four games on two workers, of which game 1, on the first, is broken by its third action."""
    engine = make_engine(guess(), 4, seed=0, workers=2, **options)
    engine.reset()
    for move in (0, 1):
        engine.step(np.array([0, move, 0, 0]))
    engine.step(np.array([0, action, 0, 0]))
    return engine


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (DIE, "worker 0 of 2, with the environments 0..1, died with exit code 7"),
        (HANG, "worker 0 of 2, with the environments 0..1, did not answer within 0.5 seconds"),
    ],
)
def test_a_lost_worker_is_named_with_the_last_actions_of_its_environments(action, words):
    with pytest.raises(WorkerError) as caught:
        broken(action, worker_timeout=0.5 if action == HANG else 60.0)
    assert words in str(caught.value)
    assert f"environment 1, last actions [0, 1, {action}]" in str(caught.value)
    assert not multiprocessing.active_children()


def test_games_of_a_lost_worker_end_truncated_and_the_next_ones_are_played():
    engine = broken(DIE, on_crash="restart")
    assert engine.truncated.tolist() == [True, True, False, False]
    assert engine.terminated.tolist() == [False, False, True, True]
    assert engine.rewards[:2].sum() == 0
    engine.reset()
    engine.step(np.zeros(4, np.int64))
    assert not engine.truncated.any()
    engine.close()


def test_an_error_in_an_environment_is_told_and_leaves_the_others_alone():
    with pytest.raises(WorkerError, match=r"environment 1 failed after the actions \[0, 1, 4\]:(.|\n)*a broken rule"):
        broken(FAIL)
    engine = broken(FAIL, on_crash="restart")
    assert engine.truncated.tolist() == [False, True, False, False]
    engine.close()


def test_a_program_without_a_main_guard_uses_workers_and_ends_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from ludory.envs.pool_worker import ArraySpec\n"
        "from ludory.envs.process_pool import ProcessPool\n"
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


def test_options_of_the_pool_are_checked():
    for name, value in {"workers": -1, "worker_timeout": 0, "on_crash": "ignore"}.items():
        with pytest.raises(OptionError, match=name):
            make_engine(guess(), 1, **{name: value})
