"""A server's application and a client that speaks to it as a browser on the same machine does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason='the server needs pip install "ludory[web]"')

from starlette.testclient import TestClient

from ludory.web.app import WebSettings, make_app
from ludory.web.pages import starting

HOME = "http://127.0.0.1:8042"


@pytest.fixture
def settings(tmp_path: Path) -> WebSettings:
    """Empty folders; one worker."""
    for name in ("runs", "data", "tables"):
        (tmp_path / name).mkdir()
    folders = {name: tmp_path / name for name in ("runs", "data", "tables")}
    return WebSettings(**folders, workers=1)  # type: ignore[arg-type]


@pytest.fixture
def client(settings: WebSettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A browser at the application, which waits while games are compiled; `client.app.state.ludory` are its surroundings."""
    monkeypatch.setattr(starting, "PATIENCE", 120.0)
    with TestClient(make_app(settings), base_url=HOME, headers={"origin": HOME}) as browser:
        yield browser
