"""Recorded games: tables with filters, any game played again as a replay, ids that are looked up."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient
from support.windows.unix import needs_unix

from ludory.agents.evaluation.record import record
from ludory.agents.make import make_agent
from ludory.cli import main
from ludory.data.header import header_from_json
from ludory.data.replay import frames, record_replay, write_replay
from ludory.data.shards import shard_file, write_table
from ludory.data.viewing.game_rows import GameFilter
from ludory.data.viewing.recorded_games import list_games, replay_of
from ludory.envs.make import make_game
from ludory.errors import OptionError, ReplayError, UnknownIdError
from ludory.web import recorded
from ludory.web.app import WebSettings

HANABI, ARENA = "HanabiTiny2P-v0", "Arena2P-v0"


pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of Hanabi in two files, one of the arena, and a folder with replays."""
    folder = tmp_path_factory.mktemp("data")
    record("hanabi/iggi", HANABI, games=60, folder=folder / "hanabi" / "iggi", seed=4, shard_games=40)
    record(["random", "arena/rusher"], ARENA, games=4, folder=folder / "arena", seed=1)
    game = make_game(HANABI)
    for seed in (1, 2):
        replay = record_replay(game, [make_agent("hanabi/piers", game)] * 2, seed)
        write_replay(folder / "replays" / f"game{seed}.json", replay)
    (folder / "replays" / "notes.json").write_text("{}")
    return folder


def key_of(top: Path, name: str) -> str:
    return next(key for key, one in recorded.find_recordings(top).items() if one.name == name)


def test_sets_and_replays_are_found_and_searched(top: Path) -> None:
    rows = {row["name"]: row for row in recorded.folders_page(top)}
    assert {name: (row["kind"], row["games"]) for name, row in rows.items()} == {
        "hanabi/iggi": ("set", 60),
        "arena": ("set", 4),
        "replays": ("replays", 2),
    }
    assert [row["name"] for row in recorded.folders_page(top, "arena RUSHER")] == ["arena"]
    assert recorded.folders_page(top, "chess") == []


def test_filters_and_orders(top: Path) -> None:
    folder = top / "hanabi" / "iggi"
    everything = list_games(folder, count=100)
    assert (everything.found, everything.total, len(everything.rows)) == (60, 60, 60)
    scores = {one.row: one.returns[0] for one in everything.rows}
    low = sorted(scores.values())[10]
    kept = list_games(folder, GameFilter(high=low, longest=9, sort="length", descending=True), count=100)
    assert {one.row for one in kept.rows} == {k.row for k in everything.rows if k.returns[0] <= low and k.moves <= 9}
    assert [one.moves for one in kept.rows] == sorted((one.moves for one in kept.rows), reverse=True)
    assert [one.row for one in list_games(folder, first=38, count=4).rows] == [38, 39, 40, 41]
    assert list_games(folder, GameFilter(agent="piers")).found == 0
    with pytest.raises(OptionError, match="seat=2: must be 0 to 1"):
        list_games(folder, GameFilter(seat=2))


@pytest.mark.parametrize(("name", "row"), [("hanabi/iggi", 0), ("hanabi/iggi", 59), ("arena", 3), ("replays", 1)])
def test_a_recorded_game_is_played_again(top: Path, settings: WebSettings, name: str, row: int) -> None:
    places = dataclasses.replace(settings, data=top)
    key = key_of(top, name)
    told = recorded.games_page(top, key, GameFilter())["rows"][row % 50] if row < 50 else None
    replay = recorded.find_game(places, f"g-{key}-{row}")
    assert sum(1 for _ in frames(replay)) == len(replay.moves) + 1
    assert replay.finished
    if told:
        assert told["moves"] == len(replay.moves)
        assert told["returns"] == pytest.approx(replay.returns, abs=1e-3)


