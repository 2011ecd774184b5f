"""What browsers are given beside the pages: unchanged libraries with their licences, little of our own, nothing from elsewhere."""

from __future__ import annotations

import hashlib
import re
from importlib import resources
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason='the server needs pip install "ludory[web]"')

WEB = Path(str(resources.files("ludory.web")))
STATIC = WEB / "static"
VENDORED = {
    "htmx.min.js": ("htmx 2.0.11", "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"),
    "sse.js": ("htmx-ext-sse 2.2.4", "98a46496de0c3605fbffdce9167ba427bdd9553184f83f149c261891a92c0136"),
}
"""Release and SHA-256, as published."""


@pytest.mark.parametrize("name", VENDORED)
def test_vendored_files_are_as_published_and_their_licence_is_here(name: str) -> None:
    release, digest = VENDORED[name]
    assert hashlib.sha256(STATIC.joinpath(name).read_bytes()).hexdigest() == digest
    assert f"{release} ({name})" in STATIC.joinpath("LICENSES.txt").read_text()


def test_our_own_script_is_small() -> None:
    # notebooks load theirs alone
    own = [file for file in WEB.rglob("*.js") if file.name not in (*VENDORED, "notebook.js")]
    assert len(own) > 1, "systems have theirs"
    assert sum(len(file.read_bytes()) for file in own) < 15_000


def test_pages_hold_nothing_that_the_policy_forbids_and_load_nothing_from_elsewhere() -> None:
    files = [file for ending in ("html", "js", "css") for file in WEB.rglob(f"*.{ending}") if file.name not in VENDORED]
    assert {"home.html", "league.html", "hand.css"} <= {file.name for file in files}
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not re.search(
            r'<script(?![^>]* (?:src=|type="application/json"))|<style|\sstyle=|\son[a-z]+=|javascript:', text
        ), file.name
        assert not re.search(r"(?:src|href|url\(|@import)\W*(?:https?:)?//", text), file.name
