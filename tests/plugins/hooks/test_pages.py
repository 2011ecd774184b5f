"""Pages that other packages add to the server of `ludory serve`."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from manual.pages import ROOT, blocks

pytest.importorskip("starlette", reason='the server needs pip install "ludory[web]"')

from starlette.testclient import TestClient

from ludory.cli import main
from ludory.web.app import WebSettings, make_app

HOME = "http://127.0.0.1:8042"
FAULTY = """
import sys
from starlette.routing import Route
from ludory.web.page import Listing, ListedRow, Page

def wrong(request):
    return {}["no such key"]

def leave(request):
    sys.exit(3)

async def stop(request):
    sys.exit(3)

def secret(request):
    from starlette.responses import PlainTextResponse
    return PlainTextResponse("secret")

def listing(top):
    return Listing("Nim", "Tournament", {"Games": int}, [ListedRow("first", "/nim/first", 0.0, (1234,))])

PAGE = Page([Route("/", secret), Route("/wrong", wrong), Route("/leave", leave), Route("/stop", stop)], listing=listing, owns=frozenset({"nim.json"}))
UNLISTED = Page([Route("/", secret)], listing=wrong)
ROWLESS = Page([Route("/", secret)], listing=lambda top: 3)
OFFERED = Page([Route("/", secret)], link=("/", "Tokens"), games=("TicTacToe",))
PACKLESS = Page([Route("/", secret)], package="no_such_package")
class Unlike:
    routes = PAGE.routes
