"""Pages that compile a game first: another page answers at once and leads to them when they are ready."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from ludory.agents.analysis import positions
from ludory.agents.make import make_agent
from ludory.data.replay import record_replay, replay_json, write_replay
from ludory.envs.make import make_game
from ludory.errors import OptionError
from ludory.web import duel, recorded
from ludory.web.app import WebSettings
from ludory.web.pages import starting
from ludory.web.texas42 import hand

GAME = "TicTacToe-v0"
HAND = "/texas42/hand?tiles=6-6,6-5,6-4,6-2,5-5,1-1,0-0"
DUEL = {"game": "HanabiTiny2P-v0", "first": "hanabi/iggi", "second": "random", "seed": "1"}


@pytest.fixture
def data(client: TestClient, settings: WebSettings, tmp_path: Path) -> str:
    """A recorded game; its id."""
    game = make_game(GAME)
    write_replay(tmp_path / "replays" / "game.json", record_replay(game, [make_agent("random", game)] * 2, 1))
    client.app.state.ludory.settings = dataclasses.replace(settings, data=tmp_path / "replays")  # type: ignore[attr-defined]
    return f"g-{next(iter(recorded.find_recordings(tmp_path / 'replays')))}-0"


def led_to(client: TestClient, page: str) -> Any:
    """The answer that the waiting page leads to."""
    while (answer := client.get(page, headers={"hx-request": "true"})).status_code == 204:
        time.sleep(0.01)
    return client.get(answer.headers["hx-redirect"])


@pytest.mark.parametrize(
    ("address", "module", "slow", "words"),
    [
        ("/watch/{id}", recorded, "find_game", "Speed"),
        ("/analyse/{id}", recorded, "find_game", "After move"),
        ("/arena/{duel}", duel, "duel_page", "random"),
        (HAND, hand, "hand_page", "Bid"),
        ("/table/{table}", None, "position", "Your turn"),
    ],
)
def test_a_page_that_takes_long_is_waited_for_on_a_page_of_its_own(
    client: TestClient,
    data: str,
    monkeypatch: pytest.MonkeyPatch,
    address: str,
    module: Any,
    slow: str,
    words: str,
) -> None:
    seats = {"game": GAME, "seat0": "human", "seat1": "random", "seed": "1"}
    table = client.post("/tables", data=seats, follow_redirects=False).headers["location"].rpartition("/")[2]
    known_duel = client.post("/arena", data=DUEL, follow_redirects=False).headers["location"].rpartition("/")[2]
    module = module or client.app.state.ludory.tables  # type: ignore[attr-defined]
    compiled, calls, compute = threading.Event(), [], getattr(module, slow)

    def late(*asked: Any) -> Any:
        calls.append(asked)
        assert compiled.wait(60)
        return compute(*asked)

    address = address.format(id=data, duel=known_duel, table=table)
    monkeypatch.setattr(module, slow, late)
    monkeypatch.setattr(starting, "PATIENCE", 0.02)
    page = client.get(address, follow_redirects=False).headers["location"]
    assert "opens by itself" in client.get(page).text
    assert client.get(address, follow_redirects=False).headers["location"] == page, "it is not made twice"
    assert client.get(page, headers={"hx-request": "true"}).status_code == 204
    assert len(calls) == 1
    compiled.set()
    shown = led_to(client, page)
    assert shown.status_code == 200
    assert shown.url.path == address.partition("?")[0]
    assert words in shown.text
    assert client.get(page).status_code == 404, "what was shown is forgotten"


def test_what_goes_wrong_while_one_waits_is_said(
    client: TestClient, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = threading.Event()

    def failing(*_: Any) -> Any:
        compiled.wait(60)
        raise OptionError("no such game today")

    monkeypatch.setattr(recorded, "find_game", failing)
    monkeypatch.setattr(starting, "PATIENCE", 0.02)
    page = client.get(f"/watch/{data}", follow_redirects=False).headers["location"]
    other = TestClient(client.app, base_url=str(client.base_url), cookies={"ludory_person": "another"})
    assert other.get(f"/watch/{data}", follow_redirects=False).headers["location"] != page, "who sees what may differ"
    compiled.set()
    answer = led_to(client, page)
    assert (answer.status_code, "no such game today" in answer.text) == (400, True)


def test_data_and_parts_are_waited_for(client: TestClient, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "PATIENCE", 0.0)
    assert client.get(f"/analyse/{data}?json", follow_redirects=False).status_code == 200
    part = client.get(f"/analyse/{data}?move=1", headers={"hx-request": "true"}, follow_redirects=False)
    assert part.status_code == 200


def test_a_pasted_game_is_compiled_in_the_background(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    game, compiled, compute = make_game(GAME), threading.Event(), positions.positions

    def late(*asked: Any) -> Any:
        assert compiled.wait(60)
        return compute(*asked)

    monkeypatch.setattr(positions, "positions", late)
    monkeypatch.setattr(starting, "PATIENCE", 0.02)
    text = replay_json(record_replay(game, [make_agent("random", game)] * 2, 1))
    page = client.post("/analyse", data={"replay": text}, follow_redirects=False).headers["location"]
    assert "The pasted game" in client.get(page).text
    compiled.set()
    monkeypatch.setattr(starting, "PATIENCE", 60.0)
    assert "After move" in led_to(client, page).text
