"""Rules as plain Python: the games of compiled code bit for bit, with break points, `print` and tracebacks that name lines."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from pathlib import Path

import gymnasium
import numpy as np
import pettingzoo
import pytest
from games.digests import digests
from games.own_games import ONE_OF_EACH, OWN

from ludory.agents.draws import uniforms
from ludory.envs.engine.binding import plain_kernels
from ludory.envs.engine.binding.checked_cache import compiled_elsewhere
from ludory.envs.make import make_engine, make_game
from ludory.errors import OptionError
from ludory.testing import check_game, plain_rules

QUICK = ("ConnectFour-v0", "LeducPoker-v0")
"""Those that are compiled in no time."""


@pytest.mark.parametrize("id", [pytest.param(id, marks=[] if id in QUICK else pytest.mark.slow) for id in OWN])
def test_plain_python_plays_the_same_games_bit_for_bit(id):
    assert digests(id, 50, compiled=False) == digests(id, 50, compiled=True)


ALL_OF_THEM = """
import sys
from games.digests import digests
for id in sys.argv[1:]:
    print(digests(id, 50)[-1])
"""


@pytest.mark.parametrize(
    "ids", [("Hanabi3P-v0", "FrozenLakeRagen1-v0"), pytest.param(ONE_OF_EACH, marks=pytest.mark.slow)]
)
def test_without_the_compiler_a_process_plays_the_same_games(ids):
    tests = str(Path(__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", ALL_OF_THEM, *ids],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": tests},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [digests(id, 50)[-1] for id in ids]
    assert "compiling" not in run.stderr


BOT_AND_SEARCH = """
import ludory
for agents, game in ((["hanabi/iggi", "hanabi/piers"], "HanabiTiny2P-v0"), (["mcts(simulations=3)", "random"], "TicTacToe-v0")):
    print(ludory.evaluate(agents, game=game, games=2, seed=1).summary())
"""


@pytest.mark.slow
def test_without_the_compiler_bots_and_searches_play_too():
    run = [
        subprocess.run(
            [sys.executable, "-c", BOT_AND_SEARCH], env=os.environ | extra, capture_output=True, text=True, check=True
        ).stdout
        for extra in ({"NUMBA_DISABLE_JIT": "1"}, {})
    ]
    assert run[0] == run[1]


RULES = """
from ludory.envs import begin_episode, kernel


@kernel
def reset(state, i):
    begin_episode(state, i)
    state.count[i] = 0
    state.to_move[i] = 0
    state.terminated[i] = False


@kernel
def legal(state, i, seat, mask):
    mask[0] = True


@kernel
def step(state, i, action):
    state.count[i] += 1
    {line}
    state.terminated[i] = int(state.count[i]) == 3


@kernel
def observe(state, i, seat, out):
    out[0] = int(state.count[i])
"""
PLAY = """
from ludory.envs import (
    Field, Game, GameFacts, Head, Kernels, ObservationSpec, Rules, flat_segments, header, make_engine
)
from rules import legal, observe, reset, step
seen = ObservationSpec("count", (1,), "uint8", flat_segments({"count": 1}), high=3)
facts = GameFacts("Count", 1, "sequential", "general", False, False, (Head("add", 1),), seen, 3, 0, 0)
rules = Rules(header(1) | {"count": Field("int8", low=0, high=3)}, Kernels(reset, step, legal, observe))
count = Game(facts, rules)
engine = make_engine(count, compiled=False, seed=1)
engine.reset()
engine.step([0])
print("end of the program")
"""


def program(folder: Path, line: str) -> Path:
    """A program that plays a game whose rule `step` has this line, in a file of its own."""
    (folder / "rules.py").write_text(RULES.format(line=line))
    (folder / "play.py").write_text(PLAY)
    return folder / "play.py"


def python(file: Path, *debugger: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program in its folder."""
    words = [sys.executable, *debugger, file.name]
    return subprocess.run(words, cwd=file.parent, input=typed, capture_output=True, text=True)


def test_a_debugger_stops_in_a_rule(tmp_path):
    file = program(tmp_path, "seen_by_the_debugger = int(state.count[i])")
    line = (tmp_path / "rules.py").read_text().splitlines().index("    state.count[i] += 1") + 2
    typed = f"break rules.py:{line}\ncontinue\np state.count[i] + 40\ncontinue\nquit\n"
    run = python(file, "-m", "pdb", typed=typed)
    assert f"rules.py({line})step()" in run.stdout
    assert "41" in run.stdout
    assert "end of the program" in run.stdout


@pytest.mark.slow
def test_a_break_point_in_a_rule_stops_there(tmp_path):
    run = python(program(tmp_path, "breakpoint()"), typed="p state.count[i] + 40\ncontinue\n")
    assert "step()" in run.stdout
    assert "41" in run.stdout


@pytest.mark.slow
def test_print_prints_and_an_error_names_its_line(tmp_path):
    run = python(program(tmp_path, 'print("count", state.count[i]); state.rewards[i, 1] = 1'))
    assert "count 1" in run.stdout
    assert "rules.py" in run.stderr
    assert "state.rewards[i, 1] = 1" in run.stderr
    assert "IndexError: index 1 is out of bounds" in run.stderr


def test_nothing_is_compiled():
    with compiled_elsewhere():  # were something compiled, this would raise
        engine = make_engine("Go9-v0", seed=2, compiled=False)
        engine.reset()
        engine.step([3])
        engine.clone().step([4])
        engine.gather([0, 0]).step([4, 5])


def test_environments_made_within_plain_rules_run_plain_python():
    uniforms(np.zeros(1, np.int64), np.zeros(1, np.int64), 1)  # compiled for random opponents, and no rule of a game
    with plain_rules(), compiled_elsewhere():
        env = gymnasium.make("Go9-v0")
        _, info = env.reset(seed=1)
        env.step(int(np.flatnonzero(info["action_mask"])[0]))
        agents = pettingzoo.make("aec", "ludory/go9-v0")
        agents.reset(seed=1)
        agents.step(0)
    assert make_engine("Go9-v0").compiled


@pytest.mark.slow
def test_the_checker_compiles_nothing_if_asked():
    remarks = {}
    with compiled_elsewhere():
        check_game(
            make_game("KuhnPoker-v0"),
            games=3,
            compiled=False,
            report=lambda name, ok, message: remarks.update({name: (ok, message)}),
        )
    assert all(ok for ok, _ in remarks.values()), remarks
    assert remarks["kernels"] == (True, "not asked for")


def test_what_is_not_compiled_by_ludory_is_refused():
    with pytest.raises(OptionError, match="compiled=False: the rules of gymnasium:CartPole-v1 run elsewhere"):
        make_engine("gymnasium:CartPole-v1", compiled=False)
    with pytest.raises(OptionError, match="compiled=False: device 'cuda' runs compiled code"):
        make_engine("Go9-v0", device="cuda", compiled=False)


def test_fields_of_a_plain_state_show_their_values():
    engine = make_engine("TicTacToe-v0", seed=1, compiled=False)
    engine.reset()
    wide = plain_kernels.wide(engine.state)
    assert repr(wide.to_move) == repr(engine.state.to_move)
    assert np.asarray(wide.to_move).tolist() == [0]


def test_a_traceback_shows_the_line_of_the_rule(tmp_path, monkeypatch):
    program(tmp_path, "state.rewards[i, 5] = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(IndexError) as raised:
        exec((tmp_path / "play.py").read_text(), {})
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert ("rules.py", "step", "state.rewards[i, 5] = 1") in [
        (Path(frame.filename).name, frame.name, frame.line) for frame in frames
    ]
