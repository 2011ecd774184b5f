"""Games from the first page to their end: by clicks in the picture, and by keys."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from ludory.agents.make import make_agent
from ludory.data.replay import record_replay
from ludory.envs.make import make_game

from .conftest import Server
from .table_page import OpenPage, after, click_in_picture, play, start, start_by_keys, state

pytestmark = pytest.mark.slow

GAMES = [
    ("TicTacToe-v0", ("human", "random")),
    ("ConnectFour-v0", ("human", "random")),
    ("Hanabi2P-v0", ("human", "hanabi/iggi")),
    ("Texas42-v0", ("human", "random", "random", "random")),
    ("Go9-v0", ("human", "random")),
    ("KuhnPoker-v0", ("human", "random")),
    ("LeducPoker-v0", ("human", "random")),
    ("FrozenLakeRagen1-v0", ("human",)),
    ("Sudoku4-v0", ("human",)),
    ("Nim-v0", ("human", "nim/perfect")),
    ("PokemonGen1RandomBattle-v0", ("human", "random")),
]
SHORT = ("TicTacToe-v0", "Go9-v0", "KuhnPoker-v0", "LeducPoker-v0", "FrozenLakeRagen1-v0")
"""Games whose keys are tested in others: numbers everywhere, arrows in Sokoban."""
RUSHED = 2
"""Seed of a match in the arena in which one who only walks to the right is caught within 40 moves."""


def need_simulator(game: str) -> None:
    from ludory.envs.pokemon.backends.install import needed
    from ludory.errors import PluginError

    if not game.startswith("Pokemon"):
        return
    if os.environ.get("LUDORY_REQUIRE_POKEMON") == "0":
        pytest.skip("battles are played by: make test-pokemon")
    try:
        needed()
    except PluginError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("game", "seats"), GAMES)
def test_a_game_is_played_by_clicking_in_the_picture(
    open_page: OpenPage, server: Server, game: str, seats: tuple[str, ...]
) -> None:
    need_simulator(game)
    page = open_page()
    start(page, server, game, *seats)
    play(page, lambda: click_in_picture(page))


@pytest.mark.parametrize(("game", "seats"), [one for one in GAMES if one[0] not in SHORT])
def test_a_game_is_played_by_keys_only(open_page: OpenPage, server: Server, game: str, seats: tuple[str, ...]) -> None:
    need_simulator(game)
    page = open_page()
    start_by_keys(page, server, game, *seats)
    play(page, lambda: page.keyboard.press("1"))  # the first legal move


def test_buttons_are_reached_by_arrow_keys_and_moves_are_taken_back(open_page: OpenPage, server: Server) -> None:
    page = open_page()
    start_by_keys(page, server, "ConnectFour-v0", "human", "random")

    def walk() -> None:
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")

    play(page, walk)
    after(page, lambda: page.keyboard.press("Backspace"))
    assert "Your turn" in state(page)
    page.wait_for_selector("#board :text('1 times')")


def test_a_finished_game_leads_to_its_analysis_and_to_the_next_one_by_keys(open_page: OpenPage, server: Server) -> None:
    page = open_page()
    start_by_keys(page, server, "TicTacToe-v0", "human", "random")
    play(page, lambda: page.keyboard.press("1"))
    table = page.url
    page.keyboard.press("a")
    page.wait_for_url("**/analyse/t-*")
    page.goto(table)
    page.wait_for_selector("#board")
    page.keyboard.press("n")
    page.wait_for_url(lambda address: "/table/" in address and address != table)
    assert page.locator("#log li").count() <= 1, "seat 0 begins, or its opponent has moved once"


@pytest.fixture(scope="module")
def pushes() -> list[int]:
    """The moves that solve the level of seed 3."""
    game = make_game("Sokoban-v0")
    return [int(move.action) for move in record_replay(game, [make_agent("sokoban/solver", game)], 3).moves]


@pytest.mark.parametrize("begin", [start, start_by_keys])
def test_a_level_of_sokoban_is_solved(
    open_page: OpenPage, server: Server, pushes: list[int], begin: Callable[..., None]
) -> None:
    page = open_page()
    begin(page, server, "Sokoban-v0", "human")

    def move() -> None:
        button = page.locator(f'#moves button[value="0:{pushes.pop(0)}"]')
        if begin is start:
            page.locator(f'#picture [data-action~="{button.get_attribute("value")}"]').click()
        else:
            page.keyboard.press(button.get_attribute("data-key"))

    pushes = list(pushes)
    play(page, move, len(pushes))


def test_a_match_in_the_arena_is_played_by_clicking_in_the_picture(open_page: OpenPage, server: Server) -> None:
    page = open_page()
    start(page, server, "Arena2P-v0", "human", "arena/rusher", seed=RUSHED)

    def move() -> None:
        page.locator('#picture [data-action="0:4 1:2"]').click()
        page.locator('#picture [data-action="send"]').click()

    play(page, move)


def test_a_match_in_the_arena_is_played_by_keys_only(open_page: OpenPage, server: Server) -> None:
    page = open_page()
    start_by_keys(page, server, "Arena2P-v0", "human", "arena/rusher", seed=RUSHED)

    def move() -> None:
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")

    play(page, move)