"""


def browser(folder: Path, token: str | None = None) -> TestClient:
    settings = WebSettings(token=token, runs=folder, tables=folder / "tables", workers=1)
    return TestClient(make_app(settings), base_url=HOME, headers={"origin": HOME})


@pytest.fixture
def faulty(install: Callable[..., Path], look_again: Callable[[], None]) -> None:
    points = [f"{id} = faulty:PAGE" for id in ("nim", "static", "token", "live")]
    points += ["tokens = faulty:OFFERED"]
    points += [f"{name.lower()} = faulty:{name}" for name in ("UNLISTED", "ROWLESS", "PACKLESS", "Unlike", "GONE")]
    points += ["absent = no_such_module:PAGE", "linkless = linkless:PAGE"]
    wrong_link = "from ludory.web.page import Page\nPAGE = Page([], link='Nim')\n"
    install("faulty-pages", {"ludory.pages": "\n".join(points)}, {"faulty": FAULTY, "linkless": wrong_link})
    look_again()


@pytest.mark.usefixtures("faulty")
def test_a_page_is_offered_where_its_game_is_set_up(tmp_path: Path) -> None:
    offered = '<p><a href="/tokens/">Tokens</a>'
    with browser(tmp_path) as client:
        assert offered in client.get("/", params={"game": "TicTacToe-v0"}).text
        assert offered not in client.get("/", params={"game": "KuhnPoker-v0"}).text


def test_the_page_of_the_manual_is_served(
    install: Callable[..., Path], look_again: Callable[[], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = next(block.code for block in blocks(ROOT / "docs" / "browser.md", "python") if "PAGE =" in block.code)
    install("ludory-nim-page", {"ludory.pages": "nim = nim_page:PAGE"}, {"nim_page": code})
    look_again()
    with browser(tmp_path) as client:
        assert '<a href="/nim/" >Nim</a>' in client.get("/").text
        assert "from 3 leave 1" in client.get("/nim").text
        shown = client.get("/nim/", params={"heaps": "1 1"})
        assert (shown.status_code, "no move wins" in shown.text) == (200, True)
        assert shown.headers["content-security-policy"].startswith("default-src 'none'")
        refused = client.get("/nim/", params={"heaps": "<b>"})
        assert (refused.status_code, "must be numbers" in refused.text, "<b>" in refused.text) == (400, True, False)
        assert client.get("/nim/other").status_code == 404
    assert main(["list", "pages"]) == 0
    assert "ludory-nim-page" in capsys.readouterr().out


def test_templates_and_static_files_of_a_package_are_used(
    install: Callable[..., Path], look_again: Callable[[], None], tmp_path: Path
) -> None:
    package = install("ludory-boards", {"ludory.pages": "boards = boards:PAGE"}) / "boards"
    files = {
        "__init__.py": "from starlette.routing import Route\nfrom ludory.web.page import Page\n"
        "def board(request):\n    return request.app.state.ludory.render(request, 'boards/board.html', name='<b>')\n"
        "PAGE = Page([Route('/', board)], package=__package__)\n",
        "templates/board.html": "{% extends 'base.html' %}{% block head %}{{ static('board.css', 'boards') }}{% endblock %}"
        "{% block main %}Board of {{ name }}{% endblock %}",
        "static/board.css": "b { color: red }",
        "static/secret.py": "password = 1",
    }
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    look_again()
    with browser(tmp_path, token="password") as client:
        assert client.get("/boards/static/board.css").status_code == 401
        client.cookies.set("ludory_token", "password")
        shown = client.get("/boards/").text
        assert "Board of &lt;b&gt;" in shown
        assert "Skip to the content" in shown
        (address,) = re.findall(r"/boards/static/board\.css\?v=\w{12}", shown)
        style = client.get(address)
        assert (style.text, style.headers["content-type"]) == (files["static/board.css"], "text/css; charset=utf-8")
        for name in ("secret.py", "none.css", "../__init__.py", "..%2f__init__.py", "%2e%2e/__init__.py"):
            assert client.get(f"/boards/static/{name}").status_code == 404, name


@pytest.mark.usefixtures("faulty")
def test_a_mistake_of_a_page_is_told_and_logged_and_the_server_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with browser(tmp_path) as client, caplog.at_level(logging.ERROR, "ludory"):
        for path, name in (("wrong", "KeyError"), ("leave", "SystemExit"), ("stop", "SystemExit")):
            caplog.clear()
            answer = client.get(f"/nim/{path}")
            assert answer.status_code == 500
            assert "faulty-pages made a mistake" in answer.text
            assert name in answer.text
            assert "content-security-policy" in answer.headers
            assert sum("page 'nim' failed" in line for line in caplog.messages) == 1
        for id, words in (
            ("gone", "GONE"),
            ("absent", "no_such_module"),
            ("packless", "ModuleNotFoundError"),
            ("unlike", "must be a ludory.web.page.Page"),
            ("linkless", "link="),
        ):
            answer = client.get(f"/{id}/")
            assert (answer.status_code, words in answer.text) == (400, True), id
        assert client.get("/nim/").text == "secret"
        assert client.get("/").status_code == 200


@pytest.mark.slow
@pytest.mark.usefixtures("faulty")
def test_what_a_system_has_among_the_runs_is_listed(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "model.ludory").write_text("")
    with browser(tmp_path) as client:
        assert "first/model" in client.get("/runs").text
        (tmp_path / "first" / "nim.json").write_text("{}")
        shown = client.get("/runs").text
        assert "first/model" not in shown
        assert '<a href="/nim/first">first</a>' in shown
        assert '<td class="number">1,234</td>' in shown
        assert "The page &#39;unlisted&#39;" in shown
        assert "The page &#39;rowless&#39;" in shown


@pytest.mark.usefixtures("faulty")
def test_no_page_of_a_package_escapes_the_token_and_the_other_checks(tmp_path: Path) -> None:
    with browser(tmp_path, token="password") as client:
        for id in ("nim", "tokens", "token", "static", "live", "live/nim"):
            for path in (f"/{id}", f"/{id}/", f"/{id}/wrong"):
                answer = client.get(path)
                assert "secret" not in answer.text, path
                assert answer.status_code in (401, 404, 405), path
        assert client.get("/nim/", headers={"host": "evil.example"}).status_code == 400
        assert client.post("/nim/", headers={"origin": "http://evil.example"}).status_code == 403
        client.cookies.set("ludory_token", "password")
        assert client.get("/tokens/").text == "secret"
        for id in ("static", "live"):
            assert client.get(f"/{id}/").status_code == 404
