"""A table in a browser: set up from the first page, and played by the mouse or by keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .conftest import Server

OVER = "The game is over."
OpenPage = Callable[[], Any]


def start(page: Any, server: Server, game: str, *seats: str, seed: int = 3) -> None:
    """Choose a game on the first page, say who sits where, and press Play."""
    page.goto(server.address, wait_until="domcontentloaded")
    page.click(f"ul.games h2 a[href='/?game={game}']")
    page.fill("form.setup input[name=seed]", str(seed))
    for number, name in enumerate(seats):
        page.fill(f"#seat{number}", name)
    page.click("form.setup button.main")
    wait_for_board(page)


def start_by_keys(page: Any, server: Server, game: str, *seats: str, seed: int = 3) -> None:
    """The same without a mouse."""
    page.goto(server.address, wait_until="domcontentloaded")
    tab_to(page, f"ul.games h2 a[href='/?game={game}']")
    page.keyboard.press("Enter")
    page.wait_for_selector("form.setup")
    for number, name in enumerate(seats):
        type_into(page, f"#seat{number}", name)
    type_into(page, "form.setup input[name=seed]", str(seed))
    page.keyboard.press("Enter")
    wait_for_board(page)


def wait_for_board(page: Any) -> None:
    """Wait for the table; where there is none, the error has what the page says instead."""
    try:
        page.wait_for_selector("#board")
    except Exception as error:
        raise AssertionError(f"no table at {page.url}, which says: {page.inner_text('body')[:2000]}") from error


def tab_to(page: Any, selector: str) -> None:
    for _ in range(300):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {selector}")


def type_into(page: Any, selector: str, text: str) -> None:
    tab_to(page, selector)
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type(text)


def state(page: Any) -> str:
    """Whose turn it is, once no agent thinks."""
    text: str = page.locator("[role=status]", has_not_text="think").inner_text()
    return text


def after(page: Any, act: Callable[[], None]) -> None:
    """Do something that changes the table, and wait for it."""
    before = page.get_attribute("#board", "hx-get").rpartition("version=")[2]
    act()
    page.locator(f'#board:not([hx-get$="version={before}"])').wait_for()


def play(page: Any, move: Callable[[], None], most: int = 300) -> None:
    """Play to the end of the game."""
    moves = 0
    while state(page) != OVER:
        assert moves < most, f"the game goes on after {most} moves"
        after(page, move)
        moves += 1


def click_in_picture(page: Any) -> None:
    """Click the last element of the picture that can be clicked; if it stands for several moves, take the first."""
    page.locator("#picture [data-action]").last.click()
    menu = page.locator(".menu button")
    if menu.count():
        menu.first.click()
