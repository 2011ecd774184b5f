"""The tutorials run from top to bottom as notebooks, with the smaller numbers of their notes."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from manual.pages import ROOT, blocks, name_of

TUTORIALS = sorted(page for page in (ROOT / "docs" / "tutorials").glob("*.md") if page.stem != "index")
notebook = runpy.run_path(str(ROOT / "docs" / "notebooks.py"))["notebook"]


def shortened(page: Path) -> str:
    """The text of a page whose code has the smaller numbers of its notes."""
    text = page.read_text(encoding="utf-8")
    for block in blocks(page, "python"):
        text = text.replace(block.code, block.shortened)
    return text


def cells(page: Path, kind: str) -> list[str]:
    made: dict[str, Any] = notebook(page.read_text(encoding="utf-8"), page.parent)
    return [cell["source"] for cell in made["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("page", TUTORIALS, ids=name_of)
def test_a_notebook_has_the_code_of_its_page_and_installs_what_it_needs(page: Path) -> None:
    install, *code = cells(page, "code")
    assert '%pip install --quiet "ludory[' in install
    for block in blocks(page, "python"):
        assert block.code.rstrip("\n") in code
    assert "](../" not in "".join(cells(page, "markdown")), "links into the manual lead nowhere"


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=name_of)
def test_a_notebook_runs(page: Path, tmp_path: Path) -> None:
    for name in ("nbclient", "ipykernel", "nbformat"):
        pytest.importorskip(name, reason="`make test-notebooks` installs what runs notebooks")
    import nbclient
    import nbformat

    read = nbformat.reads(json.dumps(notebook(shortened(page), page.parent)), as_version=4)
    nbformat.validate(read)
    nbclient.NotebookClient(read, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
