"""The page that shows a replay."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from itertools import islice
from typing import Any

import pytest
from games.nim import nim

from ludory.agents.random import RandomAgent
from ludory.data.replay import Replay, frames, record_replay
from ludory.data.viewing.replay_page import replay_html
from ludory.envs.make import make_game
from ludory.envs.pictures import plain
from ludory.errors import OptionError

TINY = "HanabiTiny2P-v0"


@pytest.fixture(scope="module")
def replay() -> Replay:
    facts = make_game(TINY).facts
    return record_replay(TINY, [RandomAgent(facts, seed=1), RandomAgent(facts, seed=2)], seed=4)


def content(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


def picture(data: dict[str, Any], position: int, view: int, kind: str = "svg") -> str:
    return "\n".join(data["lines"][number] for number in data["positions"][position][kind][view])


class Elements(HTMLParser):
    """All start tags with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))


def test_the_page_holds_every_position_as_every_seat_sees_it(replay: Replay) -> None:
    data, game = content(replay_html(replay)), make_game(TINY)
    assert game.look.svg is not None
    assert game.look.text is not None
    assert data["views"] == ["everything", "seat 0 (random)", "seat 1 (random)"]
    for position, engine in enumerate(frames(replay)):
        for view, seat in enumerate([None, 0, 1]):
            assert picture(data, position, view) == game.look.svg(engine.state, 0, seat)
            assert picture(data, position, view, "text") == plain(game.look.text(engine.state, 0, seat))
    assert len(data["positions"]) == len(replay.moves) + 1


def test_moves_are_in_words_with_what_they_brought(replay: Replay) -> None:
    data, game = content(replay_html(replay)), make_game(TINY)
    assert game.look.last_move is not None
    expected = ["start", *(game.look.last_move(engine.state, 0) for engine in islice(frames(replay), 1, None))]
    assert [position["move"] for position in data["positions"]] == expected
    assert data["positions"][-1]["returns"] == f"return {replay.returns[0]:g}"
    gains = [float(position["gain"] or 0) for position in data["positions"]]
    assert sum(gains) == replay.returns[0]


def test_the_page_loads_nothing(replay: Replay) -> None:
    page = replay_html(replay)
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    loaders = {"src", "href", "action", "data", "poster", "srcset"}
    assert [(tag, attributes) for tag, attributes in Elements(page).found if loaders & attributes.keys()] == []
    assert "default-src 'none'" in page


def test_every_control_has_a_name(replay: Replay) -> None:
    page = replay_html(replay)
    for tag, attributes in Elements(page).found:
        if tag == "input" or (tag == "button" and attributes.get("id") != "play"):
            assert attributes.get("aria-label"), attributes
    assert page.count("<label>") == page.count("<select ") == 2


def test_a_game_without_svg_is_shown_as_text() -> None:
    game = nim()
    replay = record_replay(game, [RandomAgent(game.facts, seed=1)] * 2, seed=4)
    data = content(replay_html(replay, game=game))
    assert data["views"] == ["everything"]
    assert "svg" not in data["positions"][0]
    assert picture(data, -1, 0, "text") == "- - -"
    assert re.fullmatch(r"seat [01]: take [12] from heap [123]", data["positions"][-1]["move"])
    assert data["positions"][-1]["returns"] in ("returns 1, -1", "returns -1, 1")


def test_names_can_not_break_out_of_the_data(replay: Replay) -> None:
    page = replay_html(replace(replay, agents=("</script><script>alert(1)</script>", "<!--")))
    assert page.count("</script>") == 2
    assert content(page)["subtitle"] == "seat 0: </script><script>alert(1)</script>, seat 1: <!--"


def test_lines_that_pictures_share_are_kept_once(replay: Replay) -> None:
    page, data = replay_html(replay), content(replay_html(replay))
    assert len(set(data["lines"])) == len(data["lines"])
    pictures = sum(len(picture(data, position, view)) for position in range(len(replay.moves) + 1) for view in range(3))
    assert len(page) < pictures / 3


def test_the_first_view_is_the_seat_asked_for(replay: Replay) -> None:
    assert content(replay_html(replay, seat=1))["view"] == 2
    with pytest.raises(OptionError, match="must be None or 0 to 1"):
        replay_html(replay, seat=2)


def test_the_template_lies_in_the_package() -> None:
    assert "{{data}}" in resources.files("ludory.data.viewing").joinpath("replay.html").read_text(encoding="utf-8")
