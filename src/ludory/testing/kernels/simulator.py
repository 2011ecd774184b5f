"""The property that CUDA kernels play the same games as the CPU, tested in Numba's CUDA simulator without a GPU.

The simulator must be selected before Numba is imported, so it runs in a process of its own: `python -m ludory.testing.kernels.simulator FILE`.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ludory.envs import Engine, Game, make_game
from ludory.errors import ConformanceError
from ludory.plugins import games
from ludory.testing.recording import Array, Moment, Recording, compare, look, record, replay, to_numpy
from ludory.testing.trial import Trial, require

GAMES, MOST_MOVES, ASKED_EVERY = 3, 12, 4
"""Kept small, since the simulator runs every GPU thread as a Python thread."""


class GameAddress(NamedTuple):
    """How another process finds a game: by its id, or as a value in a module."""

    id: str
    options: dict[str, Any]
    module: str
    attribute: str

    def load(self) -> Game:
        """The game."""
        if self.id:
            return make_game(self.id, **self.options)
        game: Game = getattr(import_module(self.module), self.attribute)
        return game


class SimulatorTask(NamedTuple):
    """What the other process has to repeat."""

    game: GameAddress
    seed: int
    recording: Recording
    redealt: list[Moment]  # after redeal(seat) at the start, by seat
    asked: dict[int, dict[str, Array]]  # `used` and `critic`, by step


def cuda_simulator_agrees(trial: Trial) -> str | None:
    """In Numba's CUDA simulator the kernels play the same games as the CPU engine, bit for bit."""
    if trial.cuda == "skip":
        return "not asked for"
    if find_spec("numba_cuda") is None:
        return 'numba-cuda is not installed; type pip install "ludory[cuda]"'
    address = address_of(trial.game)
    if address is None:
        return "the game has no id and is no value of a module, so no other process can make it"
    recording = _recorded(trial)
    asked = dict(_asked(trial.engine(games=GAMES), recording))
    _run(SimulatorTask(address, trial.seed, recording, _redealt(trial), asked))
    return None


def address_of(game: Game) -> GameAddress | None:
    """Address of `game` for another process; None if there is none."""
    if game.id in games.ids():
        return GameAddress(game.id, dict(game.options), "", "")
    name = game.needed_kernels("the CUDA simulator").step.__module__
    values = vars(sys.modules[name]) if name in sys.modules and name != "__main__" else {}
    attribute = next((attribute for attribute, value in values.items() if value is game), None)
    return GameAddress("", {}, name, attribute) if attribute else None


def _recorded(trial: Trial) -> Recording:
    whole = record(trial.engine(games=GAMES), trial.generator("simulator"))
    return Recording(whole.moments[: MOST_MOVES + 1], whole.actions[:MOST_MOVES])


def _redealt(trial: Trial) -> list[Moment]:
    moments = []
    for seat in range(trial.facts.players) if trial.game.redeals else ():
        engine = trial.engine(games=GAMES)
        engine.redeal(seat, trial.seed)
        moments.append(look(engine))
    return moments


def _asked(engine: Engine, recording: Recording) -> Iterator[tuple[int, dict[str, Array]]]:
    """`used` and `critic` at every few moves of a recording."""
    for step, actions in enumerate(recording.actions):
        if step % ASKED_EVERY == 0:
            yield step, {"used": to_numpy(engine.used(actions)), "critic": to_numpy(engine.critic())}
        engine.step(actions)


def _run(task: SimulatorTask) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "task"
        file.write_bytes(pickle.dumps(task))
        path = os.pathsep.join(filter(None, sys.path))
        chosen = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
        command = [sys.executable, "-m", "ludory.testing.kernels.simulator", str(file)]
        done = subprocess.run(command, env=os.environ | chosen, capture_output=True, encoding="utf-8", errors="replace")
    lines = done.stderr.strip().splitlines()
    require(done.returncode == 0, lines[-1] if lines else f"the simulator ended with exit code {done.returncode}")


def simulate(task: SimulatorTask) -> None:
    """Repeat `task` in the simulator.

    Raises:
        ConformanceError: the simulator differs from the CPU.
    """
    from ludory.envs.engine.cuda_engine import CudaEngine

    game = task.game.load()
    engine = CudaEngine(game, GAMES, task.seed)
    engine.reset()
    for seat, moment in enumerate(task.redealt):
        copy = engine.clone()
        copy.redeal(seat, task.seed)
        compare(game.facts, look(copy), moment, f"redeal({seat}) in the CUDA simulator")
    for step, answers in _asked(engine.clone(), task.recording):
        for name, answer in answers.items():
            same = np.array_equal(answer, task.asked[step][name])
            require(same, f"step {step}: {name}() in the CUDA simulator differs from the CPU's")
    order = [GAMES - 1, 0]
    part = engine.gather(order)
    replay(engine, task.recording, what="CUDA simulator")
    replay(part, task.recording.rows(order), what="CUDA simulator, gathered games")


def main(file: str) -> int:
    """Repeat the task in `file`; on a difference, print it to stderr and return exit code 1."""
    try:
        simulate(pickle.loads(Path(file).read_bytes()))
    except ConformanceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
