"""The log of a league on disk: what was cut, edited or taken away is noticed; what is long is read quickly."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from support.league_log import long_league, small_league
from support.windows.unix import needs_unix

from ludory.algorithms.league.log.events import FILE, HEAD, KEPT, EventLog, read_events, standing
from ludory.algorithms.league.log.state import LeagueState, PlayerRecord, fold, load_state, write_state
from ludory.algorithms.league.matchmaking.payoff import Payoff
from ludory.algorithms.league.player_files import player_file
from ludory.algorithms.league.report.build import ReportOrigin, make_report
from ludory.algorithms.league.report.input import league_input
from ludory.errors import CheckpointError, DataError, OutputError

OPEN = needs_unix("Windows does not remove the open log")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log of 3 commits, 9 lines in all."""
    with EventLog(tmp_path) as log:
        for seconds in (1.0, 2.0, 3.0):
            log.append("player_added", id=f"main{seconds:g}", role="main")
            log.append("refused", match=1)
            log.commit(seconds)
    return tmp_path


def lines(folder: Path) -> list[bytes]:
    return (folder / FILE).read_bytes().splitlines(keepends=True)


def test_a_log_that_was_cut_at_a_line_end_is_refused_with_the_line(folder: Path) -> None:
    whole = lines(folder)
    for left in (0, 3, 8):
        (folder / FILE).write_bytes(b"".join(whole[:left]))
        for read in (read_events, EventLog):
            with pytest.raises(
                DataError, match=rf"line {left + 1}: missing; the league had written 9 .*remove .*{HEAD}"
            ):
                read(folder)
    (folder / HEAD).unlink()
    assert len(read_events(folder)) == 8, "whoever wants to go on with what is left can"


def test_a_torn_line_before_the_last_commit_is_not_cut_off_silently(folder: Path) -> None:
    data = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(data[:-5])
    with pytest.raises(DataError, match="line 9: missing"):
        EventLog(folder)
    assert (folder / FILE).read_bytes() == data[:-5]


def test_an_edited_line_is_refused_with_its_lines(folder: Path) -> None:
    whole = lines(folder)
    whole[4] = whole[4].replace(b'"match": 1', b'"match": 2')
    (folder / FILE).write_bytes(b"".join(whole))
    with pytest.raises(DataError, match="lines 4 to 6: not as they were written"):
        read_events(folder)
    whole = lines(folder)
    whole[4] = whole[4].replace(b'"match": 2', b'"match": 1')
    whole[8] = whole[8].replace(b'"seconds": 3.0', b'"seconds": 9.0')
    (folder / FILE).write_bytes(b"".join(whole))
    with pytest.raises(DataError, match="up to line 9: not as it was written"):
        read_events(folder)


def test_a_crash_between_the_log_and_its_head_locks_nobody_out(folder: Path) -> None:
    head = (folder / HEAD).read_bytes()
    with EventLog(folder) as log:
        log.append("refused", match=2)
        log.commit(1.0)
    (folder / HEAD).write_bytes(head)
    with (folder / FILE).open("ab") as handle:
        handle.write(b'{"seq": 11, "ty')
    with EventLog(folder) as log:
        assert [event.seq for event in log.events] == list(range(11))
        log.commit(1.0)
    assert read_events(folder)[-1].seq == 11


def test_logs_of_earlier_versions_load(tmp_path: Path) -> None:
    folder = small_league().add("committed", seconds=1.0).write(tmp_path)
    count = len(read_events(folder))
    with EventLog(folder) as log:
        log.append("resumed", from_seq=count - 1)
        log.commit(1.0)
    assert len(read_events(folder)) == count + 2


@pytest.mark.parametrize("line", [b"\xff\xfe", b"[" * 100_000, b'{"seq": 1' + b"0" * 5_000 + b"}", b"[1, 2]", b"7"])
def test_a_line_that_is_no_event_is_named(tmp_path: Path, line: bytes) -> None:
    folder = small_league().write(tmp_path)
    whole = lines(folder)
    (folder / FILE).write_bytes(b"".join([whole[0], line + b"\n", *whole[2:]]))
    with pytest.raises(DataError, match="line 2: not an event of a league"):
        read_events(folder)


def test_an_event_that_does_not_fit_is_named_by_its_line() -> None:
    log = small_league().add("snapshot", player="nobody", id="x", file="players/x.ludory", sha256="0")
    wanted = rf"line {len(log.events)} of the log, snapshot: does not fit"
    with pytest.raises(DataError, match=wanted):
        fold(log.events, 0.99)
    with pytest.raises(DataError, match=wanted):
        league_input(log.events)


def test_an_event_of_an_unknown_type_is_refused_by_everybody_who_adds_up() -> None:
    log = small_league().add("promoted", player="main0")
    for add_up in (lambda: fold(log.events, 0.99), lambda: league_input(log.events)):
        with pytest.raises(
            DataError, match=rf"line {len(log.events)} of the log: type 'promoted'; must be one of created"
        ):
            add_up()


