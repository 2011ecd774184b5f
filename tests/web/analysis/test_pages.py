"""The pages of analysis, watching and duels over HTTP."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from ludory.agents.make import make_agent
from ludory.cli import main
from ludory.data.replay import record_replay, replay_json, write_replay
from ludory.web import recorded
from ludory.web.app import WebSettings

from .test_values import lost_five

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


@pytest.mark.slow
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


@pytest.mark.slow
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


DUEL = {"game": "TicTacToe-v0", "first": "mcts(simulations=30)", "second": "random", "seed": "1"}


def test_two_agents_are_compared_as_their_games_come_in(client: TestClient) -> None:
    address = client.post("/arena", data=DUEL, follow_redirects=False).headers["location"]
    assert re.fullmatch(r"/arena/d-[0-9a-f]{16}", address)
    assert client.post("/arena", data=DUEL, follow_redirects=False).headers["location"] == address
    with client.stream("GET", f"{address}/live") as stream:
        events = [line for line in stream.iter_lines() if line.startswith("event")]
    assert events[-1] == "event: done"
    assert client.get(f"{address}?json").json()["decided"]
    page = client.get(address).text
    assert "is better" in page
    assert 'value="mcts(simulations=30)"' in page
    assert 'value="mcts"' in client.get("/arena?first=mcts").text


@pytest.mark.parametrize(
    "change", [{"game": "x"}, {"first": "random"}, {"second": "b"}, {"seed": "x"}, {"first": "human"}]
)
def test_duels_that_cannot_be_fought_are_answered_in_words(client: TestClient, change: dict[str, str]) -> None:
    answer = client.post("/arena", data=DUEL | change)
    assert 400 <= answer.status_code < 500
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("id", ["d-0123456789abcdef", "x", "s-0123456789abcdef", "..%2fpasted%2fs-0"])
def test_unknown_duels_are_not_found(client: TestClient, id: str) -> None:
    assert client.get(f"/arena/{id}").status_code == 404
    assert client.get(f"/arena/{id}/live").status_code == 404


@pytest.mark.slow
def test_the_move_that_cost_a_recorded_game_is_shown_with_the_figures_of_the_command_line(
    client: TestClient, settings: WebSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    bots = [make_agent("hanabi/smartbot", "Hanabi2P-v0")] * 2
    lost, number = lost_five(record_replay("Hanabi2P-v0", bots, seed=3))
    assert settings.data is not None
    file = settings.data / "lost" / "game.json"
    file.parent.mkdir()
    write_replay(file, lost)
    key = next(iter(recorded.find_recordings(settings.data)))
    page = f"/analyse/g-{key}-0"
    assert client.get(page).status_code == 200
    with client.stream("GET", f"{page}/graph/live") as stream:
        assert [line for line in stream.iter_lines() if line.startswith("event")][-1] == "event: done"
    shown = client.get(f"{page}/graph?json").json()
    assert main(["analyse", str(file), "--json"]) == 0
    assert shown == json.loads(capsys.readouterr().out) | {"problem": ""}
    worst = max(shown["decisions"], key=lambda one: one["loss"])
    assert worst["number"] == number
    assert worst["mistake"]
    told = re.search(
        rf'move={number}">-{worst["loss"]:.2g} points: seat {worst["seat"]} (.*?)</a>', client.get(f"{page}/graph").text
    )
    assert told is not None
    assert told[1].endswith(" 5")

    values = {"rollouts": 0}
    with client.stream("GET", f"{page}/values/live?move={number}") as stream:
        for line in stream.iter_lines():
            if line == "event: changed":
                values = client.get(f"{page}?move={number}&json").json()["position"]["values"]
            if values["rollouts"] > 3000:
                break
    assert main(["analyse", str(file), "--move", str(number), "--rollouts", str(values["rollouts"]), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["values"]
    figures = ("action", "value", "stderr", "played")
    assert [[one[name] for name in figures] for one in values["moves"]] == [
        [one[name] for name in figures] for one in printed["moves"]
    ]
