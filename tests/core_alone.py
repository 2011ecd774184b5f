"""What is left of the tree without its systems, and a plugin of pytest that leaves out the tests which name one.

A test is a system's if its code names one, or the code of its file, of a fixture or of a supporting module that it uses: by an import, an
id, a path or a word. Nothing is tried: a test of the core that needs a system without naming it fails.
"""

from __future__ import annotations

import ast
import inspect
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TESTS = Path(__file__).parent
WORDS = (
    *(
        "arena",
        "battle",
        "boxoban",
        "frozen_?lake",
        "hanabi",
        "pok.mon",
        "puzzle",
        "smartbot",
        "sokoban",
        "sudoku",
        "texas.?42",
    ),
    *("flywheel", "language", "last_man_standing", "league", "sparta", "text.games", "text.ppo", "world.model"),
    "bench",
)
NAMES_A_SYSTEM = re.compile(rf"{'|'.join(WORDS)}|(?<![a-z])spa(?![a-z])", re.IGNORECASE)
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
OF_THE_TREE = {
    "manual": "pages of the manual, which are about all systems",
    "faults": "leagues and learners of systems on other machines",
    "tools": "counts, packages and promises of the whole tree",
    "test_structure.py": "folders of the whole tree",
    "test_readme.py": "the first page of the whole tree",
    "test_core_alone.py": "this very run",
}
"""Tests that are about the whole tree, not about its core."""
OF_ALL_ENTRIES = (
    "test_our_own_script_is_small",
    "test_every_builtin_id_is_loaded",
    "test_help_names_every_command_and_imports_none",
    "test_nothing_that_ludory_itself_offers_is_broken",
    "test_help_pages_of_commands_import_no_heavy_library",
    "test_reinforce_learns",
    "test_wrong_input_is_one_line[argv0-did you mean]",
)
"""Tests that go through all that Ludory has with its systems, or run an example that plays a game of one."""
BY_PARAMETER = ("games/own_games.py", "testing/test_all_games.py")
"""Files that name systems, but whose tests go through what is installed: their values decide."""


def copy_core(root: Path, copy: Path, counts: ModuleType) -> list[str]:
    """Copy the tree without its systems and benchmarks; returns the paths that are left out."""

    def left_out(folder: str, names: list[str]) -> list[str]:
        inside = Path(folder).relative_to(root).parts
        hidden = [name for name in names if name.startswith((".", "_build", "__pycache__"))]
        if inside[:1] in (("tests",), ("docs",)):
            return hidden
        systems = [name for name in names if name.removesuffix(".py") in (*counts.SYSTEMS, "benchmarks")]
        gone.extend("/".join((*inside, name)) for name in systems)
        return hidden + systems

    gone: list[str] = []
    shutil.copytree(root, copy, symlinks=True, ignore=left_out)
    return gone


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out files that import a system, and those of the whole tree."""
    if collection_path.parent == TESTS and collection_path.name in OF_THE_TREE:
        return True
    file = collection_path / "conftest.py" if collection_path.is_dir() else collection_path
    return True if file.suffix == ".py" and file.exists() and (_imports_one(file) or _runs_one(file)) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that name a system."""
    kept = [item for item in items if not _names_a_system(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def _names_a_system(item: Any) -> bool:
    """Whether the code of a test or of a fixture that it uses names a system, or the values that it is called with."""
    if item.name in OF_ALL_ENTRIES or NAMES_A_SYSTEM.search(
        f"{item.nodeid} {item.callspec.params if hasattr(item, 'callspec') else ''}"
    ):
        return True
    fixtures = [found[-1].func for found in item._fixtureinfo.name2fixturedefs.values()]
    functions = [inspect.unwrap(one) for one in (item.function, *fixtures)]
    return any(
        TESTS in Path(one.__code__.co_filename).parents and _names_one(Path(one.__code__.co_filename), one.__name__)
        for one in functions
    )


@cache
def _defined(file: Path) -> dict[str, list[ast.stmt]]:
    """The statements at the top of a file by the names that they define or import."""
    defined: dict[str, list[ast.stmt]] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, DEFINITIONS):
            names = [node.name]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
        else:
            names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        for name in names:
            defined.setdefault(name, []).append(node)
    return defined


@cache
def _imports_one(file: Path) -> bool:
    """Whether a file imports a system at its top, or another file of the tests that does."""
    nodes = {
        node for nodes in _defined(file).values() for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return any(NAMES_A_SYSTEM.search(ast.unparse(one)) or any(map(_imports_one, _files(file, one))) for one in nodes)


@cache
def _runs_one(file: Path) -> bool:
    """Whether a file makes something of a system when it is imported: at its top, or for a decorator."""
    for name, nodes in _defined(file).items():
        for node in nodes:
            code = node.decorator_list if isinstance(node, DEFINITIONS) else [node]
            calls = [one for part in code for one in ast.walk(part) if isinstance(one, ast.Call)]
            calls = [one for one in calls if not ast.unparse(one.func).startswith("pytest.")]
            if any(NAMES_A_SYSTEM.search(ast.unparse(one)) for one in calls):
                return True
            if calls and not isinstance(node, DEFINITIONS) and _names_one(file, name):
                return True
    return False


def _files(file: Path, node: ast.AST) -> list[Path]:
    """Files of the tests that an import means: a module, or modules of a package."""
    if not isinstance(node, ast.ImportFrom):
        return []
    folder = file.parents[node.level - 1] if node.level else TESTS
    module = folder.joinpath(*(node.module or "").split("."))
    found = [module.with_suffix(".py"), *(module / f"{alias.name}.py" for alias in node.names)]
    return [one for one in found if one.exists()]


@cache
def _names_one(file: Path, name: str) -> bool:
    """Whether the code of a name, or of a name that it uses, names a system."""
    waiting, seen = [(file, name)], set[tuple[Path, str]]()
    while waiting:
        place, wanted = waiting.pop()
        if (place, wanted) in seen or place.relative_to(TESTS).as_posix() in BY_PARAMETER:
            continue
        seen.add((place, wanted))
        for node in _defined(place).get(wanted, []):
            parts = list(_parts(node))
            texts = (value for part in parts for value in _texts(part))
            if NAMES_A_SYSTEM.search(" ".join(texts)):
                return True
            waiting += [(other, wanted) for other in _files(place, node)]
            waiting += [(place, part.id) for part in parts if isinstance(part, ast.Name)]
    return False


def _texts(part: ast.AST) -> Iterator[str]:
    """Names and strings of a part of a statement, but for `game.language` and `Game(language=...)`, which every game has."""
    texts = (value for _, value in ast.iter_fields(part) if isinstance(value, str))
    every_game = isinstance(part, ast.Attribute | ast.keyword)
    return (text for text in texts if not (every_game and text == "language"))


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """A statement and all inside but docstrings, and the values of `parametrize`: a test has one of them."""
    yield node
    for child in ast.iter_child_nodes(node):
        docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if not docstring and not (isinstance(child, ast.Call) and ast.unparse(child.func).endswith(".parametrize")):
            yield from _parts(child)
