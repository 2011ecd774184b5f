"""Compiled kernels are kept on disk, and an edited rule is noticed."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from games.high_card import HIGH_CARD, observe
from support.windows.unix import needs_unix

from ludory.envs.engine.binding.bind import bind, cache_directory, source_hash
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.kernels import kernel
from ludory.errors import OutputError

GAME = """
from ludory.envs.facts import GameFacts, Head, ObservationSpec
from ludory.envs.game import Game
from ludory.envs.parts import Field, Kernels, header
from ludory.envs.kernels import kernel

PRIZE = 2


@kernel
def prize(state, i):
    return PRIZE


@kernel
def reset(state, i):
    state.to_move[i] = 0
    state.terminated[i] = False


@kernel
def step(state, i, action):
    state.rewards[i, 0] = action * prize(state, i)
    state.terminated[i] = True


@kernel
def legal(state, i, seat, mask):
    mask[1] = True


@kernel
def observe(state, i, seat, out):
    out[0] = 1


FACTS = GameFacts(
    "Prize", 1, "sequential", "shared", False, False, (Head("take", 2),), ObservationSpec("one", (1,), "uint8", ()), 1, 0, 9
)
GAME = Game(FACTS, header(1), Kernels(reset, step, legal, observe), lambda head, action: str(action))
"""

PLAY = """
import json, prize_game
from ludory.envs.engine.kernel_engine import KernelEngine

engine = KernelEngine(prize_game.GAME, 2, seed=1)  # the legal move of a single game is checked without a kernel
engine.reset()
engine.step([1, 1])
kernels = (engine._bound.reset_rows, engine._bound.step_rows, engine._bound.first_illegal)
misses = sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels)
print(json.dumps({"reward": float(engine.rewards[0, 0]), "compiled": misses}))
"""


@pytest.fixture
def play(tmp_path):
    """Writes the rules to a module file and plays them in a new process: (reward, number of kernels compiled)."""

    def play_in_a_new_process(rules):
        (tmp_path / "prize_game.py").write_text(rules)
        paths = {
            "LUDORY_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run([sys.executable, "-c", PLAY], env=os.environ | paths, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        return result["reward"], result["compiled"], done.stderr

    return play_in_a_new_process


@pytest.mark.slow
def test_an_edited_rule_is_seen_and_unchanged_ones_are_loaded(play):
    reward, compiled, notice = play(GAME)
    assert (reward, compiled) == (2, 3)
    assert "compiling" in notice
    assert play(GAME) == (2, 0, "")
    assert play(GAME + "\n# a comment behind the rules\n") == (2, 0, "")
    assert play(GAME.replace("PRIZE = 2", "PRIZE = 3"))[:2] == (3, 3)
    assert play(GAME.replace("return PRIZE", "return PRIZE + 5"))[:2] == (7, 3)
    assert play(GAME) == (2, 0, "")


@pytest.mark.slow
def test_damaged_files_of_the_cache_are_rebuilt_and_nobody_else_may_read_or_write_them(play, tmp_path):
    folder = tmp_path / "cache" / "kernels"
    folder.mkdir(parents=True, mode=0o777)
    play(GAME)
    (bound,) = folder.glob("*.py")
    (index,) = folder.glob("__pycache__/*reset_rows*.nbi")
    (data,) = folder.glob("__pycache__/*step_rows*.nbc")
    (flipped,) = folder.glob("__pycache__/*first_illegal*.nbc")
    for file in (bound, index, data):
        os.truncate(file, file.stat().st_size // 2)
    code = bytearray(flipped.read_bytes())
    code[len(code) // 2] ^= 1
    flipped.write_bytes(code)
    points, compiled, said = play(GAME)
    assert (points, compiled) == (2, 3)
    assert said == "ludory: compiling this game's kernels, once on this machine (a few seconds)\n"
    assert play(GAME) == (2, 0, "")
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.glob("*.py"), *folder.glob("*/*.nb?")))


def test_a_cache_that_can_not_be_written_is_done_without(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("ludory.envs.engine.binding.bind.atomic_file", lambda *args, **options: full_disk())
    kernels = {name: kernel for name, kernel in HIGH_CARD.rules.kernels._asdict().items() if kernel}
    bound = bind("bot_cpu", kernels, np.dtype([("one", "i1")]))
    assert "no space left: this game's kernels are compiled in memory" in capsys.readouterr().err
    assert bound.__name__.endswith("uncached")


def full_disk():
    raise OSError("no space left")


@pytest.mark.slow
def test_several_processes_can_bind_the_same_game_at_once(tmp_path):
    (tmp_path / "prize_game.py").write_text(GAME)
    paths = {
        "LUDORY_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    command = [sys.executable, "-c", PLAY]
    running = [subprocess.Popen(command, env=os.environ | paths, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [json.loads(process.communicate()[0])["reward"] for process in running] == [2, 2]


# --- What the hash sees ---------------------------------------------------------------------------------------------------

REACHES = """
import enum
import numpy as np
import other_rules
from other_rules import other
from ludory.envs.kernels import kernel

