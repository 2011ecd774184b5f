"""The command finds its verbs lazily, and gives each its arguments. What it says of errors: test_guard.py."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from types import SimpleNamespace

import pytest
from python_process import python

from ludory import plugins
from ludory.cli import main
from ludory.cli.common.old_spellings import NEW, respelt
from ludory.errors import OptionError
from ludory.plugins import Entry, builtin

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[list[str]], int]], None]:
    """Makes every command run the given function."""

    def put(run: Callable[[list[str]], int]) -> None:
        monkeypatch.setattr(plugins.commands, "load", lambda id: SimpleNamespace(run=run))

    return put


def test_help_names_every_command_and_imports_none() -> None:
    code = """
import sys
from ludory.cli import main
from ludory.plugins import commands
assert main(["--help"]) == 0
print("imported:", *[commands.get(id).target for id in commands.ids() if commands.get(id).target in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "imported:"
    for entry in builtin.COMMANDS:
        assert f"  {entry.id} " in done.stdout
        assert entry.summary in done.stdout


def test_no_command_is_answered_with_the_help(capsys: Capture) -> None:
    assert main([]) == 2
    assert "usage: ludory" in capsys.readouterr().out


def test_the_version_is_that_of_the_distribution(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ludory {version('ludory')}\n"


@pytest.mark.parametrize("module", ["ludory", "ludory.cli"])
def test_python_m_is_the_command_too(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ludory ")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("lits", "did you mean 'list'"),
        ("--verson", "unknown option '--verson'; did you mean --version"),
        ("xyzzy", "ludory list commands"),
    ],
)
def test_a_wrong_command_is_one_line_on_stderr(capsys: Capture, typed: str, said: str) -> None:
    assert main([typed]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""
    assert "Traceback" not in printed.err


def test_an_error_that_the_user_can_cure_is_one_line(verb: Callable[..., None], capsys: Capture) -> None:
    def run(argv: list[str]) -> int:
        raise OptionError("players=9: must be 2 to 5")

    verb(run)
    assert main(["play"]) == 2
    assert capsys.readouterr().err == "ludory: players=9: must be 2 to 5\n"
    with pytest.raises(OptionError):
        main(["play", "--debug"])


def test_a_verb_gets_its_arguments_and_gives_the_exit_code(verb: Callable[..., None]) -> None:
    seen: list[list[str]] = []

    def run(argv: list[str]) -> int:
        seen.append(argv)
        return 7

    verb(run)
    assert main(["play", "Hanabi2P-v0", "--debug", "--seed", "3"]) == 7
    assert seen == [["Hanabi2P-v0", "--seed", "3"]]


def test_wrong_options_of_a_verb_are_exit_code_2(capsys: Capture) -> None:
    assert main(["list", "--jsn"]) == 2
    assert "no option --jsn; did you mean --json" in capsys.readouterr().err
    assert main(["list", "--help"]) == 0


@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_a_reader_that_goes_away_is_no_error(reader: str) -> None:
    command = f"{sys.executable} -m ludory list --json | {reader}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout in ("{\n", "")
    assert done.stderr == ""


def test_a_plugin_may_add_a_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Entry("texas42", "sys", "a verb of somebody else")
    monkeypatch.setitem(plugins.commands._offers, "texas42", [entry])
    monkeypatch.setattr(sys, "run", lambda argv: len(argv), raising=False)
    assert main(["texas42", "a", "b"]) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("league run --budget 20m --weighting=uniform --ray -- --budget 3", "--minutes 20 --no-prioritised --ray 0 -- --budget 3"),
        ("league run --budget=5e6 --shares 0.6,0.2,0.2", "--timesteps 5e6 --pfsp-share 0.6 --self-play-share 0.2 --verification-share 0.2"),
        ("league resume runs/league --budget 1e7", "--out runs/league --timesteps 1e7"),
        ("texas42 train --out net.ludory --policy domino(width=8)", "--out net.ludory --policy 'domino(width=8)'"),
        ("spa tiny --fast", "--fast"),
    ],
)  # fmt: skip
def test_options_are_respelt_too(old: str, new: str, capsys: pytest.CaptureFixture[str]) -> None:
    respelt(old.split())
    verb = " ".join(old.split()[:2])
    assert capsys.readouterr().err == f"ludory: `ludory {verb}` is now `ludory {NEW[verb].words} {new}`\n"


def test_other_commands_stay() -> None:
    assert respelt(["league", "status", "x"]) == ["league", "status", "x"]
    assert respelt([]) == []


@pytest.mark.parametrize("old", NEW)
def test_each_new_spelling_has_a_command(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    verb, name = NEW[old].words.split()[:2]
    assert {"train": plugins.algorithms, "bench": plugins.benchmarks}[verb].get(name)
    if verb == "train":
        assert main([*old.split(), "--help"]) == 0
        assert f"usage: ludory train {name}" in capsys.readouterr().out


def test_a_process_of_one_command_collects_seldom_and_a_caller_is_left_as_it_was() -> None:
    """Half a second of every command that imports PyTorch."""
    told = "(gc.get_threshold()[0], gc.get_freeze_count() > 0)"
    start = "import gc, sys; from ludory.cli import main; "
    alone = python(f"{start} sys.argv = ['ludory', '--version']; main(); print({told})")
    assert alone.splitlines()[-1] == "(20000, True)"
    called = python(f"{start} before = {told}; main(['--version']); print({told} == before)")
    assert called.splitlines()[-1] == "True"
