"""Files of other packages, shown by their viewers at the terminal and in the browser."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from manual.pages import ROOT, blocks

pytest.importorskip("starlette", reason='the server needs pip install "ludory[web]"')

from starlette.testclient import TestClient

from ludory.cli import main
from ludory.web import recorded
from ludory.web.app import WebSettings, make_app

HOME = "http://127.0.0.1:8042"
FAULTY = """
import sys
from ludory.data.viewing.viewer import Viewer
VIEWER = Viewer("riddles", lambda file: 1 / 0, lambda file: [], lambda file, row: [])
LEAVES = Viewer("exits", lambda file: file.suffix == ".nim" and sys.exit(3), lambda file: [], lambda file, row: [])
"""


@pytest.fixture
def games(install: Callable[..., Path], look_again: Callable[[], None], tmp_path: Path) -> Path:
    """Files of Nim, a damaged one and a link among them, with the viewer of the manual, one that fails and one that is not there."""
    code = next(block.code for block in blocks(ROOT / "docs" / "browser.md", "python") if "VIEWER =" in block.code)
    install(
        "ludory-nim-viewer",
        {
            "ludory.viewers": "nim = nim_viewer:VIEWER\nfaulty = faulty_viewer:VIEWER\nleaves = faulty_viewer:LEAVES\ngone = no_such_viewer:VIEWER"
        },
        {"nim_viewer": code, "faulty_viewer": FAULTY},
    )
    look_again()
    folder = tmp_path / "data" / "nim"
    folder.mkdir(parents=True)
    (folder / "a.nim").write_text("3 4 5; 1 4 5; 1 4 0\n1; 0\n")
    (folder / "b.nim").write_text("<b>; 0\n")
    (folder / "c.nim").write_bytes(b"\xff")
    (tmp_path / "secret.nim").write_text("1; 0\n")
    (folder / "d.nim").symlink_to(tmp_path / "secret.nim")
    return folder


def test_a_file_is_watched_at_the_terminal(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(games / "a.nim")]) == 0
    listed = capsys.readouterr().out
    assert "row 0: Nim, 2 moves, returns -1, 1" in listed
    assert "row 1: Nim, 1 moves, returns 1, -1" in listed
    assert main(["watch", str(games), "--row", "0"]) == 0
    assert "-- after 1 moves\n\n|\n||||\n|||||" in capsys.readouterr().out
    page = games.parent / "page.html"
    assert main(["watch", str(games), "--row", "1", "--html", str(page)]) == 0
    assert "Nim: game 1" in page.read_text()
    capsys.readouterr()
    assert main(["watch", str(games), "--row", "0", "--gif", str(page.with_suffix(".gif"))]) == 2
    assert "games of Nim are shown here" in capsys.readouterr().err


def test_what_a_viewer_cannot_read_is_told_and_hides_nothing(
    games: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "ludory"):
        assert main(["watch", str(games), "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["game 0", "game 1", "game 0"]
    said = "\n".join(caplog.messages)
    assert "no_such_viewer" in said
    assert "viewer 'faulty' of the package ludory-nim-viewer failed (ZeroDivisionError" in said
    assert "viewer 'leaves' of the package ludory-nim-viewer failed (SystemExit" in said
    assert "c.nim: the viewer 'nim' of the package ludory-nim-viewer failed (UnicodeDecodeError" in said
    assert main(["watch", str(games), "--row", "2"]) == 2
    assert "b.nim: the viewer 'nim'" in capsys.readouterr().err


def test_its_games_are_listed_and_shown_in_the_browser(games: Path) -> None:
    top = games.parent
    with TestClient(make_app(WebSettings(data=top, tables=top.parent / "tables", workers=1)), base_url=HOME) as client:
        listed = client.get("/games").text
        assert "nim</a> (games of Nim)" in listed
        key = next(iter(recorded.find_recordings(top)))
        table = client.get("/games", params={"folder": key}).text
        assert f"/watch/b-{key}-1" in table
        assert "/analyse/" not in table.partition("</header>")[2]
        assert "after 1 moves" in client.get(f"/watch/b-{key}-0").text
        for row, status, words in ((2, 400, "the viewer &#39;nim&#39;"), (3, 404, "no row 3")):
            answer = client.get(f"/watch/b-{key}-{row}")
            assert (answer.status_code, words in answer.text, "<b>" in answer.text) == (status, True, False)
        assert client.get(f"/analyse/b-{key}-0").status_code == 400
