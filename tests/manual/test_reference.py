"""Every public name of the modules that users import is in the reference, and has a docstring."""

from __future__ import annotations

import importlib
import re

import pytest
from manual.pages import ROOT

PAGES = {
    match: file.name
    for file in (ROOT / "docs" / "reference").glob("*.md")
    for match in re.findall(r"```\{reference\} (\S+)", file.read_text(encoding="utf-8"))
}
FRONT_DOOR = (
    "ludory",
    *(f"ludory.{room}" for room in ("envs", "agents", "agents.analysis", "algorithms", "plugins", "testing", "errors")),
)


def test_every_front_door_module_has_a_page() -> None:
    assert set(FRONT_DOOR) <= set(PAGES)


@pytest.mark.parametrize("module", sorted(PAGES))
def test_every_public_name_of_it_has_a_docstring(module: str) -> None:
    found = importlib.import_module(module)
    names = [name for name in getattr(found, "__all__", dir(found)) if not name.startswith("_")]
    assert names
    for name in names:
        value = getattr(found, name)
        if callable(value) and getattr(value, "__module__", "").startswith("ludory"):
            assert (value.__doc__ or "").strip(), f"{module}.{name}"
