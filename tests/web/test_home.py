"""The first page: every game is there, and a form starts a table."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

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
