"""Every public name of the modules that users import is in the reference, and has a docstring."""

from __future__ import annotations

import ast
import importlib.util
import re
from types import ModuleType

import pytest
from manual.pages import PAGES as PAGES_OF_MANUAL
from manual.pages import ROOT

PAGES = {
    match: file.name
    for file in (ROOT / "docs" / "reference").glob("*.md")
    for match in re.findall(r"```\{reference\} (\S+)", file.read_text(encoding="utf-8"))
}
OTHERS = {"ludory.cli.main", "ludory.envs.hanabi_v0", "ludory.envs.views.make_torchrl"}
"""A command line, and views of other libraries, which have pages of their own."""


@pytest.fixture(scope="module")
def counts() -> ModuleType:
    spec = importlib.util.spec_from_file_location("counts", ROOT / "tools" / "counts.py")
    assert spec is not None
    assert spec.loader is not None
    counts = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(counts)
    return counts


def test_every_module_that_publishes_names_has_a_page(counts: ModuleType) -> None:
    assert {f"ludory{name}" for name in counts.PUBLISHED} == set(PAGES)


@pytest.mark.slow
def test_examples_templates_and_pages_import_published_names_only(counts: ModuleType) -> None:
    published = counts.published(counts.sources(ROOT)) | OTHERS
    files = [
        *(ROOT / "examples").glob("*.py"),
        *(ROOT / "src/ludory/cli/new/templates").glob("*.py.txt"),
        *PAGES_OF_MANUAL,
    ]
    assert len(files) > 40
    for file in files:
        text = re.sub(r"\$\{?\w+\}?", "name", file.read_text(encoding="utf-8"))
        codes = re.findall(r"```python\n(.*?)```", text, re.DOTALL) if file.suffix == ".md" else [text]
        for code in codes:
            source = counts.Source("page", "page", code, ast.parse(code))
            paths = [path for node in counts.statements(source.tree) for path in counts.imported(source, node)]
            private = [path for path in paths if path not in published and not counts.system(path)]
            assert not private, f"{file}: {private}"


@pytest.mark.parametrize("module", sorted(PAGES))
def test_every_public_name_of_it_has_a_docstring(module: str) -> None:
    found = importlib.import_module(module)
    names = [name for name in found.__all__ if not name.startswith("_")]
    assert names
    for name in names:
        value = getattr(found, name)
        if callable(value) and getattr(value, "__module__", "").startswith("ludory"):
            assert (value.__doc__ or "").strip(), f"{module}.{name}"
