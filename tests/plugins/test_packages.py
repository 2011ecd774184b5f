"""What is installed is what stands in the tree: a package that pyproject.toml forgets would be missing without a word."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parents[2]
SHIPPED = {
    ".py",
    ".txt",
    ".json",
    ".typed",
    ".cc",
    ".html",
    ".js",
    ".css",
    ".svg",
    ".npy",
    ".npz",
    ".md",
    ".yaml",
    ".ttf",
    ".ludory",
}
ROOMS = ("agents", "algorithms", "benchmarks", "envs", "plugins")


def sources() -> dict[str, Path]:
    """Every file of the package by the name it has when installed, e.g. ludory/envs/game.py."""
    front = REPOSITORY / "src" / "ludory"
    inside = [
        (path, path.relative_to(REPOSITORY))
        for room in ROOMS
        for path in (REPOSITORY / room).rglob("*.*")
        if path.parent.name != "results"
    ]
    inside += [(path, name) for path in front.rglob("*.*") if (name := path.relative_to(front)).parts[0] not in ROOMS]
    return {
        f"ludory/{name.as_posix()}": path
        for path, name in inside
        if path.suffix in SHIPPED and not only_in_a_clone(name)
    }


def only_in_a_clone(name: Path) -> bool:
    """Whether a file is of the benchmarks, of which commands use these two packages only."""
    return name.parts[0] == "benchmarks" and name.parts[1] not in ("harness", "sweep")


def listed_packages() -> list[str]:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        packages: list[str] = tomllib.load(file)["tool"]["setuptools"]["packages"]
    return packages


def test_every_folder_with_code_is_a_listed_package() -> None:
    folders = {name.rpartition("/")[0].replace("/", ".") for name in sources() if name.endswith(".py")}
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
        shutil.copytree(
            REPOSITORY / name, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, copy)
    out = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(out),
        str(copy),
    ]
    subprocess.run(command, check=True)
    (file,) = out.glob("ludory-*.whl")
    with zipfile.ZipFile(file) as archive:
        return archive.namelist()


def test_a_wheel_holds_the_whole_tree_and_nothing_else(wheel: list[str]) -> None:
    # verifiers finds its taskset by the name of a module; licences lie among the data of the wheel, once
    expected = {*sources(), "ludory_text.py"} - {"ludory/frames/fonts/LICENSE.txt"}
    assert {name for name in wheel if ".dist-info/" not in name} == expected
    licences = {name.partition(".dist-info/licenses/")[2] for name in wheel} - {""}
    assert licences == {"LICENSE", "src/ludory/frames/fonts/LICENSE.txt"}


def test_a_wheel_brings_the_command(wheel: list[str]) -> None:
    assert any(name.endswith("dist-info/entry_points.txt") for name in wheel)


def test_contributing_names_files_that_exist() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text()
    named = re.findall(r"`((?:agents|algorithms|benchmarks|envs|plugins|src|tests)/[\w./-]*)`", text)
    assert len(named) > 10
    assert [name for name in named if not (REPOSITORY / name).exists()] == []
