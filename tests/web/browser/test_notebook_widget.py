"""The widget of a game in a browser, with a stand-in for the notebook between it and Python."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest

import ludory
from ludory.web import ShownGame

pytestmark = pytest.mark.plain

SCRIPT = resources.files("ludory.web") / "static" / "notebook.js"
NOTEBOOK = """
<div id="cell"></div>
<script type="module">
  const { default: { render } } = await import(URL.createObjectURL(new Blob([await script()], { type: "text/javascript" })));
  let board = await obey({ do: "go", to: 99 }), heard = () => {};
  render({ el: document.getElementById("cell"), model: {
    get: () => board,
    on: (name, call) => { heard = call; },
    send: async message => { board = await obey(message); heard(); },
  }});
</script>
"""


@pytest.fixture
def cell(chromium: Any) -> Any:
    """Shows a game in a page: `cell(game)` returns the page."""
    pages: list[Any] = []
    problems: list[str] = []

    def shown(game: ShownGame) -> Any:
        def obey(message: dict[str, Any]) -> dict[str, Any]:
            game.obey(message)
            return game.board()

        page = chromium.new_page()
        pages.append(page)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.expose_function("obey", obey)
        page.expose_function("script", lambda: SCRIPT.read_text(encoding="utf-8"))
        page.set_content(NOTEBOOK)
        page.wait_for_selector(".ludory-picture svg", timeout=10_000)
        return page

    yield shown
    for page in pages:
        page.close()
    assert not problems


def game(id: str, **arguments: Any) -> ShownGame:
    made = ludory.show(id, "random", seed=1, **arguments)
    assert isinstance(made, ShownGame)
    return made


def test_a_click_into_the_picture_plays(cell: Any) -> None:
    page = cell(played := game("TicTacToe-v0"))
    page.locator("svg [data-action='0:4']").click()
    page.get_by_text("Move 2 of 2").wait_for()
    assert played.replay.moves[0] == (0, 4)
    page.get_by_role("button", name="One move back").click()
    page.get_by_text("Move 1 of 2").wait_for()
    assert page.locator(".ludory-moves button").count() == 0
    page.get_by_role("button", name="Last position").click()
    page.locator(".ludory-moves").get_by_text("a1").click()
    page.get_by_text("Move 4 of 4").wait_for()
    page.get_by_role("button", name="New game").click()
    page.get_by_text("Move 0 of 0").wait_for()


def test_a_place_that_stands_for_several_moves_leaves_their_buttons(cell: Any) -> None:
    page = cell(game("HanabiTiny2P-v0"))
    card = page.locator("svg [data-action*=' ']").first
    codes = card.get_attribute("data-action").split()
    before = page.locator(".ludory-moves button:visible").count()
    card.click()
    assert page.locator(".ludory-moves button:visible").count() == len(codes) < before


def test_several_heads_are_chosen_and_sent(cell: Any) -> None:
    page = cell(played := game("Arena2P-v0"))
    heads = page.locator(".ludory-moves select")
    assert heads.count() == len(played.game.facts.heads)
    heads.first.select_option(index=1)
    page.locator(".ludory-send").click()
    page.get_by_text("Move 1 of 1").wait_for()
    assert played.replay.moves[0].action[0][0] == list(played.legal[0])[1]


def test_agents_move_when_asked(cell: Any) -> None:
    page = cell(game("KuhnPoker-v0", seat=None))
    page.get_by_role("button", name="Next move").click()
    page.get_by_text("Move 1 of 1").wait_for()
