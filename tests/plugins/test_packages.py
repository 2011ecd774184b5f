"""What is installed is what stands in the tree: a package that pyproject.toml forgets would be missing without a word."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parents[2]
ROOMS = ("agents", "algorithms", "benchmarks", "envs", "plugins")


def sources() -> dict[str, Path]:
    """Every Python file of the package by the name it has when installed, e.g. ludory/envs/game.py."""
    found = {f"ludory/{path.relative_to(REPOSITORY)}": path for room in ROOMS for path in (REPOSITORY / room).rglob("*.py")}
    front = REPOSITORY / "src" / "ludory"
    for path in front.rglob("*.py"):
        if path.relative_to(front).parts[0] not in ROOMS:
            found[f"ludory/{path.relative_to(front)}"] = path
    return {name.replace("\\", "/"): path for name, path in found.items()}


def listed_packages() -> list[str]:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        packages: list[str] = tomllib.load(file)["tool"]["setuptools"]["packages"]
    return packages


def test_every_folder_with_code_is_a_listed_package() -> None:
    folders = {name.rpartition("/")[0].replace("/", ".") for name in sources()}
    assert folders == set(listed_packages())
    assert all(f"{name.replace('.', '/')}/__init__.py" in sources() for name in folders)


def test_every_room_is_linked_from_the_front_door() -> None:
    for room in ROOMS:
        link = REPOSITORY / "src" / "ludory" / room
        assert link.is_symlink()
        assert not link.readlink().is_absolute()
        assert link.resolve() == REPOSITORY / room


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Names in a wheel built from a copy of the tree; takes about 5 seconds."""
    copy = tmp_path_factory.mktemp("tree")
    for name in (*ROOMS, "src"):
        shutil.copytree(REPOSITORY / name, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, copy)
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(out), str(copy)]
    subprocess.run(command, check=True)
    (file,) = out.glob("ludory-*.whl")
    with zipfile.ZipFile(file) as archive:
        return archive.namelist()


def test_a_wheel_holds_the_whole_tree_and_nothing_else(wheel: list[str]) -> None:
    assert {name for name in wheel if name.endswith(".py")} == set(sources())


def test_a_wheel_says_that_it_is_typed_and_brings_the_command(wheel: list[str]) -> None:
    assert "ludory/py.typed" in wheel
    assert any(name.endswith("dist-info/entry_points.txt") for name in wheel)
