"""`ludory.register` gives a game an id in one process, and `--plugin FILE` does so for a command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ludory
from ludory.cli import main
from ludory.errors import PluginError

MINE = "import ludory\nfrom games.high_card import HIGH_CARD\nludory.register('Mine-v0', HIGH_CARD, 'a card game')\n"


def python(*arguments: str) -> str:
    """What a process of its own prints; it finds the games of the tests."""
    tests = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": tests}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_registered_game_is_made_by_its_id_everywhere() -> None:
    told = python(
        "-c",
        f"""{MINE}
import gymnasium, pettingzoo
gymnasium.make("Mine-v0").reset(seed=1)
pettingzoo.make("aec", "ludory/mine-v0").reset(seed=1)
ludory.register("Later-v0", lambda: HIGH_CARD)
gymnasium.make("Later-v0").reset(seed=1)
print(ludory.make_game("Later").id, ludory.make_algorithm("ppo", "Mine-v0", num_envs=2).game.id)
""",
    )
    assert told.split() == ["Later-v0", "Mine-v0"]


@pytest.mark.slow
def test_a_command_knows_what_a_plugin_file_registers(tmp_path: Path) -> None:
    (tmp_path / "my_card_game.py").write_text(MINE)
    told = python("-m", "ludory", "--plugin", str(tmp_path / "my_card_game.py"), "list", "games")
    assert "Mine-v0" in told
    assert "a card game" in told


@pytest.mark.slow
def test_commands_to_type_next_have_the_plugin_file(tmp_path: Path) -> None:
    file, out = tmp_path / "my_card_game.py", str(tmp_path / "games")
    file.write_text(MINE)
    record = ["record", "random", "--game", "Mine-v0", "--games", "2", "--out", out]
    told = python("-m", "ludory", "--plugin", str(file), *record)
    assert f"ludory --plugin {file} watch {out}" in told
    assert "--plugin" not in python(
        "-m", "ludory", "record", "random", "--game", "KuhnPoker-v0", *record[4:6], "--out", f"{out}-2"
    )


STARTS = """
import multiprocessing, subprocess, sys
import ludory
from games.high_card import HIGH_CARD

ludory.register("Mine-v0", HIGH_CARD)

def told():
    return ludory.make_game("Mine").id

def run(argv):
    ask = "import ludory; print(ludory.make_game('Mine').id, 'Mine-v0' in ludory.plugins.games)"
    print(subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout)
    print(subprocess.run([sys.executable, "-m", "ludory", "list", "games"], capture_output=True, text=True).stdout)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(told))
    return 0

if "starts" not in ludory.plugins.commands:
    ludory.plugins.commands.add("starts", sys.modules[__name__])
"""


@pytest.mark.slow
def test_processes_that_a_command_starts_know_the_plugin_file(tmp_path: Path) -> None:
    (tmp_path / "my_starting_game.py").write_text(STARTS)
    told = python("-m", "ludory", "--plugin", str(tmp_path / "my_starting_game.py"), "starts").splitlines()
    assert told[0] == "Mine-v0 True"
    assert told[-1] == "Mine-v0"
    assert any(line.startswith("  Mine-v0 ") for line in told)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("missing.py", None, "must be a file of Python with a name such as my_game.py"),
        ("two words.py", "", "must be a file of Python with a name such as my_game.py"),
        ("random.py", "", "Python has another module 'random'; rename the file"),
        ("breaks_at_once.py", "1 / 0", "is broken (ZeroDivisionError: division by zero); mend it"),
    ],
)
def test_a_plugin_file_that_cannot_be_used_is_named(
    name: str, text: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    assert main(["--plugin", str(tmp_path / name), "list", "games"]) != 0
    assert said in capsys.readouterr().err


def test_what_is_no_game_is_not_registered() -> None:
    with pytest.raises(PluginError, match="'Mine-v0' is a int, must be a function"):
        ludory.register("Mine-v0", 3)  # type: ignore[arg-type]
