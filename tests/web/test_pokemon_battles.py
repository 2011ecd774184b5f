"""Logs of Pokémon battles among the recorded games: listed and drawn without a simulator."""

from __future__ import annotations

import dataclasses
import json
import re
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from pokemon.data.recorded import BATTLES, SERVER_LOGS, lines_of, resimulations
from starlette.testclient import TestClient

from ludory.agents.evaluation.record import record
from ludory.cli import main
from ludory.data.pokemon.labels import spectator_trajectories
from ludory.data.pokemon.replays import RecordedBattle, read_battles
from ludory.data.pokemon.resimulation import request_trajectories
from ludory.data.pokemon.trajectories import write_trajectories
from ludory.data.pokemon.viewing.battle_page import BattleLog, battle_content, battle_logs, is_battle_file
from ludory.data.viewing.game_rows import GameFilter
from ludory.data.viewing.viewer import viewed_content, viewed_files, viewed_rows
from ludory.envs.pokemon.backends import install
from ludory.errors import DataError, UnknownIdError
from ludory.web import recorded
from ludory.web.app import WebSettings

FORMAT = "gen9randombattle"
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with battles of the simulator and of a server, a saved replay page, and trajectories of the first battles."""
    folder = tmp_path_factory.mktemp("battles")
    (folder / "logs").mkdir()
    records = list(islice(lines_of(BATTLES), 4))
    (folder / "logs" / "a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records[:3]))
    (folder / "logs" / "server.jsonl.gz").write_bytes(SERVER_LOGS.read_bytes())
    (folder / "logs" / "notes.json").write_text('{"log": "nothing"}')
    log = records[3]["log"].replace("/", "<\\/")
    (folder / "page").mkdir()
    (folder / "page" / "gen1.html").write_text(
        f'<html><script type="text/plain" class="battle-log-data">{log}</script>'
    )
    return folder


def battle_log(place: Path, row: int) -> BattleLog:
    """The battle of a row of the table."""
    return [log for file in viewed_files("battles", place) for log in battle_logs(file)][row]


def key_of(top: Path, name: str) -> str:
    return next(one.key for one in recorded.find_recordings(top).values() if one.name == name)


def test_battles_are_found_by_the_content_of_their_files(top: Path) -> None:
    rows = {row["name"]: row for row in recorded.folders_page(top)}
    assert {name: (row["kind"], row["games"]) for name, row in rows.items()} == {
        "logs": ("battles", 22),
        "page": ("battles", 1),
    }
    assert "gen6doublesou" in rows["logs"]["game"]
    assert [row["name"] for row in recorded.folders_page(top, "challengecup")] == ["logs"]
    assert not is_battle_file(top / "logs" / "notes.json")
    assert not is_battle_file(top / "missing.json")


@pytest.mark.slow
def test_every_recorded_battle_is_drawn_to_its_end() -> None:
    """Each act once, the turns in order, and at the end what the log says."""
    logs = [log for file in viewed_files("battles", BATTLES) for log in battle_logs(file)]
    for row in viewed_rows("battles", BATTLES)[::4]:
        log = logs[row.row]
        content = battle_content(log)
        positions, told = content["positions"], [one for one in log.lines if one.startswith(("|move|", "|switch|"))]
        turns = [one["gain"] for one in positions if one["gain"]]
        assert turns == [f"turn {number}" for number in range(1, row.moves + 1)]
        assert len(positions) >= len(told)
        assert positions[0]["move"] == "start"
        ending = {1.0: f"{log.players[0]} wins", -1.0: f"{log.players[1]} wins", 0.0: "a tie"}[row.returns[0]]
        assert content["title"].endswith(ending)
        assert positions[-1]["moment"].endswith(ending)
        left = [int(word) for word in re.findall(r"\d+", positions[-1]["returns"])]
        assert [count > 0 for count in left] == [score > 0 for score in row.returns]


def test_a_trajectory_shows_what_its_side_saw(tmp_path: Path) -> None:
    """A side knows its own team from the start; a spectator knows what was sent out."""
    battle = next(one for one in read_battles(BATTLES) if isinstance(one, RecordedBattle) and one.format == FORMAT)
    both = request_trajectories(battle, resimulations()[battle.id])
    write_trajectories(tmp_path / "seen.jsonl.gz", both)
    write_trajectories(tmp_path / "told.jsonl", spectator_trajectories(battle))
    write_trajectories(tmp_path / "zseed.jsonl", both, schema="seed")
    rows = viewed_rows("battles", tmp_path)
    assert [row.name for row in rows] == [f"{battle.id}, p1", f"{battle.id}, p2", *[battle.id] * 4]
    first = [battle_content(battle_log(tmp_path, row))["positions"] for row in range(4)]
    assert len({len(positions) for positions in first}) == 1
    unknown = [_text(battle_log(tmp_path, row)).count("?") for row in range(3)]
    assert 0 < unknown[0] < unknown[2]
    assert 0 < unknown[1] < unknown[2]
    with pytest.raises(DataError, match="convert its replay again"):
        battle_content(battle_log(tmp_path, 4))


def _text(log: BattleLog) -> str:
    """The board after the first act of the first turn, as text."""
    content = battle_content(log)
    return "\n".join(content["lines"][number] for number in content["positions"][3]["text"][0])


def test_pages_of_battles(top: Path, client: TestClient, settings: WebSettings) -> None:
    client.app.state.ludory.settings = dataclasses.replace(settings, data=top)  # type: ignore[attr-defined]
    key = key_of(top, "logs")
    page = client.get("/games", params={"folder": key})
    assert f"/watch/b-{key}-21" in page.text
    assert "/analyse/b-" not in page.text
    assert client.get("/games", params={"folder": key, "agent": "SimpleHeur", "json": ""}).json()["found"] == 3
    shown = client.get(f"/watch/b-{key}-0")
    assert shown.status_code == 200
    assert "Randa5 (Random)" in shown.text
    assert client.get(f"/watch/b-{key_of(top, 'page')}-0").status_code == 200
    doubles = next(row.row for row in viewed_rows("battles", top / "logs") if "doubles" in row.game)
    for id, status, words in (
        (f"b-{key}-22", 404, "no row 22"),
        (f"b-{key}-{doubles}", 400, "only singles can be shown"),
        (f"g-{key}-0", 404, "no recorded game"),
        ("b-0123456789-0", 404, "no recorded games"),
    ):
        answer = client.get(f"/watch/{id}")
        assert (answer.status_code, words in answer.text) == (status, True), id
    refused = client.get(f"/analyse/b-{key}-0")
    assert (refused.status_code, "can be watched, not analysed" in refused.text) == (400, True)


def test_names_in_logs_are_escaped(tmp_path: Path, client: TestClient, settings: WebSettings) -> None:
    log = next(lines_of(BATTLES))
    text = log["log"].replace("Randa5", EVIL).replace("Dodrio|Dodrio", f"{EVIL}|Dodrio") + f"\n|win|{EVIL}"
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "one.json").write_text(json.dumps({"id": EVIL, "format": EVIL, "log": text}))
    client.app.state.ludory.settings = dataclasses.replace(settings, data=tmp_path / "evil")  # type: ignore[attr-defined]
    key = next(iter(recorded.find_recordings(tmp_path / "evil")))
    for address in (f"/games?folder={key}", "/games", f"/watch/b-{key}-0"):
        assert "<img src=x" not in client.get(address).text, address
    content: dict[str, Any] = battle_content(battle_log(tmp_path / "evil", 0))
    drawn = {number for one in content["positions"] for number in one["svg"][0]}
    assert not any("<img" in content["lines"][number] for number in drawn)


def test_battles_at_the_command_line(top: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(top / "logs"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    page = recorded.games_page(top, key_of(top, "logs"), GameFilter())
    assert [{name: row[name] for name in row if name != "id"} for row in json.loads(json.dumps(page["rows"]))] == rows
    file = str(top / "logs" / "a.jsonl")
    assert main(["watch", file]) == 0
    assert "26 turns, returns -1, 1" in capsys.readouterr().out
    assert main(["watch", file, "--row", "0", "--html", str(tmp_path / "battle.html")]) == 0
    assert "<!doctype html>" in (tmp_path / "battle.html").read_text()
    capsys.readouterr()
    assert main(["watch", file, "--row", "0"]) == 0
    assert "Turn 26" in capsys.readouterr().out
    assert main(["watch", file, "--row", "0", "--gif", str(tmp_path / "a.gif")]) == 2
    with pytest.raises(UnknownIdError, match="no row 3; it has 3 games"):
        viewed_content("battles", file, 3)


def test_a_set_of_battles_says_what_to_install(
    client: TestClient, settings: WebSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a simulator a set of battles is listed, and its page says what to type. (This one holds games of Hanabi.)"""
    folder = settings.data / "set"  # type: ignore[operator]
    record("hanabi/iggi", "HanabiTiny2P-v0", games=2, folder=folder, seed=1)
    key = key_of(settings.data, "set")  # type: ignore[arg-type]
    asked = {"folder": key}
    assert "once what plays them is installed" not in client.get("/games", params=asked).text
    manifest = folder / "dataset.json"
    manifest.write_text(manifest.read_text().replace("HanabiTiny2P-v0", "PokemonGen1RandomBattle-v0"))
    monkeypatch.setattr(install, "installed", lambda: None)
    page = client.get("/games", params=asked).text
    assert f"/watch/g-{key}-1" in page
    assert "once what plays them is installed" in page
    assert "ludory pokemon install" in page
