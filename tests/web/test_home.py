"""The first page: every game is there, and a form starts a table."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from ludory.cli.games.serve import listen
from ludory.errors import OptionError
from ludory.web import position
from ludory.web.pages import starting
from ludory.web.pages.choices import families


def test_the_first_page_offers_every_game(client: TestClient) -> None:
    page = client.get("/")
    assert page.status_code == 200
    for id in ("Hanabi2P-v0", "Arena2P-v0", "Texas42-v0", "ConnectFour-v0", "Sokoban-v0"):
        assert id in page.text


def test_a_game_is_set_up_with_its_seats_and_options(client: TestClient) -> None:
    page = client.get("/", params={"game": "Sudoku9-v0"}).text
    assert 'name="seat0"' in page
    assert 'value="sudoku/solver"' in page
    assert 'name="option.blanks"' in page
    assert 'name="option.size"' not in page  # the id fixes it


def test_the_kept_pictures_are_what_the_games_draw(client: TestClient) -> None:
    from ludory.web.pages.covers import cover

    for family in families():
        id = family.games[0][0]
        picture = client.get(f"/picture/{id}")
        assert picture.headers["content-type"] == "image/svg+xml"
        if id in ("TicTacToe-v0", "Hanabi2P-v0"):
            assert picture.text == cover(id) + "\n"


def test_the_form_starts_a_table(client: TestClient) -> None:
    answer = client.post("/tables", data={"game": "TicTacToe-v0", "seat0": "human", "seat1": "human", "seed": "5"})
    assert answer.status_code == 200
    assert "/table/" in str(answer.url)
    assert "Your turn" in answer.text
    assert "TicTacToe-v0" in client.get("/").text


def test_a_page_says_which_version_it_shows_though_the_table_goes_on(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    seats = {"seat0": "human", "seat1": "human"}
    address = str(client.post("/tables", data={"game": "TicTacToe-v0", "seed": "5"} | seats).url)
    [table] = client.app.state.ludory.tables.recent(10)  # type: ignore[attr-defined]
    shown, old = table.version, position.board_of

    def drawn_while_the_table_goes_on(*args: Any) -> Any:
        board = old(*args)
        table.version += 1
        return board

    monkeypatch.setattr(position, "board_of", drawn_while_the_table_goes_on)
    assert f"version={shown}" in client.get(address).text


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"seat1": "hanabi/igi"}, "no agent is called"),
        ({"seed": "-1"}, "must be a whole number"),
        ({"game": "NoSuchGame-v0"}, "no game is called"),
        ({"option.size": "3"}, "size"),
        ({"game": "Hanabi-v0", "option.options": "players=3, bomb=stay"}, "bomb"),
    ],
)
def test_what_cannot_be_started_is_said(client: TestClient, changed: dict[str, str], words: str) -> None:
    form = {"game": "TicTacToe-v0", "seat0": "human", "seat1": "random"} | changed
    answer = client.post("/tables", data=form)
    assert answer.status_code == 400
    assert words in answer.text


def test_a_table_that_takes_long_to_make_is_waited_for_on_a_page_of_its_own(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, tables = threading.Event(), client.app.state.ludory.tables  # type: ignore[attr-defined]
    start = tables.start

    def slow(*asked: Any) -> Any:
        compiled.wait(60)
        if asked[2] == 13:
            raise OptionError("no game has the seed 13")
        return start(*asked)

    monkeypatch.setattr(tables, "start", slow)
    monkeypatch.setattr(starting, "PATIENCE", 0.01)
    form = {"game": "TicTacToe-v0", "seat0": "human", "seat1": "random"}
    pages = [
        client.post("/tables", data=form | {"seed": seed}, follow_redirects=False).headers["location"]
        for seed in ("1", "13")
    ]
    for page in pages:
        assert "opens by itself" in client.get(page).text
        assert client.get(page, headers={"hx-request": "true"}).status_code == 204
    compiled.set()
    while (answer := client.get(pages[1], headers={"hx-request": "true"})).status_code == 204:
        time.sleep(0.01)
    assert answer.headers["hx-redirect"] == pages[1]
    wrong = client.get(pages[1])
    assert wrong.status_code == 400
    assert "no game has the seed 13" in wrong.text
    while (answer := client.get(pages[0], follow_redirects=False)).status_code == 200:
        time.sleep(0.01)
    assert answer.headers["location"].startswith("/table/")
    monkeypatch.setattr(starting, "PATIENCE", 60.0)
    assert "Your turn" in client.get(answer.headers["location"]).text
    assert client.get("/starting/0123456789abcdef").status_code == 404


def test_small_answers_are_sent_at_once() -> None:
    async def accepted() -> bool:
        delays: asyncio.Queue[bool] = asyncio.Queue()

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            one: socket.socket = writer.get_extra_info("socket")
            delays.put_nowait(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0)
            writer.close()

        with listen("127.0.0.1", 0) as listening:
            server = await asyncio.start_server(answer, sock=listening)
            _, writer = await asyncio.open_connection(*listening.getsockname())
            writer.close()
            found = await delays.get()
            server.close()
            return found

    with ThreadPoolExecutor(1) as pool:  # this thread may have a loop already: that of the tests in a browser
        delayed = pool.submit(lambda: asyncio.run(accepted())).result()
    assert not delayed, "a body would wait 40 ms for the acknowledgement of its head"
