"""`tools/counts.py` sees a new dependency of the core on a system, and what else may only become rarer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
COPIED = ("src/ludory/__init__.py", "envs/__init__.py", "envs/game.py", "agents/__init__.py", "tools/counts.json")


@pytest.fixture
def tree(tmp_path: Path, counts: ModuleType) -> Path:
    """A few modules, with their present counts as limits."""
    for name in COPIED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    plant(tmp_path, "envs/told.py", "# why\n" * 40)
    file = tmp_path / "tools/counts.json"
    kept = json.loads(file.read_text())
    file.write_text(json.dumps(kept | {"limits": dict.fromkeys(kept["limits"], 1000)}))
    assert counts.main([str(tmp_path), "--lower"]) == 0
    return tmp_path


def plant(tree: Path, file: str, text: str) -> None:
    (tree / file).parent.mkdir(parents=True, exist_ok=True)
    with (tree / file).open("a") as to:
        to.write(text)


PLANTED = {
    "imports from the core into systems": (
        "src/ludory/web/page.py",
        "def page():\n    from ludory.envs.hanabi import rules\n",
    ),
    "private names that systems import": ("envs/hanabi/rules.py", "from ..engine.base import Base\n"),
    "private names that hanabi imports": ("envs/hanabi/rules.py", "from ..game import Game, Rooms\n"),
    "parameters of type Any": ("envs/new.py", "def outer():\n    def inner(x: Any): ...\n"),
    "parameters of type Any at public functions": (
        "envs/new.py",
        "class New:\n    def go(self, *, x: Any | None): ...\n",
    ),
    "calls of has_kernel outside a game's folders": ("agents/search/new.py", 'found = game.has_kernel("step", step)\n'),
    "fields of Game": ("envs/game.py", ""),
    "lines of code per comment": ("envs/new.py", "x = 1\n" * 2000),
    "lines of code per comment where there is an algorithm, a format or a trick": (
        "envs/new.py",
        "def search(x):\n    for y in x:\n        if y:\n            pass  # noqa: nothing\n" + "    x += 1\n" * 2000,
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_count_that_rises_fails_and_is_named(
    name: str, tree: Path, counts: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    file, text = PLANTED[name]
    plant(tree, file, text)
    if name == "fields of Game":
        game = tree / file
        game.write_text(game.read_text().replace('    id: str = ""\n', '    id: str = ""\n    number: int = 0\n'))
    assert counts.main([str(tree)]) == 1
    assert f"risen: {name}: " in capsys.readouterr().err


def test_an_import_from_a_system_is_new_even_where_another_one_went(
    tree: Path, counts: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = json.loads((tree / "tools/counts.json").read_text())
    kept["limits"][counts.ARROWS] = 1
    (tree / "tools/counts.json").write_text(json.dumps(kept))
    plant(tree, "src/ludory/web/page.py", "from ludory.algorithms.league.run import League\n")
    assert counts.main([str(tree)]) == 1
    assert "the core imports a system: ludory.web.page -> ludory.algorithms.league.run" in capsys.readouterr().err


def test_published_names_and_a_systems_own_are_not_private(tree: Path, counts: ModuleType) -> None:
    plant(
        tree, "envs/hanabi/rules.py", "from ludory.envs import kernel\nfrom ..game import Game\nfrom . import state\n"
    )
    plant(tree, "agents/hanabi/bot.py", "# why\nfrom ludory import make_game\nhas = game.has_kernel('step', step)\n")
    assert counts.main([str(tree)]) == 0


def test_limits_fall_and_do_not_rise(tree: Path, counts: ModuleType) -> None:
    before = json.loads((tree / "tools/counts.json").read_text())["limits"]
    plant(tree, "envs/new.py", "def outer(x: Any): ...\n" + "# why\n" * 50)
    assert counts.main([str(tree), "--lower"]) == 1
    after = json.loads((tree / "tools/counts.json").read_text())["limits"]
    assert after["parameters of type Any"] == before["parameters of type Any"]
    assert after[counts.RATIO] < before[counts.RATIO]


PLAIN = "def plain(x):\n    for y in x:\n        x += y\n" + "    x += 1\n" * 20
SHORT = "def short(x):\n    for y in x:\n        if y:\n            return y\n"
CHOICES = "def choose(x):\n" + "".join(f"    if x == {k}:\n        return {k}\n" for k in range(20))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SHORT + "    x += 1\n" * 20, True),
        ("def deep(x):\n    if x:\n        if x > 1:\n            x -= 1\n" + "    x += 1\n" * 20, True),
        ("@cached_kernel(**FLAGS)\n" + SHORT, True),
        (SHORT, False),
        (PLAIN, False),
        (CHOICES, False),
    ],
)
def test_branches_in_loops_and_in_branches_are_an_algorithm(
    text: str, expected: bool, tree: Path, counts: ModuleType
) -> None:
    plant(tree, "envs/new.py", text)
    (source,) = [source for source in counts.sources(tree) if source.name == "ludory.envs.new"]
    assert counts.is_tricky(source) is expected


def test_comments_to_tools_say_nothing_to_people(tree: Path, counts: ModuleType) -> None:
    plant(tree, "envs/new.py", "x = 1  # type: ignore\ny = 1  # why  # noqa: E501\n# fmt: off\n# why\n")
    (source,) = [source for source in counts.sources(tree) if source.name == "ludory.envs.new"]
    assert counts.lines_per_comment([source]) == 1