NUMBER, TABLE, PAIR = 1, np.arange(3), (1, 2)


class Color(enum.IntEnum):
    RED = 1


def made(n):
    @kernel
    def enclosed(state, i):
        return n

    return enclosed


enclosed = made(5)


@kernel
def inner(state, i):
    return 10


@kernel
def rule(state, i):
    total = NUMBER + TABLE[0] + PAIR[1] + Color.RED + other(state, i) + other_rules.another(state, i)
    return total + inner(state, i) + enclosed(state, i)
"""

OTHER = """
from ludory.envs.kernels import kernel

LIMIT = 7


@kernel
def other(state, i):
    return 20


@kernel
def another(state, i):
    return LIMIT
"""


def hash_of(tmp_path, monkeypatch, rules, other):
    for name, source in (("other_rules", other), ("rules", rules)):
        file = tmp_path / f"{name}_{abs(hash((rules, other)))}.py"
        file.write_text(source)
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
    return source_hash("template", [module.rule])


@pytest.mark.parametrize(
    "edit",
    [
        ("NUMBER, TABLE, PAIR = 1,", "NUMBER, TABLE, PAIR = 2,"),
        ("np.arange(3)", "np.arange(3) + 1"),
        ("(1, 2)", "(1, 3)"),
        ("RED = 1", "RED = 2"),
        ("made(5)", "made(6)"),
        ("return 10", "return 11"),
        ("PAIR[1] +", "PAIR[0] +"),
        ("return 20", "return 21"),
        ("LIMIT = 7", "LIMIT = 8"),
    ],
)
def test_the_hash_changes_with_all_that_a_kernel_reaches(tmp_path, monkeypatch, edit):
    before = hash_of(tmp_path, monkeypatch, REACHES, OTHER)
    assert hash_of(tmp_path, monkeypatch, REACHES.replace(*edit), OTHER.replace(*edit)) != before
    assert hash_of(tmp_path, monkeypatch, REACHES + "\nUNUSED = 1\n", OTHER) == before


# --- Kernels that no file holds -------------------------------------------------------------------------------------------


def test_kernels_of_a_closure_are_compiled_in_memory():
    def with_mark(mark):
        @kernel
        def marked(state, i, seat, out):
            observe(state, i, seat, out)
            out[0] = mark

        return replace(
            HIGH_CARD, rules=replace(HIGH_CARD.rules, kernels=HIGH_CARD.rules.kernels._replace(observe=marked))
        )

    for mark in (0, 1):
        engine = KernelEngine(with_mark(mark), 8, seed=1)
        engine.reset()
        assert (engine.observe(0)[:, 0] == mark).all()
        assert (engine.clone().observe(0)[:, 0] == mark).all()


def test_the_cache_folder_is_named_by_the_environment_or_a_temporary_one(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path / "named"))
    assert cache_directory() == tmp_path / "named" / "kernels"
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cache_directory().parent == tmp_path
    monkeypatch.delenv("LUDORY_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert cache_directory() == tmp_path / "user" / "ludory" / "kernels"


@needs_unix("Windows tells no owner of a folder")
def test_a_cache_folder_that_somebody_else_may_have_chosen_is_not_used(tmp_path, monkeypatch, capsys):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "named").mkdir()
    (tmp_path / "named" / "kernels").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path / "named"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cache_directory() == tmp_path / f"ludory-kernels-{os.getuid()}"
    assert capsys.readouterr().err.count("is a symbolic link, so ") == 1
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    with pytest.raises(OutputError, match="belongs to another user; set LUDORY_CACHE_DIR to a folder of your own"):
        cache_directory()


@pytest.mark.slow
def test_the_bound_file_is_shown_on_demand(play, tmp_path, monkeypatch):
    play(GAME)
    monkeypatch.setenv("LUDORY_SHOW_BOUND", "1")
    *_, notice = play(GAME)
    (bound,) = (tmp_path / "cache" / "kernels").glob("batch_cpu_*.py")
    assert notice == f"ludory: bound file: {bound}\n"
    assert "from prize_game import step as step" in bound.read_text()