def test_a_game_that_does_not_go_as_recorded_is_refused(top: Path, tmp_path: Path) -> None:
    """Rewards that were changed, or a set without seeds."""
    source = top / "hanabi" / "iggi"
    for file in source.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    header = header_from_json(json.loads((source / "dataset.json").read_text())["header"], source)
    table = pq.read_table(shard_file(source, 0))
    games = table["game"].to_numpy()

    def write(name: str, values: object) -> None:
        changed = table.set_column(
            table.schema.get_field_index(name),
            table.schema.field(name),
            pa.array(values, table.schema.field(name).type),
        )
        write_table(shard_file(tmp_path, 0), header, changed)

    write("reward", (table["reward"].to_numpy() + 3 * (games == games[0])).astype("float32"))
    with pytest.raises(ReplayError, match="when played again, recorded are"):
        replay_of(tmp_path, 0)
    assert replay_of(tmp_path, 1).finished
    write("seed", [None] * len(table))
    with pytest.raises(ReplayError, match="has no seed"):
        replay_of(tmp_path, 1)


@pytest.mark.parametrize("id", ["g-0123456789-0", "g-../../etc-0", "g-", "t-1", "g-{key}-60", "g-{key}-999999999999"])
def test_unknown_ids_are_refused(top: Path, settings: WebSettings, id: str) -> None:
    places = dataclasses.replace(settings, data=top)
    with pytest.raises(UnknownIdError, match=r"no row|no recorded game"):
        recorded.find_game(places, id.format(key=key_of(top, "hanabi/iggi")))


def test_watch_lists_and_opens_games_of_a_set(top: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = str(top / "hanabi" / "iggi")
    assert main(["watch", folder, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    page = recorded.games_page(top, key_of(top, "hanabi/iggi"), GameFilter())
    assert told["total"] == 60
    assert told["rows"][:50] == [
        {name: list(value) if isinstance(value, tuple) else value for name, value in row.items() if name != "id"}
        for row in page["rows"]
    ]
    assert main(["watch", folder]) == 0
    assert "--row" in capsys.readouterr().out
    assert main(["watch", folder, "--row", "3", "--html", str(tmp_path / "game.html")]) == 0
    assert "<!doctype html>" in (tmp_path / "game.html").read_text().lower()
    assert main(["watch", folder, "--row", "60"]) == 2


def test_pages_of_recorded_games(top: Path, client: TestClient, settings: WebSettings) -> None:
    around = client.app.state.ludory  # type: ignore[attr-defined]
    assert "ludory record" in client.get("/games").text
    around.settings = dataclasses.replace(settings, data=top)
    assert "hanabi/iggi" in client.get("/games").text
    key = key_of(top, "hanabi/iggi")
    page = client.get("/games", params={"folder": key, "page": "2"})
    assert f"/analyse/g-{key}-59" in page.text
    assert "Page 2 of 2" in page.text
    kept = client.get("/games", params={"folder": key, "low": "1000"})
    assert "0 of 60 games" in kept.text
    assert client.get("/games", params={"folder": key, "json": ""}).json()["total"] == 60
    for wrong in ({"page": "3"}, {"page": "-1"}, {"low": "x"}, {"sort": "name"}, {"seat": "7"}):
        answer = client.get("/games", params={"folder": key} | wrong)
        assert answer.status_code == 400, wrong
        assert "must be" in answer.text or "there are the pages" in answer.text
    assert client.get("/games", params={"folder": "../arena"}).status_code == 404


@needs_unix("Windows has no such names of files")
def test_names_of_recordings_are_escaped(top: Path, client: TestClient, settings: WebSettings, tmp_path: Path) -> None:
    name = "<script>alert(1)<"
    replay = dataclasses.replace(replay_of(top / "replays", 0), agents=("<b>x</b>", "y"))
    write_replay(tmp_path / "hostile" / name / "<i>.json", replay)
    client.app.state.ludory.settings = dataclasses.replace(settings, data=tmp_path / "hostile")  # type: ignore[attr-defined]
    key = next(iter(recorded.find_recordings(tmp_path / "hostile")))
    for address in ("/games", f"/games?folder={key}"):
        text = client.get(address).text
        assert "&lt;script&gt;" in text
        assert not any(tag in text for tag in ("<script>alert", "<b>", "<i>"))
