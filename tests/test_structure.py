"""The house stays readable: folders that fit on a screen, no small file that only one other needs, class names that mean one thing."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("agents", "algorithms", "benchmarks", "envs", "plugins")
SIBLINGS = 15
"""Most files, and most folders, in one folder."""
SMALL = 50
"""Lines of a file below which it needs a reason of its own to be a file."""
REASONS = {
    "agents/language/adapters/trl_tool.py": "for who writes a script of TRL; the manual shows it",
    "benchmarks/text_games/rules_loop.py": "a template that `bind` reads",
    "agents/networks/policies/gru.py": "the home of an id",
    "algorithms/az_config.py": "read by help pages, which import no learner",
    "algorithms/cfr_config.py": "read by help pages, which import no learner",
    "agents/texas42/play/greedy.py": "a way to play, beside the others",
    "envs/engine/binding/bot_cpu.py": "a template that `bind` reads",
    "envs/engine/binding/bot_cuda.py": "a template that `bind` reads",
    "envs/hanabi/symmetry.py": "a fact of the game, which learners read through `Game`",
    "src/ludory/web/pages/covers.py": "`make web-covers` runs it",
    "envs/texas42/pictures/svg.py": "how a domino is drawn",
}
"""Small files with one importer that stay, and why."""


def module(file: Path) -> str:
    """Dotted name of a file of the package."""
    parts = list(file.relative_to(ROOT).with_suffix("").parts)
    parts = parts[1:] if parts[0] == "src" else ["ludory", *parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources() -> list[Path]:
    folders = [*(ROOT / room for room in ROOMS), ROOT / "src" / "ludory"]
    return sorted({file for folder in folders for file in folder.rglob("*.py") if "__pycache__" not in file.parts})


def package_files() -> dict[str, Path]:
    return {module(file): file for file in sources()}


def imported(file: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Modules of the package that a file imports, wherever in the file."""
    package = module(file).split(".")
    if file.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{name}.{alias.name}"
                if full in modules or name in modules:
                    yield full if full in modules else name


def folders() -> list[Path]:
    found = {file.parent for file in sources()} | {file.parent for file in (ROOT / "tests").rglob("*.py")}
    return sorted(folder for folder in found if "golden" not in folder.parts)


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_folder_fits_on_a_screen(folder: Path) -> None:
    files = [file.name for file in folder.glob("*.py") if not file.name.startswith("__")]
    inside = [child.name for child in folder.iterdir() if child.is_dir() and any(child.glob("*.py"))]
    assert len(files) <= SIBLINGS, sorted(files)
    assert len(inside) <= SIBLINGS, sorted(inside)


@pytest.mark.slow
def test_a_small_file_has_more_than_one_reader() -> None:
    modules = package_files()
    readers = defaultdict(set)
    for file in modules.values():
        for name in imported(file, modules):
            readers[name].add(file)
    named = "\n".join(file.read_text(encoding="utf-8") for file in modules.values())
    lonely = []
    for name, file in modules.items():
        place = str(file.relative_to(ROOT))
        by_name = f'"{name}' in named or "peers" in file.parts  # entries of registries, commands started as a module
        small = file.name not in ("__init__.py", "__main__.py") and len(file.read_text().splitlines()) < SMALL
        if small and len(readers[name]) <= 1 and not by_name and place not in REASONS:
            lonely.append(
                f"{place} (only {', '.join(str(one.relative_to(ROOT)) for one in readers[name]) or 'nobody'})"
            )
    assert not lonely, "merge into the file that imports it, or give a reason in REASONS:\n" + "\n".join(lonely)


@pytest.mark.slow
def test_a_public_class_name_means_one_thing() -> None:
    homes = defaultdict(list)
    for file in sources():
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(file.relative_to(ROOT)))
    doubled = {name: files for name, files in homes.items() if len(files) > 1}
    assert not doubled, doubled


def test_no_module_imports_what_windows_lacks() -> None:
    """Functions import it, or `locks`; the campaign of faults says that it needs Unix before it imports its parts."""
    lacking = re.compile(r"^(?:import|from) (?:fcntl|grp|pty|pwd|readline|resource|syslog|termios|tty)\b", re.M)
    found = [file for file in sources() if lacking.search(file.read_text(encoding="utf-8"))]
    assert not found


def test_text_is_read_and_written_in_a_named_encoding() -> None:
    """Windows has another default than UTF-8. Output of other programs is read by benchmarks as the system writes it."""
    unnamed = []
    for file in sources():
        source = file.read_text(encoding="utf-8")
        if not re.search(r"_text\(|\.open\(|subprocess", source):
            continue
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call) or any(word.arg in ("encoding", None) for word in node.keywords):
                continue
            name, given = getattr(node.func, "attr", getattr(node.func, "id", "")), len(node.args)
            mode = node.args[0].value if given and isinstance(node.args[0], ast.Constant) else None
            files = (name == "read_text" and given < 1) or (name == "write_text" and given < 2)
            opened = (
                name == "open" and isinstance(node.func, ast.Attribute) and mode in ("r", "w", "a", "x", "r+", "w+")
            )
            output = any(word.arg == "text" for word in node.keywords) and name in ("run", "Popen", "check_output")
            if files or opened or (output and "benchmarks" not in file.parts):
                unnamed.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert not unnamed, 'encoding="utf-8" is missing in\n' + "\n".join(unnamed)


def test_the_architecture_page_names_functions_where_they_are() -> None:
    """In tables of steps, the last column has the files of the functions in the column before it."""
    page, base, checked = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"), ROOT, 0
    for line in page.splitlines():
        if told := re.search(r"relative to `([\w/]+)`", line):
            base = ROOT / told[1]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 3 or not re.match(r"\d", cells[0]):
            continue
        files = [base / name for name in re.findall(r"`([\w./]+\.\w+)`", cells[2])]
        text = "".join(file.read_text(encoding="utf-8") for file in files if file.exists())
        for name in re.findall(r"[A-Za-z_]\w*", " ".join(re.findall(r"`([\w.]+)`", cells[1]))):
            checked += bool(text)
            assert not text or re.search(rf"\b{name}\b", text), f"{name} is not in {cells[2]}"
    assert checked > 40


def test_the_architecture_page_names_files_that_exist() -> None:
    """Paths are relative to the folder that their section names."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./]+\.(?:py|html))`", page))
    bases = [ROOT, ROOT / "envs", ROOT / "algorithms", ROOT / "src" / "ludory", ROOT / "src" / "ludory" / "web"]
    bases += [base / "engine" / "binding" for base in bases] + [ROOT / "envs" / "views"]
    missing = sorted(name for name in named if not any((base / name).exists() for base in bases))
    assert len(named) > 10
    assert not missing, missing
