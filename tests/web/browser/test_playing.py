"""Tables in a real browser: headings and arrow keys, two persons, a killed server, what axe and narrow screens say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Server
from .table_page import OVER, OpenPage, after, click_in_picture, play, start, state

pytestmark = pytest.mark.slow


def test_the_arena_is_played_by_headings_and_buttons_in_the_picture(open_page: OpenPage, server: Server) -> None:
    page = open_page()
    start(page, server, "Arena2P-v0", "human", "arena/rusher")
    for turn in range(3):
        state(page)
        page.locator('#picture [data-action="0:4 1:2"]').click()
        assert page.locator("input[name=head0]:checked").get_attribute("value") == "4"
        if turn == 0:  # then the gun is not ready
            page.locator('#picture [data-action="4:1"]').click()
            assert page.locator("input[name=head4]:checked").get_attribute("value") == "1"
        after(page, lambda: page.locator('#picture [data-action="send"]').click())
    state(page)  # the move is in the log when the other seat has moved, too
    assert page.locator("#log li").count() >= 3


def test_arrow_keys_walk_in_a_world_of_directions(open_page: OpenPage, server: Server) -> None:
    page = open_page()
    start(page, server, "Sokoban-v0", "human")
    for key in ("ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight"):
        after(page, lambda key=key: page.keyboard.press(key))
    told = [text.partition(":")[0] for text in page.locator("#log li").all_inner_texts()]
    assert told == ["Up", "Left", "Down", "Right"]


def test_two_persons_play_one_hanabi(open_page: OpenPage, server: Server) -> None:
    first, second = open_page(), open_page()
    start(first, server, "Hanabi2P-v0", "human", "human")
    link = first.get_attribute("section[aria-label=Invitations] a", "href")
    second.goto(server.address + link)
    second.click("button.main")
    second.wait_for_selector("#board")
    first.goto(first.url)
    seats = {0: first, 1: second}
    for turn in range(100):
        page, other = seats[turn % 2], seats[1 - turn % 2]
        page.locator("[role=status]", has_text=re.compile("Your turn|over")).wait_for()
        if page.inner_text("[role=status]") == OVER:
            break
        assert not other.locator("#moves").count(), "only who is to move has moves"
        after(page, lambda page=page: click_in_picture(page))
    other.locator("[role=status]", has_text=OVER).wait_for()
    assert first.inner_text("#log") == second.inner_text("#log")


def test_a_killed_server_loses_nothing(open_page: OpenPage, tmp_path: Any) -> None:
    server, page = Server(tmp_path), open_page()
    try:
        start(page, server, "ConnectFour-v0", "human", "random")
        for _ in range(3):
            state(page)
            after(page, lambda: click_in_picture(page))
        state(page)
        picture, address = page.inner_html("#picture"), page.url.replace(server.address, "")
        page.goto("about:blank")  # else it complains of a stream that ended
        server.kill()
        server.start()
        page.goto(server.address + address)
        assert page.inner_html("#picture") == picture
        play(page, lambda: click_in_picture(page))
    finally:
        server.kill()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_finding_of_axe(open_page: Callable[..., Any], server: Server, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="make test-web installs axe").Axe()
    page = open_page(color_scheme=scheme, bypass_csp=True)  # axe is a script that the page does not know
    for game in ("/", "/?game=Texas42-v0", "/table/unknown", "Hanabi2P-v0", "Arena2P-v0", "an invitation"):
        if game == "an invitation":
            start(page, server, "TicTacToe-v0", "human", "human")
            page.goto(server.address + page.get_attribute("[data-copy]", "data-copy"))
            page.wait_for_selector("form")
        elif game.startswith("/"):
            page.goto(server.address + game)
        else:
            start(page, server, game)
        serious = [
            found for found in axe.run(page).response["violations"] if found["impact"] in ("serious", "critical")
        ]
        assert not serious, [(found["id"], [node["html"][:200] for node in found["nodes"][:3]]) for found in serious]


@pytest.mark.parametrize("width", [360, 1200, 3840])
def test_nothing_is_wider_than_the_screen(open_page: Callable[..., Any], server: Server, width: int) -> None:
    page = open_page()
    page.set_viewport_size({"width": width, "height": 900})
    for game in ("", "Hanabi2P-v0", "Arena2P-v0", "Texas42-v0"):
        if game:
            start(page, server, game)
        else:
            page.goto(server.address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