@pytest.mark.parametrize("way", [pytest.param("gone", marks=OPEN), pytest.param("replaced", marks=OPEN), "cut"])
def test_a_log_that_is_taken_away_stops_the_league_and_is_kept(folder: Path, way: str) -> None:
    log, file = EventLog(folder), folder / FILE
    log.append("refused", match=3)
    if way == "cut":
        log.flush()
        file.write_bytes(b"")
    else:
        file.unlink()
        if way == "replaced":
            file.write_bytes(b"another\n")
    said = {
        "gone": "gone while .* written again",
        "replaced": f"replaced .* put .*{KEPT}",
        "cut": f"something .*{KEPT}",
    }
    with log, pytest.raises(OutputError, match=said[way]):
        log.commit(4.0)
    if way != "gone":
        (folder / KEPT).replace(file)
    assert [event.type for event in read_events(folder)[-2:]] == ["refused", "committed"]


def test_files_of_players_lie_in_their_folders(tmp_path: Path) -> None:
    (tmp_path / "league" / "players").mkdir(parents=True)
    (tmp_path / "foreign.ludory").write_bytes(b"x")
    (tmp_path / "league" / "players" / "link.ludory").symlink_to(tmp_path / "foreign.ludory")
    league = tmp_path / "league"

    def of(file: str, frozen: bool = True) -> Path:
        return player_file(league, PlayerRecord("main0@0", "main", frozen, file=file))

    assert of("players/main0@0.ludory") == league / "players" / "main0@0.ludory"
    for file in (
        "../foreign.ludory",
        str(tmp_path / "foreign.ludory"),
        "players/../../foreign.ludory",
        "players/link.ludory",
    ):
        with pytest.raises(CheckpointError, match=rf"{FILE}: names the file .* outside"):
            of(file)
    with pytest.raises(CheckpointError, match=r"must be a file in .*checkpoints"):
        of("teacher.ludory", frozen=False)


def test_a_damaged_snapshot_of_the_state_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ludory.algorithms.league.log.state.EVERY", 1)
    events = small_league().events
    write_state(tmp_path, fold(events[:-1], 0.99), events[-2].seq)
    file = tmp_path / f"state-{events[-2].seq}.json"
    text, wanted = file.read_text(), fold(events, 0.99).to_json()
    assert load_state(tmp_path, events, 0.99).to_json() == wanted
    for damaged in (text.replace('"snapshots": 4', '"snapshots": 5'), text[:-9], "[]", "7"):
        file.write_text(damaged)
        assert load_state(tmp_path, events, 0.99).to_json() == wanted
    (tmp_path / "state-of-things.json").write_text("{}")
    load_state(tmp_path, events, 0.99)


def test_dense_payoff_tables_of_earlier_versions_load() -> None:
    payoff = Payoff(3)
    payoff.add_games(0, 2, "wwl")
    payoff.add_games(2, 1, "d")
    dense = {"decay": 0.99, "counts": payoff.counts.tolist()}
    assert Payoff.from_json(json.loads(json.dumps(dense))).to_json() == payoff.to_json()
    assert len(json.dumps(Payoff(3000).to_json())) < 100, "pairs that did not play take no room"


@pytest.mark.slow
def test_long_leagues_are_read_and_measured_without_tables_of_all_pairs_for_each_player(tmp_path: Path) -> None:
    folder = long_league(copies=600, events=6_000).write(tmp_path)
    tracemalloc.start()
    events = standing(read_events(folder))
    state = fold(events, 0.99)
    again = LeagueState.from_json(json.loads(json.dumps(state.to_json())))
    report = make_report(league_input(events), ReportOrigin("0"))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(state.fixed) == 601
    assert (again.payoff.win_rate_of(0) == state.payoff.win_rate_of(0)).all()
    assert len(report.by_strength()) == 601
    assert most < 100e6, "600 tables of all pairs would be 1,700 MB"


def test_a_log_read_from_a_commit_on_says_the_same_as_the_whole(folder: Path) -> None:
    with EventLog(folder) as log:
        whole = list(log.events)
    with EventLog(folder, since=5) as log:
        assert log.events == [whole[0], *whole[5:]]
        log.append("resumed", from_seq=8)
        log.append("refused", match=2)
        log.commit(1.0)
    with EventLog(folder, since=11) as log:
        assert [event.seq for event in log.events] == [0, 9, 11], "the first, the last resume, and the rest"
        assert log.next_seq == 12
    for enough in (4, 8, 100):  # no commit; a commit; not there
        with EventLog(folder, since=enough) as log:
            assert len(log.events) == (6 if enough == 8 else 12) - (enough == 8)


def test_a_change_before_that_commit_is_noticed(folder: Path) -> None:
    whole = lines(folder)
    whole[1] = whole[1].replace(b'"match": 1', b'"match": 2')
    (folder / FILE).write_bytes(b"".join(whole))
    with pytest.raises(DataError, match="not as they were written"):
        EventLog(folder, since=5)


def test_a_resume_to_an_earlier_commit_needs_the_whole_log(folder: Path) -> None:
    with EventLog(folder) as log:
        log.append("resumed", from_seq=2)
        log.commit(1.0)
    with EventLog(folder, since=8) as log:
        assert len(log.events) == 11


@OPEN
def test_a_log_that_keeps_no_events_is_written_again_when_it_is_gone(folder: Path) -> None:
    written = (folder / FILE).read_bytes()
    with EventLog(folder) as log:
        log.release()
        log.append("refused", match=3)
        assert not log.events
        assert log.next_seq == 10
        (folder / FILE).unlink()
        with pytest.raises(OutputError, match="written again"):
            log.check_present()
    assert (folder / FILE).read_bytes().startswith(written)
    assert len(read_events(folder)) == 10
