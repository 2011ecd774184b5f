"""A server that answers late: the page shows what was asked for last, and the address says the same."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from .conftest import Server
from .test_following import write_table

pytestmark = pytest.mark.slow

LATE = """(() => {
  const { send, abort } = XMLHttpRequest.prototype;
  let number = 0;
  XMLHttpRequest.prototype.send = function (...body) {
    const wait = window.delays ? window.delays[number++ % window.delays.length] : 0;
    this.waits = setTimeout(() => { this.waits = null; send.apply(this, body); }, wait);
  };
  XMLHttpRequest.prototype.abort = function () {
    if (!this.waits) return abort.call(this);
    clearTimeout(this.waits);
    this.onabort?.();  // as for a request that is on its way
  };
})()"""
"""Requests of the page leave it after `window.delays` milliseconds, taken in turn."""


SEEDS = count(1)


def delay(page: Any, *milliseconds: int) -> None:
    page.evaluate(f"window.delays = {list(milliseconds)}")


@pytest.fixture
def late_page(open_page: Callable[..., Any]) -> Any:
    page = open_page()
    page.add_init_script(LATE)
    return page


@pytest.fixture
def study(server: Server, late_page: Any) -> Any:
    """A pasted game of six moves, at its start."""
    late_page.goto(f"{server.address}/analyse")
    late_page.fill("input[name=game]", "TicTacToe-v0")
    late_page.fill("input[name=seed]", str(next(SEEDS)))  # a game of its own, whose values nobody has asked for
    late_page.fill("textarea[name=moves]", "0 3 1 4 8 5")
    late_page.click("form:has(textarea[name=moves]) button")
    late_page.wait_for_selector(".turn:has-text('After move 6 of 6')")
    late_page.keyboard.press("Home")
    late_page.wait_for_selector(".turn:has-text('Start')")
    return late_page


def shows_move(page: Any, number: int) -> None:
    """The board, and nothing but one board, is at this move, and so is the address, also half a second later."""
    page.wait_for_selector(f".turn:has-text('After move {number} of 6')")
    page.wait_for_url(f"**move={number}")
    page.wait_for_timeout(600)
    assert page.locator("#board").count() == 1
    assert f"After move {number} of 6" in page.inner_text(".turn")
    assert page.url.endswith(f"move={number}")


def test_steps_faster_than_the_server_are_all_counted(study: Any) -> None:
    delay(study, 150)
    for _ in range(6):
        study.keyboard.press("ArrowRight")
    shows_move(study, 6)
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        study.keyboard.press(key)
    shows_move(study, 2)


def test_back_pressed_fast_leads_to_the_position_of_the_address(study: Any) -> None:
    """Back six times, and Forward, while answers come late and out of order: the board is where the address is."""
    for number in range(1, 7):
        study.keyboard.press("ArrowRight")
        study.wait_for_url(f"**move={number}")
        study.wait_for_selector(f".turn:has-text('After move {number} of 6')")
    delay(study, 500, 50, 300, 0)
    for _ in range(4):
        study.evaluate("history.back()")
    shows_move(study, 2)
    for _ in range(2):
        study.evaluate("history.forward()")
    shows_move(study, 4)
    study.evaluate("history.back()")
    # the address changes at once, the answer comes late; a browser that is slower than the key would go back from the end
    study.wait_for_url("**move=3")
    study.keyboard.press("End")
    shows_move(study, 6)


def test_back_and_forward_at_a_table(server: Server, late_page: Any) -> None:
    """Moves are no pages: Back leaves the table, however many were played, and Forward shows it as it is now."""
    late_page.goto(f"{server.address}/?game=Sokoban-v0&seed=3")
    late_page.fill("#seat0", "human")
    late_page.click("form.setup button.main")
    late_page.wait_for_selector("#moves")
    table = late_page.url
    delay(late_page, 150, 0)
    for key in ("ArrowUp", "ArrowLeft", "ArrowDown"):
        late_page.keyboard.press(key)
    late_page.wait_for_selector("#log li:nth-child(3)")
    for _ in range(3):
        late_page.go_back()
        late_page.wait_for_selector("form.setup")
        late_page.go_forward()
        late_page.wait_for_url(table)
        late_page.wait_for_selector("#log li:nth-child(3)")
    assert late_page.locator("#log li").count() == 3
    assert late_page.locator("#board").count() == 1


def test_the_last_of_many_clicks_is_what_is_shown(study: Any) -> None:
    delay(study, 400, 100, 250, 0)
    for number in (1, 5, 2, 4):
        study.click(f"#log li:nth-child({number}) a", no_wait_after=True)
    shows_move(study, 4)


def asked_for(page: Any, number: int) -> Any:
    """The request of a move, clicked in the list, which waits until `continue_` is called."""
    waiting: list[Any] = []
    page.route(lambda address: f"move={number}" in address, lambda route: waiting.append(route), times=1)
    page.click(f"#log li:nth-child({number}) a", no_wait_after=True)
    while not waiting:
        page.wait_for_timeout(20)
    return waiting[0]


def answered_with_the_button_down(page: Any, number: int, over: str) -> None:
    """The answer to a click on a move comes while the mouse button is down over an element."""
    request = asked_for(page, number)
    page.hover(over)
    page.mouse.down()
    with page.expect_response(lambda answer: f"move={number}" in answer.url):
        request.continue_()
    page.wait_for_timeout(200)


def test_a_click_is_not_lost_when_an_earlier_answer_comes_while_the_button_is_down(study: Any) -> None:
    answered_with_the_button_down(study, 1, "#log li:nth-child(4) a")
    study.mouse.up()
    shows_move(study, 4)


def test_an_answer_that_came_while_the_button_was_down_is_shown_after_it(study: Any) -> None:
    answered_with_the_button_down(study, 3, "h1")
    assert "Start" in study.inner_text(".turn")
    study.mouse.up()
    shows_move(study, 3)


def test_a_move_can_be_tried_before_its_value_is_known(study: Any) -> None:
    study.route("**/live?*", lambda route: route.abort())  # no value ever comes
    study.keyboard.press("ArrowRight")
    shows_move(study, 1)
    assert study.locator("#values button").count() == 0
    study.click("#picture [data-action='4'], #picture [data-action='0:4']")
    study.wait_for_selector(".variation")
    study.wait_for_selector(".turn:has-text('After move 2 of 2')")
    study.wait_for_url("**line=1%3A4")
    assert study.locator("#board").count() == 1, "the answer was put into a part of the page"


def test_a_move_is_tried_while_values_are_refined(study: Any) -> None:
    study.keyboard.press("ArrowRight")
    study.wait_for_selector("#values #try-4")
    study.click("#values #try-4")
    study.wait_for_selector(".variation")
    study.wait_for_selector(".turn:has-text('After move 2 of 2')")
    assert study.locator("#board").count() == 1, "the answer was put into a part of the page"


def test_runs_that_are_ticked_fast_are_the_ones_of_the_address(server: Server, late_page: Any) -> None:
    for name in ("first", "second", "third"):
        write_table(server.folder / "runs" / f"{name}.csv", 5)
    late_page.goto(f"{server.address}/runs?run=first")
    delay(late_page, 500, 0)
    late_page.check("input[value=second]")
    late_page.check("input[value=third]")
    late_page.wait_for_selector(".legend li:nth-child(3)")
    late_page.wait_for_timeout(800)  # the answer with two runs comes now
    assert late_page.locator(".legend li").count() == 3
    assert "run=third" in late_page.url


def test_a_click_is_not_lost_when_its_part_is_refreshed(server: Server, late_page: Any) -> None:
    file = server.folder / "runs" / "written.csv"
    write_table(file, 5)
    late_page.goto(f"{server.address}/runs?run=written")
    late_page.wait_for_selector(".legend strong:text-is('0.5')")
    late_page.hover("#live a[href='/runs/written']")
    late_page.mouse.down()
    with late_page.expect_response(lambda answer: "/runs?" in answer.url):
        write_table(file, 7)
    late_page.wait_for_timeout(200)
    late_page.mouse.up()
    late_page.wait_for_url("**/runs/written")


def test_a_part_is_refreshed_after_the_mouse_button_is_released(server: Server, late_page: Any) -> None:
    file = server.folder / "runs" / "released.csv"
    write_table(file, 5)
    late_page.goto(f"{server.address}/runs?run=released")
    late_page.hover("h1")
    late_page.mouse.down()
    with late_page.expect_response(lambda answer: "/runs?" in answer.url):
        write_table(file, 8)
    late_page.wait_for_timeout(200)
    assert late_page.locator(".legend strong:text-is('0.5')").count() == 1
    late_page.mouse.up()
    late_page.wait_for_selector(".legend strong:text-is('0.8')")


def test_arrow_keys_typed_ahead_are_all_played(server: Server, late_page: Any) -> None:
    late_page.goto(f"{server.address}/?game=Sokoban-v0&seed=3")
    late_page.fill("#seat0", "human")
    late_page.click("form.setup button.main")
    late_page.wait_for_selector("#moves")
    delay(late_page, 150)
    keys = ("ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp")
    for key in keys:
        late_page.keyboard.press(key)
    late_page.wait_for_selector("#log li:nth-child(5)")
    told = [text.partition(":")[0] for text in late_page.locator("#log li").all_inner_texts()]
    assert told == [key.removeprefix("Arrow") for key in keys]


def test_a_hand_typed_fast_is_the_hand_of_the_address(server: Server, late_page: Any) -> None:
    late_page.goto(f"{server.address}/texas42/hand")
    delay(late_page, 300, 0, 150)
    for pips in ("66", "56", "64", "62", "55", "11", "00"):
        late_page.keyboard.type(pips)
    late_page.wait_for_selector("#bids h2:text('Bid up to')")
    chosen = late_page.eval_on_selector_all("#hand input:checked", "all => all.map(one => one.value)")
    assert sorted(chosen) == ["0-0", "1-1", "5-5", "6-2", "6-4", "6-5", "6-6"]
    assert late_page.url.count("tile=") == 7


def test_a_link_may_be_replaced_before_its_answer_comes(study: Any) -> None:
    study.wait_for_selector("#graph a[href*='move=2'] circle")
    delay(study, 300)
    study.click("#graph a[href*='move=2'] circle", no_wait_after=True)
    study.evaluate("document.querySelector('#graph').replaceChildren()")
    shows_move(study, 2)
    assert study.locator("header").count() == 1, "the whole page was put into the board's place"
    study.keyboard.press("ArrowRight")
    shows_move(study, 3)


def test_play_is_pressed_although_the_options_of_an_agent_come_meanwhile(server: Server, late_page: Any) -> None:
    """They are asked for when the pointer leaves the name for the button, and would push the button away from under it."""
    late_page.goto(f"{server.address}/?game=TicTacToe-v0")
    late_page.wait_for_load_state("networkidle")
    late_page.fill("#seat1", "human")
    button = late_page.locator("form.setup button.main").bounding_box()
    late_page.mouse.move(button["x"] + button["width"] / 2, button["y"] + button["height"] / 2)
    late_page.mouse.down()
    late_page.wait_for_timeout(1500)
    late_page.mouse.up()
    late_page.wait_for_selector("#board", timeout=20_000)
