"""Hostile requests: each is refused with words, and the server answers the next one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from support.windows.unix import needs_unix

from ludory.web.app import WebSettings, make_app, static_address
from ludory.web.safety import MOST_BODY, MOST_URL, POLICY, same_secret

from .conftest import HOME

FORM = {"content-type": "application/x-www-form-urlencoded"}
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One server for all requests, with a table of two persons of whom this browser is the first."""
    folder = tmp_path_factory.mktemp("safety")
    (folder / "runs").mkdir()
    (folder / "secret.ludory").write_text("secret")
    settings = WebSettings(tables=folder / "tables", runs=folder / "runs", data=folder / "runs", workers=1)
    with TestClient(make_app(settings), base_url=HOME, headers={"origin": HOME}) as client:
        client.post("/tables", data={"game": "TicTacToe-v0", "seat0": "human", "seat1": "human", "seed": "1"})
        client.post("/tables", data={"game": "KuhnPoker-v0", "seat0": "human", "seat1": "human", "seed": "1"})
        yield client


def tables(browser: TestClient) -> list[Any]:
    """The open game, then the one with hidden cards."""
    found = browser.app.state.ludory.tables.recent()  # type: ignore[attr-defined]
    return sorted(found, key=lambda table: table.game, reverse=True)


def start(**changed: str) -> dict[str, Any]:
    """A request for a new table."""
    return {"url": "/tables", "data": {"game": "TicTacToe-v0", "seat0": "human", "seat1": "random"} | changed}


