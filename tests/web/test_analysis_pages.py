"""The pages of analysis, watching and duels over HTTP."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from ludory.agents.make import make_agent
from ludory.data.replay import record_replay, replay_json

PASTED = {"game": "TicTacToe-v0", "seed": "0", "options": "", "moves": "0 3 1 4 8 5"}


@pytest.fixture
def game(client: TestClient) -> str:
    """Address of the analysis of a pasted game."""
    answer = client.post("/analyse", data=PASTED, follow_redirects=False)
    assert answer.status_code == 303
    address: str = answer.headers["location"]
    return address


def test_a_pasted_game_is_kept_and_shown_at_any_position(client: TestClient, game: str) -> None:
    page = client.get(f"{game}?move=4")
    assert page.status_code == 200
    assert "After move 4 of 6" in page.text
    assert f"{game}?move=3" in page.text
    assert 'data-key="ArrowLeft"' in page.text
    assert client.post("/analyse", data=PASTED, follow_redirects=False).headers["location"] == game
    assert client.get(game.replace("analyse", "watch")).status_code == 200


def test_a_replay_file_can_be_pasted(client: TestClient) -> None:
    replay = record_replay("TicTacToe-v0", [make_agent("random(seed=1)", "TicTacToe-v0")] * 2, seed=4)
    answer = client.post("/analyse", data={"replay": replay_json(replay)})
    assert answer.status_code == 200
    assert f"After move {len(replay.moves)} of {len(replay.moves)}" in answer.text


def test_the_values_are_streamed_and_shown(client: TestClient, game: str) -> None:
    with client.stream("GET", f"{game}/values/live?move=4") as stream:
        for line in stream.iter_lines():
            if line == "event: changed":
                break
    report = client.get(f"{game}?move=4&json=").json()["position"]
    assert report["values"]["moves"][0]["action"] == 2
    shown = client.get(f"{game}/values?move=4").text
    assert f'value="0:{report["values"]["moves"][0]["action"]}"' in shown
    assert "played" in shown


def test_another_move_leads_to_a_variation(client: TestClient, game: str) -> None:
    answer = client.get(f"{game}?move=4&try=0:2")
    assert "Variation" in answer.text
    assert "the game is over" in answer.text
    assert "line=4%3A2" in str(answer.url)
    recorded = client.get(f"{game}?move=4&try=0:8")
    assert "line" not in str(recorded.url)
    assert "move=5" in str(recorded.url)


@pytest.mark.parametrize(
    "query",
    [
        "move=7",
        "move=-1",
        "move=1e3",
        "view=2",
        "view=x",
        "line=4:0",
        "line=x",
        "line=4:2,2",
        "try=99",
        "try=1:1",
        "agent=/etc/passwd",
    ],
)
def test_addresses_that_make_no_sense_are_answered_in_words(client: TestClient, game: str, query: str) -> None:
    answer = client.get(f"{game}?{query}" if "move" in query else f"{game}?move=4&{query}")
    assert 400 <= answer.status_code < 500
    assert "Traceback" not in answer.text
    assert client.get(game).status_code == 200


@pytest.mark.parametrize("id", ["s-0000000000000000", "s-../../x", "t-nothing", "g-0000000000-0", "x", "..%2f..%2fetc"])
@pytest.mark.parametrize("page", ["analyse", "watch"])
def test_unknown_games_are_not_found(client: TestClient, page: str, id: str) -> None:
    assert client.get(f"/{page}/{id}").status_code == 404


@pytest.mark.parametrize(
    "form",
    [
        {"replay": "{"},
        {"replay": "[" * 5000},
        {"replay": json.dumps({"format": "ludory replay 1"})},
        PASTED | {"moves": "0 0"},
        PASTED | {"moves": "<script>"},
        PASTED | {"game": "../../etc"},
        PASTED | {"seed": "9" * 40},
        PASTED | {"options": "x"},
    ],
)
def test_what_is_no_game_is_refused(client: TestClient, form: dict[str, str]) -> None:
    answer = client.post("/analyse", data=form)
    assert 400 <= answer.status_code < 500
    assert "<script>" not in answer.text.replace('<script src="', "")


def running_hanabi(client: TestClient, hidden: bool = True) -> Any:
    """A table where a person sits at seat 0 of Hanabi."""
    tables = client.app.state.ludory.tables  # type: ignore[attr-defined]
    agents = ["", "hanabi/iggi"] if hidden else ["hanabi/iggi"] * 2
    table = tables.start("HanabiTiny2P-v0", {}, 3, agents, "me")
    tables.settle(table, 60)
    return table


def test_a_running_game_is_shown_as_its_player_sees_it_and_to_nobody_else(client: TestClient) -> None:
    table = running_hanabi(client)
    assert client.get(f"/analyse/t-{table.id}").status_code == 400
    assert client.get(f"/watch/t-{table.id}").status_code == 400
    client.cookies.set("ludory_person", "me")
    for query in ("", "?view=1", "?view=all"):
        page = client.get(f"/analyse/t-{table.id}{query}")
        assert page.status_code == 200
        assert "You see what seat 0 knows" in page.text
        assert "all cards face up" not in page.text
    assert client.get(f"/analyse/t-{table.id}?try=0:0").status_code == 400
    assert client.get(f"/watch/t-{table.id}").status_code == 400


def test_agents_are_watched_while_they_play(client: TestClient) -> None:
    answer = client.post("/watch", data={"game": "HanabiTiny2P-v0", "agents": "hanabi/iggi", "seed": "3"})
    assert answer.status_code == 200
    id = re.search(r"/watch/(t-[0-9a-f]+)", str(answer.url))
    assert id is not None
    tables = client.app.state.ludory.tables  # type: ignore[attr-defined]
    tables.settle(tables.get(id[1][2:]), 60)
    data = client.get(f"/watch/{id[1]}/positions").json()
    assert len(data["positions"]) > 3
    assert "more" not in data
    assert client.get("/watch/player.js").headers["content-type"].startswith("text/javascript")


def test_two_agents_are_compared_as_their_games_come_in(client: TestClient) -> None:
    address = "?game=TicTacToe-v0&first=mcts(simulations=30)&second=random&seed=1"
    with client.stream("GET", f"/arena/live{address}") as stream:
        events = [line for line in stream.iter_lines() if line.startswith("event")]
    assert events[-1] == "event: done"
    found = client.get(f"/arena{address}&json=").json()
    assert found["decided"]
    assert "is better" in client.get(f"/arena{address}").text


@pytest.mark.parametrize(
    "query",
    [
        "game=x&first=random&second=mcts",
        "game=TicTacToe-v0&first=random&second=random",
        "game=TicTacToe-v0&first=a&second=b&seed=x",
    ],
)
def test_duels_that_cannot_be_fought_are_answered_in_words(client: TestClient, query: str) -> None:
    assert 400 <= client.get(f"/arena?{query}").status_code < 500
