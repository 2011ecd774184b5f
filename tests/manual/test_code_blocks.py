"""The code of the manual runs: Python page by page, with the smaller numbers of its notes; `make docs-long` runs it in full."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import runpy
import shlex
from functools import cache
from pathlib import Path

import pytest
from manual.pages import PAGES, bare_fences, blocks, commands, inline_commands, name_of, script

from ludory.cli import main
from ludory.plugins import LISTED

LONG = os.environ.get("LUDORY_LONG_MANUAL") == "1"
"""Run the code as it is printed, for hours."""
ELSEWHERE = "docs/games/pokemon.md"
"""Run by tests/pokemon/test_manual.py, with the file that it reads and, where it plays, the simulator."""
WITH_PYTHON = [page for page in PAGES if any(blocks(page, "python")) and name_of(page) != ELSEWHERE]
WITH_COMMANDS = [page for page in PAGES if any(commands(page))]
WITH_INLINE_COMMANDS = [page for page in PAGES if any(inline_commands(page))]


def _missing(page: Path) -> list[str]:
    """Modules that the notes of a page ask for and that are not installed."""
    needed = [block.note.removeprefix("needs: ") for block in blocks(page, "python") if block.note.startswith("needs:")]
    return [name for name in needed if importlib.util.find_spec(name) is None]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if missing := _missing(page):
        pytest.skip(f"{name_of(page)} needs {', '.join(missing)}")
    file = tmp_path / f"{page.stem}.py"
    file.write_text(script(page, full=LONG), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for registry in LISTED.values():  # forget afterwards what the page adds to them
        monkeypatch.setattr(registry, "_added", dict(registry._added))
        monkeypatch.setitem(vars(registry), "_offers", dict(registry._offers))
    runpy.run_path(str(file), run_name="__main__")


SUBCOMMANDS = (
    "bench",
    "cluster",
    "flywheel",
    "hanabi",
    "hub",
    "league",
    "new",
    "pokemon",
    "serve",
    "sokoban",
    "spa",
    "storage",
    "sweep",
    "texas42",
    "train",
)
"""Commands whose first argument has options of its own."""


@cache
def _help(*words: str) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return text.getvalue()


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_commands_and_their_options_exist(page: Path) -> None:
    for command in commands(page):
        _check(command)


@pytest.mark.parametrize("page", WITH_INLINE_COMMANDS, ids=name_of)
def test_commands_in_sentences_exist(page: Path) -> None:
    for command in inline_commands(page):
        _check(command)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_its_language(page: Path) -> None:
    assert list(bare_fences(page)) == []


def _check(command: str) -> None:
    """Check the verb, the job and the options of a command; words in capitals stand for others."""
    _, *given = shlex.split(command)
    verb, *rest = given[2:] if given[0] == "--plugin" else given
    words, rest = [verb], rest[: rest.index("--")] if "--" in rest else rest
    for word in rest:
        has_jobs = verb in SUBCOMMANDS if len(words) == 1 else "<job>" in _help(*words)
        if not has_jobs or not re.fullmatch(r"[a-z][\w-]*", word):
            break
        words.append(word)
    known = _help(*words)
    assert known, f"`{command}`: its --help prints nothing"
    for option in (word.partition("=")[0].rstrip(",") for word in rest if re.match("--[a-z]", word)):
        assert re.search(rf"{re.escape(option)}(?![\w-])", known), f"`{command}`: no option {option}"
