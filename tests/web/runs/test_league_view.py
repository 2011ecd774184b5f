"""A league's page: what the commands print, who does what, and no more certainty than the games give."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from support.league_log import LeagueLog

from ludory.algorithms.league.log.events import EventLog
from ludory.charts.drawing import shade
from ludory.cli import main
from ludory.errors import UnknownIdError
from ludory.web.app import WebSettings
from ludory.web.league import view as league_view

REAL = Path(__file__).parents[2] / "golden" / "old_files" / "league"


@pytest.fixture
def top(settings: WebSettings) -> Path:
    """The folder of runs, with a real league of a few games."""
    assert settings.runs is not None
    shutil.copytree(REAL, settings.runs / "arena" / "first")
    return settings.runs


def test_the_page_holds_what_the_commands_print(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = json.loads(json.dumps(league_view.league_page(top, "arena/first")))
    folder = str(top / "arena" / "first")
    assert main(["league", "status", folder, "--json"]) == 0
    assert page["summary"] == json.loads(capsys.readouterr().out)
    assert main(["league", "report", folder, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert not (top / "arena" / "first" / "report").exists()
    for name in ("players", "payoff", "metagame", "games"):
        assert page["report"][name] == told[name]


def test_players_can_be_played_by_the_path_below_the_folder(top: Path, client: TestClient) -> None:
    page = league_view.league_page(top, "arena/first")
    frozen = [one for one in page["players"] if one["kind"] == "frozen"]
    assert frozen
    for one in frozen:
        assert (top / one["agent"]).is_file()
    assert client.get("/", params={"game": page["env"], "agent": frozen[0]["agent"]}).status_code == 200
    for one in (one for one in page["players"] if one["kind"] == "anchor"):
        assert one["agent"] == one["id"]


def played(wins: int, losses: int) -> LeagueLog:
    log = LeagueLog(env="Arena2P-v0").player("main0", "main")
    return log.copy("main0", "main0@0").copy("main0", "main0@1").games("main0@1", "main0@0", wins, 0, losses)


def test_a_table_of_few_games_is_not_coloured_as_if_it_were_decided(tmp_path: Path) -> None:
    found = {}
    for name, log in {"few": played(3, 1), "many": played(300, 100)}.items():
        log.write(tmp_path / name)
        league = league_view.FoundLeague(name, tmp_path / name, 0.0)
        from ludory.algorithms.league.report.build import ReportOrigin, make_report
        from ludory.algorithms.league.report.input import read_league

        report = make_report(read_league(league.folder), ReportOrigin("test"))
        svg = next(figure.svg for figure in league_view.figures(report)["results"])
        fills = re.findall(r"<rect [^>]*fill='(#\w+)'[^>]*><title>main0@1 against main0@0", svg)
        found[name] = fills, league_view.warnings(report)
    assert found["few"][0] == [shade(0.5)]
    assert "Few games" in found["few"][1][0]
    assert found["many"][0] != [shade(0.5)]
    assert not any("Few games" in words for words in found["many"][1])


def test_what_a_learner_does_is_told_in_words() -> None:
    plays = [{"against": "main0@1", "branch": "pfsp"}, {"against": "main0", "branch": "self_play"}] * 2
    assert league_view.doing({"plays": plays}) == "plays main0@1 (pfsp), main0 (self_play)"
    assert league_view.doing({"plays": []}) == "waits for its turn"


def test_a_log_is_read_while_its_league_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit between the reading of the log and of its head is no damage."""
    from ludory.algorithms.league.log import events

    log = EventLog(tmp_path)
    log.append("created", config={})
    log.commit(1.0)
    whole = events._whole_lines

    def read_then_commit(file: Path) -> bytes:
        data = whole(file)
        log.commit(1.0)
        return data

    monkeypatch.setattr(events, "_whole_lines", read_then_commit)
    assert [event.type for event in events.read_events(tmp_path)] == ["created", "committed"]
    log.close()


def test_pages_of_leagues(top: Path, client: TestClient) -> None:
    assert 'href="/league/arena/first"' in client.get("/runs").text
    page = client.get("/league/arena/first")
    assert page.status_code == 200
    for words in ("Family tree", "Ratings over time", "Learners", "Payoff", "play</a>"):
        assert words in page.text
    assert client.get("/league/arena/first?json").json()["summary"]["closed"] in (True, False)
    assert client.get("/league/arena").status_code == 404
    with pytest.raises(UnknownIdError, match="no league"):
        league_view.find_league(top, "arena")


def test_a_damaged_league_is_named_on_the_list_and_the_others_stay(top: Path, client: TestClient) -> None:
    broken = top / "broken"
    broken.mkdir()
    (broken / "events.jsonl").write_text('{"no": "event", "<b>": 1}\n')
    page = client.get("/runs")
    assert page.status_code == 200
    assert "not an event" in page.text
    assert "arena/first" in page.text
    assert "<b>" not in page.text
    assert client.get("/league/broken").status_code == 400


def test_a_file_outside_the_league_is_not_offered(tmp_path: Path) -> None:
    (tmp_path / "league").mkdir()
    (tmp_path / "secret.ludory").write_text("")
    league = league_view.FoundLeague("league", tmp_path / "league", 0.0)
    assert league_view._agent(league, "../secret.ludory") is None
