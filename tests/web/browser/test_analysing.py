"""The analysis board, watching and duels in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SERIOUS = ("serious", "critical")


@pytest.fixture
def study(server: Any, open_page: Callable[..., Any]) -> Any:
    """A page with a pasted game, in which seat 0 missed a win after four moves."""
    page = open_page()
    page.goto(f"{server.address}/analyse")
    page.fill("input[name=game]", "TicTacToe-v0")
    page.fill("textarea[name=moves]", "0 3 1 4 8 5")
    page.click("form:has(textarea[name=moves]) button")
    page.wait_for_selector("#board")
    return page


def test_the_board_is_read_by_keyboard_and_mouse(study: Any) -> None:
    study.wait_for_selector(".turn:has-text('After move 6 of 6')")
    study.evaluate("window.sameDocument = true")
    study.keyboard.press("Home")
    study.wait_for_selector(".turn:has-text('Start')")
    for number in range(1, 5):
        study.keyboard.press("ArrowRight")
        study.wait_for_selector(f".turn:has-text('After move {number} of 6')")
    study.wait_for_selector("#values #try-2")
    study.wait_for_selector("#values tr:first-child #try-2")  # the winning move is the best
    study.wait_for_selector("#values tr.played:has-text('played')")
    study.wait_for_selector("#graph .mistakes a[href*='move=4']")
    study.keyboard.press("Home")
    study.wait_for_selector(".turn:has-text('Start')")
    study.wait_for_selector("#graph .mistakes a[href*='move=4']")
    study.click("#graph .mistakes a[href*='move=4']")
    study.wait_for_selector(".turn:has-text('After move 4 of 6')")
    study.click("#picture [data-action='2'], #picture [data-action='0:2']")
    study.wait_for_selector(".variation")
    study.wait_for_selector(".turn:has-text('the game is over')")
    study.click("text=Back to the game")
    study.wait_for_selector(".turn:has-text('After move 4 of 6')")
    study.wait_for_selector(".variation", state="detached")
    assert study.evaluate("window.sameDocument"), "the page was loaded again"


def test_a_click_on_the_graph_goes_there(study: Any) -> None:
    study.evaluate("window.sameDocument = true")
    study.click("#graph a[href*='move=2'] circle")
    study.wait_for_selector(".turn:has-text('After move 2 of 6')")
    assert study.evaluate("window.sameDocument"), "the page was loaded again"


def test_agents_are_watched_and_paused(server: Any, open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.goto(f"{server.address}/watch")
    page.fill("input[name=game]", "HanabiTiny2P-v0")
    page.fill("input[name=agents]", "hanabi/iggi")
    page.fill("input[name=seed]", "3")
    page.click("button.main")
    page.wait_for_selector("#moves li:nth-child(4)")
    page.click("#first")
    page.wait_for_selector("#status:has-text('Move 0 of')")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#status:has-text('Move 1 of')")
    page.select_option("#speed", "2")
    page.click("#play")
    page.wait_for_selector("#status:has-text('Move 3 of')")
    page.click("#play")
    page.wait_for_selector("#play:text-is('Play')")
    assert page.locator("#picture svg").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(server: Any, open_page: Callable[..., Any], study: Any, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="`make test-web` installs axe").Axe()
    page = open_page(color_scheme=scheme, bypass_csp=True)  # axe is a script that the page does not know
    address = study.url.split("?")[0]
    page.goto(f"{server.address}/arena?game=TicTacToe-v0&first=mcts(simulations=30)&second=random&seed=1")
    page.click("button.main")
    page.wait_for_url("**/arena/d-*")
    duel = page.url
    for url, ready in (
        (f"{address}?move=4", "#values table"),
        (address.replace("/analyse/", "/watch/"), "#moves li"),
        (duel, "#duel .chart"),
        (f"{server.address}/analyse", "form"),
        (f"{server.address}/watch", "form"),
    ):
        page.goto(url)
        page.wait_for_selector(ready)
        found = [one for one in axe.run(page).response["violations"] if one["impact"] in SERIOUS]
        assert not found, f"{url}: {[(one['id'], one['nodes'][0]['html'][:200]) for one in found]}"