GET = [
    ("/static/../app.py", 404),
    ("/static/..%2fapp.py", 404),
    ("/static/%2e%2e/%2e%2e/pyproject.toml", 404),
    ("//etc/passwd", 404),
    ("/table/..%2f..%2fetc%2fpasswd", 404),
    ("/table/%00", 404),
    ("/table/000000000000", 404),
    ("/table/000000000000/replay.json", 404),
    ("/table/000000000000/events", 404),
    ("/table/OPEN/nothing", 404),
    ("/table/OPEN?seat=1", 403),
    ("/table/OPEN?seat=-1", 403),
    ("/table/OPEN?seat=" + "9" * 400, 403),
    ("/table/OPEN?seat=²", 403),
    ("/table/OPEN/board?seat=1", 403),
    ("/table/OPEN/position.svg?seat=1", 403),
    ("/table/OPEN/sit?key=wrong", 403),
    ("/table/OPEN/sit", 403),
    ("/table/HIDDEN?seat=1", 403),
    ("/table/HIDDEN/replay.json", 403),
    ("/table/HIDDEN/game.html", 403),
    ("/table/OPEN/move", 405),
    ("/tables", 405),
    (f"/?game={SCRIPT}", 400),
    ("/?game=gymnasium:os:CartPole-v1", 400),
    ("/setup?game=../../etc/passwd", 400),
    ("/picture/..%2f..%2fetc%2fpasswd", 404),
    ("/watch/b-..%2f..%2fetc%2fpasswd-0", 404),
    ("/watch/b-0123456789-0", 404),
    ("/watch/g-0123456789-" + "9" * 400, 404),
    (f"/analyse/b-{SCRIPT}", 404),
    ("/starting/..%2fapp.py", 404),
    ("/picture/NoSuchGame-v0", 400),
    (f"/{SCRIPT}", 404),
    ("/" + "a" * (MOST_URL + 1), 414),
    ("/?" + "a=1&" * (MOST_URL // 4 + 1), 414),
]
POST = [
    (start(game=SCRIPT), 400),
    (start(game="pettingzoo:classic/chess_v6"), 400),
    (start(seat1="../secret.ludory"), 400),
    (start(seat1="/etc/passwd"), 400),
    (start(seat1="sparta(/etc/passwd)"), 400),
    (start(seat1="sparta(blueprint='../secret.ludory')"), 400),
    (start(seat1="human(1)"), 400),
    (start(seat1="language(model='/etc')"), 400),
    (start(seat1="mcts(simulations=10**9)"), 400),
    (start(seat1="mcts(simulations=999999999)"), 400),
    (start(seat1="(" * 5000), 400),
    (start(seat1=SCRIPT), 400),
    (start(seed="1e400"), 400),
    (start(seed="9" * 5000), 400),
    (start(seed="-1"), 400),
    ({"url": "/watch", "data": {"game": "TicTacToe-v0", "agents": "random", "seed": "10000000009999"}}, 400),
    (
        {"url": "/arena", "data": {"game": "KuhnPoker-v0", "first": "random", "second": "random", "seed": "9" * 5000}},
        400,
    ),
    (start(**{"game": "Sokoban-v0", "option.levels": "/etc/passwd"}), 400),
    (start(**{"game": "Sudoku4-v0", "option.blanks": "99999999999999999999"}), 400),
    (start(**{"game": "Hanabi-v0", "option.options": "players=1000000000"}), 400),
    ({"url": "/table/OPEN/move", "data": {"seat": "1", "version": "2", "action": "0:0"}}, 403),
    ({"url": "/table/OPEN/move", "data": {"seat": "0", "action": "0:99"}}, 400),
    ({"url": "/table/OPEN/move", "data": {"seat": "0", "version": "99", "action": "0:0"}}, 400),
    ({"url": "/table/OPEN/move", "data": {"seat": "0", "version": "VERSION", "action": "0:99"}}, 400),
    ({"url": "/table/OPEN/move", "data": {"seat": "0", "version": "VERSION", "action": "3:0"}}, 400),
    ({"url": "/table/OPEN/move", "data": {"seat": "0", "version": "VERSION", "action": "0:-1"}}, 400),
    ({"url": "/table/OPEN/move", "data": {"seat": "0", "version": "VERSION", "head7": "0"}}, 400),
    ({"url": "/table/OPEN/move", "data": {"seat": "0", "version": "VERSION"}}, 400),
    ({"url": "/table/OPEN/move", "data": {f"head{n}": "0" for n in range(5000)}}, 400),
    ({"url": "/table/OPEN/move", "json": {"seat": 0}}, 415),
    ({"url": "/table/OPEN/move", "files": {"seat": ("a", b"0")}}, 415),
    ({"url": "/table/OPEN/move", "content": b"\xff\xfe=\xff", "headers": FORM}, 400),
    ({"url": "/table/OPEN/back", "data": {"seat": "1"}}, 403),
    ({"url": "/table/OPEN/again", "data": {"seat": "0", "agent": "random", "number": "77"}}, 400),
    ({"url": "/table/OPEN/again", "data": {"seat": "0", "agent": "random", "number": "1"}}, 400),
    ({"url": "/table/OPEN/sit", "data": {"key": "wrong"}}, 403),
    ({"url": "/table/OPEN/sit", "data": {"key": ""}}, 403),
    ({"url": "/table/OPEN/sit", "data": {"key": "é" * 100}}, 403),
    ({"url": "/tables", "content": b"a" * (MOST_BODY + 1), "headers": FORM}, 413),
    ({"url": "/tables", "content": (b"a" * 1024 for _ in range(MOST_BODY // 1024 + 2)), "headers": FORM}, 413),
    ({"url": "/tables", "content": b"", "headers": FORM | {"content-length": "-5"}}, 400),
    ({"url": "/tables", "content": b"", "headers": FORM | {"origin": "https://evil.example"}}, 403),
    ({"url": "/tables", "content": b"", "headers": FORM | {"origin": "null"}}, 403),
    ({"url": "/tables", "content": b"", "headers": FORM | {"origin": ""}}, 403),
    ({"url": "/tables", "content": b"", "headers": FORM | {"origin": HOME + ".evil.example"}}, 403),
    ({"url": "/tables", "content": b"", "headers": FORM | {"host": "evil.example"}}, 400),
    ({"url": "/tables", "content": b"", "headers": FORM | {"host": "127.0.0.1.evil.example:8042"}}, 400),
    ({"url": "/tables", "content": b"", "headers": FORM | {"host": "192.0.2.7:8042"}}, 400),
    ({"url": "/tables", "content": b"", "headers": FORM | {"host": "[::1"}}, 400),
    ({"url": "/tables", "content": b"", "headers": FORM | {"host": ""}}, 400),
    ({"url": "/token", "data": {"token": "guess"}}, 401),
]


def check_refused(browser: TestClient, answer: Any, status: int) -> None:
    assert answer.status_code == status, answer.text
    assert len(answer.text) > 200, "a page with words"
    assert "Traceback" not in answer.text
    assert SCRIPT not in answer.text
    assert answer.headers["content-security-policy"] == POLICY
    assert browser.get("/table/" + tables(browser)[0].id).status_code == 200, "the next request is answered"


@pytest.mark.parametrize(("address", "status"), GET, ids=[address[:50] for address, _ in GET])
def test_hostile_addresses(browser: TestClient, address: str, status: int) -> None:
    open_game, hidden = tables(browser)
    address = address.replace("OPEN", open_game.id).replace("HIDDEN", hidden.id)
    check_refused(browser, browser.get(address, follow_redirects=False), status)


@pytest.mark.parametrize(
    ("request_", "status"), POST, ids=[f"{number} {one['url']}" for number, (one, _) in enumerate(POST)]
)
def test_hostile_changes(browser: TestClient, request_: dict[str, Any], status: int) -> None:
    table = tables(browser)[0]
    before = (len(tables(browser)), list(table.moves))
    sent = dict(request_)
    sent["url"] = sent["url"].replace("OPEN", table.id)
    if "VERSION" in str(sent.get("data")):
        sent["data"] = {key: value.replace("VERSION", str(table.version)) for key, value in sent["data"].items()}
    check_refused(browser, browser.post(**sent), status)
    assert (len(tables(browser)), table.moves) == before, "nothing was changed"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods(browser: TestClient, method: str) -> None:
    check_refused(browser, browser.request(method, "/"), 405)


def test_two_moves_at_once_are_one_move(browser: TestClient) -> None:
    started = browser.post("/tables", data={"game": "ConnectFour-v0", "seat0": "human", "seat1": "human", "seed": "1"})
    table = browser.app.state.ludory.tables.get(started.url.path.rpartition("/")[2])  # type: ignore[attr-defined]
    move = {"seat": "0", "version": str(table.version), "action": "0:3"}
    first, second = (browser.post(f"/table/{table.id}/move", data=move) for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 400)
    assert table.moves == [(0, 3)]


@needs_unix("Windows has no such names of files")
def test_names_from_files_are_escaped(browser: TestClient) -> None:
    runs: Path = browser.app.state.ludory.settings.runs  # type: ignore[attr-defined]
    (runs / "<img src=x onerror=alert(1)>").mkdir(exist_ok=True)
    (runs / "\"><script>'.ludory").write_text("")
    page = browser.get("/?game=TicTacToe-v0").text
    assert "<img src=x" not in page
    assert '"><script>' not in page
    assert "&lt;img src=x" in page


def test_a_server_that_others_reach_asks_for_its_token(settings: WebSettings) -> None:
    guarded = replace(settings, host="192.0.2.7", token="the token")
    home = "http://192.0.2.7:8042"
    with TestClient(make_app(guarded), base_url=home, headers={"origin": home}) as stranger:
        for address in ("/", "/?token=", "/?token=wrong", "/table/000000000000"):
            answer = stranger.get(address)
            assert answer.status_code == 401
            assert 'name="token"' in answer.text
        stranger.cookies.set("ludory_token", "the token of an earlier server")
        assert stranger.get("/").status_code == 401
        assert stranger.post("/tables", data={"game": "TicTacToe-v0"}).status_code == 401
        stranger.cookies.clear()
        assert stranger.get(static_address("style.css")).status_code == 200, "the page that asks needs it"
        entered = stranger.post("/token", data={"token": "the token"}, follow_redirects=False)
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert stranger.get("/").status_code == 200
    with TestClient(make_app(guarded), base_url=home) as guest:
        arrived = guest.get("/?game=TicTacToe-v0&token=the%20token", follow_redirects=False)
        assert (arrived.status_code, arrived.headers["location"]) == (303, "/?game=TicTacToe-v0")
        assert guest.get("/").status_code == 200


def test_a_mistake_of_the_server_is_a_page_too(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    app: Any = browser.app
    monkeypatch.setattr(app.state.ludory.tables, "recent", lambda: 1 / 0)
    with TestClient(app, base_url=HOME, raise_server_exceptions=False) as careless:
        answer = careless.get("/")
    assert answer.status_code == 500
    assert "no game is lost" in answer.text
    assert "ZeroDivision" not in answer.text


@pytest.mark.parametrize(
    ("given", "secret", "same"),
    [("key", "key", True), ("key", "kez", False), ("", "key", False), ("key", "", False), ("", "", False)],
)
def test_a_secret_is_itself_only_and_an_empty_one_is_nobodys(given: str, secret: str, same: bool) -> None:
    assert same_secret(given, secret) is same
