"""Every public name of the modules that users import is in the reference, and has a docstring."""

from __future__ import annotations

import importlib.util
import re

import pytest
from manual.pages import ROOT

PAGES = {
    match: file.name
    for file in (ROOT / "docs" / "reference").glob("*.md")
    for match in re.findall(r"```\{reference\} (\S+)", file.read_text(encoding="utf-8"))
}


def test_every_module_that_publishes_names_has_a_page() -> None:
    spec = importlib.util.spec_from_file_location("counts", ROOT / "tools" / "counts.py")
    assert spec is not None
    assert spec.loader is not None
    counts = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(counts)
    assert {f"ludory{name}" for name in counts.PUBLISHED} == set(PAGES)


@pytest.mark.parametrize("module", sorted(PAGES))
def test_every_public_name_of_it_has_a_docstring(module: str) -> None:
    found = importlib.import_module(module)
    names = [name for name in found.__all__ if not name.startswith("_")]
    assert names
    for name in names:
        value = getattr(found, name)
        if callable(value) and getattr(value, "__module__", "").startswith("ludory"):
            assert (value.__doc__ or "").strip(), f"{module}.{name}"
