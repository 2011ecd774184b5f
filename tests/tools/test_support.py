"""What docs/support.md promises is what the workflows run, the metadata say, and the images and the recipe install."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

tomllib = pytest.importorskip("tomllib", reason="pyproject.toml is read with a module of Python 3.11")

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SUPPORT = (ROOT / "docs" / "support.md").read_text(encoding="utf-8")
WORKFLOWS = ROOT / ".github" / "workflows"
SYSTEMS = {"Linux": "ubuntu-latest", "macOS": "macos-latest", "Windows": "windows-latest"}
OTHER_NAMES = {"pytorch": "torch", "typing_extensions": "typing-extensions"}
"""What conda calls differently."""


def workflow(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))
    return loaded


def rows(heading: str) -> list[dict[str, str]]:
    """The table below a heading of docs/support.md."""
    lines = SUPPORT.split(f"\n## {heading}\n")[1].split("\n## ")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def classified() -> list[str]:
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one) for one in PROJECT["classifiers"]]
    return [match[1] for match in found if match]


def hard() -> dict[str, SpecifierSet]:
    return {one.name: one.specifier for one in map(Requirement, PROJECT["dependencies"])}


def test_the_table_of_pythons_is_what_the_tests_run_on() -> None:
    matrix = workflow("tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    runs = {(python, system) for python in matrix["python"] for system in matrix["os"]}
    table = rows("Pythons and platforms")
    said = {(row["Python"], SYSTEMS[name]) for row in table for name in SYSTEMS if row[name] == "tests"}
    assert said == runs
    assert {row[name] for row in table for name in SYSTEMS} == {"tests", "not tested"}
    assert [row["Python"] for row in table] == classified() == matrix["python"]
    assert PROJECT["requires-python"] == f">={classified()[0]}"
    for page in ("README.md", "docs/start.md"):
        assert f"Python {classified()[0]} or newer" in (ROOT / page).read_text(encoding="utf-8"), page


def test_every_supported_python_tries_what_is_published() -> None:
    jobs = workflow("publish.yml")["jobs"]
    (setup,) = [step for step in jobs["build"]["steps"] if "setup-python" in step.get("uses", "")]
    assert setup["with"]["python-version"].split() == classified()
    commands = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert commands == ['make release RELEASE_OPTIONS="--all --torch newest --tag $GITHUB_REF_NAME"']
    publish = jobs["publish"]
    assert publish["needs"] == "build"
    assert publish["environment"] == "pypi"
    assert publish["permissions"] == {"id-token": "write"}
    assert workflow("publish.yml")[True] == {"push": {"tags": ["v*"]}}, "YAML reads `on` as true"


@pytest.mark.parametrize("name", sorted(file.name for file in WORKFLOWS.iterdir()))
def test_a_workflow_has_pinned_actions_and_few_rights(name: str) -> None:
    content = workflow(name)
    assert content["permissions"] == {"contents": "read"}
    used = [step["uses"] for job in content["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@(v\d+|release/v\d+)", action)] == []


def test_the_page_says_whether_the_tests_have_run() -> None:
    not_yet = (WORKFLOWS / "tests.yml").read_text(encoding="utf-8").startswith("# Not yet run: ")
    assert ("workflow has not run yet" in SUPPORT) == not_yet


def test_the_lowest_packages_are_those_of_the_metadata() -> None:
    table = rows("Packages")
    assert table
    for row in table:
        assert str(hard()[row["package"]]) == f">={row['lowest']}"


def test_the_recipe_of_conda_needs_what_the_package_needs() -> None:
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    run = dict(one.split(" ", 1) for one in recipe["requirements"]["run"])
    assert run.pop("python") == PROJECT["requires-python"]
    assert {OTHER_NAMES.get(name, name): SpecifierSet(bound) for name, bound in run.items()} == hard()
    commands = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == commands
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["license_file"] == PROJECT["license-files"]


def test_images_and_recipe_are_of_this_version() -> None:
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == PROJECT["version"]
    for file in (ROOT / "docker").iterdir():
        text = file.read_text(encoding="utf-8")
        assert f"\nARG VERSION={PROJECT['version']}\n" in text, file.name
        assert re.search(r"^ARG PYTHON=(.+)$", text, re.MULTILINE)[1] in classified(), file.name
        assert re.search(r"^USER [1-9]\d*$", text, re.MULTILINE), f"{file.name} runs as root"


def test_forms_for_issues_have_what_github_asks_for() -> None:
    for file in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(file.read_text(encoding="utf-8"))
        if file.name != "config.yml":
            assert form["name"]
            assert form["description"]
            ids = [field["id"] for field in form["body"]]
            assert ids
            assert len(ids) == len(set(ids))
            assert all(field["attributes"]["label"] for field in form["body"])
