"""Reports of leagues: what is counted, what is measured, and what is left open."""

from __future__ import annotations

import json
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.league_log import LeagueLog, small_league

from ludory.agents.evaluation.intervals import wilson
from ludory.algorithms.league.log.state import fold
from ludory.algorithms.league.metagame.nash_averaging import nash
from ludory.algorithms.league.metagame.ratings import bradley_terry
from ludory.algorithms.league.report.build import ReportOrigin, make_report, mean_smallest, standing
from ludory.algorithms.league.report.files import FILES, report_json, write_report
from ludory.algorithms.league.report.input import Counts, league_input, read_league
from ludory.algorithms.league.report.page import report_page
from ludory.algorithms.league.report.payoff_tables import matrix, payoff_rows, score
from ludory.algorithms.league.report.seed_report import read_matches, seed_report
from ludory.cli import main
from ludory.cli.league.report import report as command
from ludory.errors import DataError, OptionError

ORIGIN = ReportOrigin("0.1.0", "abc123", "2026-01-31", "2-core machine")


def report_of(log: LeagueLog):
    return make_report(league_input(log.events), ORIGIN)


@pytest.fixture(scope="module")
def small():
    return report_of(small_league())


def measured(report, id):
    return next(one for one in report.players if one.player.id == id)


# What the log adds up to


def test_players_with_their_parents_numbers_and_steps():
    players = {player.id: player for player in league_input(small_league().events).players}
    copy = players["main0@2"]
    assert (copy.role, copy.frozen, copy.parent, copy.number, copy.step) == ("main", True, "main0", 2, 200)
    assert players["main_exploiter0@0"].step == 50
    assert players["main0"].step == 200
    assert players["style"].step is None


def test_the_matrix_holds_games_between_fixed_players_only():
    league = league_input(small_league().games("main0", "style", 7, 0, 3, outcomes="w" * 7 + "l" * 3).events)
    assert league.matrix["main0@1", "main0@0"] == Counts(80, 0, 20)
    assert all("@" in home or home == "style" for home, _ in league.matrix)
    state = fold(small_league().events, 0.99)
    assert {pair: tuple(counts) for pair, counts in state.matrix.items()} == {
        pair: (counts.wins, counts.draws, counts.losses) for pair, counts in league.matrix.items()
    }


def test_blocks_of_a_pair_add_up_whoever_is_named_first():
    log = small_league().games("main0@0", "main0@1", 10, 4, 86)
    assert league_input(log.events).matrix["main0@1", "main0@0"] == Counts(80 + 86, 4, 20 + 10)


def test_games_of_learners_and_the_branches_that_drew_them():
    league = league_input(small_league().events)
    assert league.training["main0", "main0@0"] == Counts(2, 1, 1)
    branches = {(one.player, one.branch): (one.matches, one.games) for one in league.branches}
    assert branches == {("main0", "pfsp"): (3, 10), ("main0", "self_play"): (1, 2), ("main_exploiter0", "main"): (1, 4)}


def test_a_curve_counts_the_games_of_its_slice():
    first, exploiter, second = league_input(small_league().events).curve
    assert first.against == {"past": Counts(2, 1, 1), "teacher": Counts(2, 1, 1)}
    assert second.against == {"anchors": Counts(4, 0, 0), "past": Counts(1, 0, 1)}
    assert exploiter.against == {}
    assert first.metrics == {"train/loss": 0.5, "train/teacher_kl": 0.1}
    assert first.time < exploiter.time < second.time


def test_an_evaluation_of_a_learner_counts_for_its_curve():
    log = LeagueLog().player("main0", "main").player("style", "anchor").games("style", "main0", 3, 1, 6)
    point = league_input(log.progress("main0", 10).events).curve[0]
    assert point.against == {"anchors": Counts(6, 1, 3)}


def test_results_that_nobody_asked_for_are_left_out_and_named():
    log = LeagueLog().player("main0", "main").match(0, "main0", "main0", "w")
    log.add("result", match=0, outcome="w").add("result", match=9, outcome="w")
    league = league_input(log.events)
    assert league.training["main0", "main0"] == Counts(1, 0, 0)
    assert [re.search(r"match (\d)", warning)[1] for warning in league.warnings] == ["0", "9"]


def test_matches_under_way_at_a_reset_are_void():
    log = LeagueLog().player("main0", "main").add("assigned", match=0, home="main0", away="main0", branch="pfsp")
    league = league_input(log.add("reset", player="main0", to="teacher").add("result", match=0, outcome="w").events)
    assert league.training == {}


def test_numbers_of_progress_may_stand_beside_its_other_keys():
    log = LeagueLog().player("main0", "main").add("progress", player="main0", env_steps=3, version=1, kl=0.25, note="x")
    assert league_input(log.events).curve[0].metrics == {"kl": 0.25}


# Scores and intervals


def test_intervals_by_wilson_where_pairs_of_games_are_not_known():
    found, wanted = score(Counts(70, 0, 30)), wilson(70, 100)
    assert found[:3] == (0.7, wanted.low, wanted.high)
    assert score(Counts()) is None


def test_mirrored_games_that_agree_widen_the_interval():
    """50 pairs that are won or lost as a whole are 50 results, not 100; pairs that always split say the same each time."""
    alike = score(Counts(50, 0, 50, (25, 0, 0, 0, 25)))
    assert alike.method == "bootstrap over mirrored pairs"
    assert alike.high - alike.low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(50), rel=0.1)
    mixed = score(Counts(50, 0, 50, (12, 0, 26, 0, 12)))
    assert mixed.high - mixed.low < alike.high - alike.low


def test_the_bootstrap_is_what_resampling_converges_to():
    pairs = np.array([5, 3, 10, 4, 28])
    points = np.repeat(np.arange(5) / 4, pairs)
    means = np.random.default_rng(1).choice(points, (20_000, 50)).mean(1)
    found = score(Counts(67, 7, 26, tuple(pairs.tolist())))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, (0.025, 0.975))), abs=0.011)


def test_pairs_that_all_ended_alike_are_one_result_each():
    found = score(Counts(100, 0, 0, (0, 0, 0, 0, 50)))
    assert (found.low, found.high) == pytest.approx([float(end) for end in wilson(50, 50)])


def test_pairs_are_known_only_if_they_are_known_of_all_games():
    with_pairs, without = Counts(2, 0, 2, (1, 0, 0, 0, 1)), Counts(1, 0, 3)
    assert with_pairs.plus(with_pairs).pairs == (2, 0, 0, 0, 2)
    assert with_pairs.plus(without).pairs is None
    assert Counts().plus(with_pairs) == with_pairs
    assert Counts(4, 0, 0, (0, 0, 0, 0, 2)).mirrored == Counts(0, 0, 4, (2, 0, 0, 0, 0))


def test_rows_of_pairs(small):
    rows = {(row.home, row.away, row.source): row for row in payoff_rows(small.league)}
    row = rows["main0@2", "style", "evaluator"]
    assert (row.score, row.shrunk) == (1.0, 100.5 / 101)
    assert rows["style", "main0@2", "evaluator"].score == 0.0
    assert rows["main0", "main0@0", "training"].games == 4
    assert ("main0@0", "main0", "training") not in rows


# Measures


def test_measures_are_those_of_the_matrix(small):
    table = matrix(small.league)
    assert [one.player.id for one in small.players if one.nash is not None] == table.players
    mixture, strengths = nash(table.rates).mixture, bradley_terry(table.points)
    for row, id in enumerate(table.players):
        one = measured(small, id)
        assert one.nash == pytest.approx(mixture[row])
        assert one.rating.elo == pytest.approx(strengths.elo[row])
        assert one.games == 400
    assert small.metagame.games == 1000
    assert small.metagame.last == "main0@2"


def test_the_circle_of_three_is_found(small):
    assert small.metagame.cycle.players == ("main0@0", "main0@2", "main0@1")
    assert small.metagame.cycle.rates == (0.75, 0.7, 0.8)


def league_of_three(first: int, second: int, third: int, games: int) -> LeagueLog:
    """Wins of a against b, b against c and c against a."""
    log = LeagueLog()
    for id in "abc":
        log.player(id, "anchor")
    for home, away, wins in (("a", "b", first), ("b", "c", second), ("c", "a", third)):
        log.games(home, away, wins, 0, games - wins)
    return log


def test_a_circle_within_the_error_is_not_claimed():
    noise = report_of(league_of_three(50, 52, 54, 100))
    assert noise.metagame.cycle is None
    assert "may be noise" in report_page(noise)
    assert "Strongest cycle" not in report_page(noise)
    assert report_of(league_of_three(5_000, 5_200, 5_400, 10_000)).metagame.cycle is None, "one of the three is even"
    clear = report_of(league_of_three(5_200, 5_200, 5_400, 10_000))
    assert clear.metagame.cycle.players == ("a", "b", "c")


def test_the_strongest_player_is_named_only_if_it_is_clear():
    assert standing(report_of(league_of_three(90, 60, 5, 100))).startswith("Strongest: a, rating")
    close = report_of(league_of_three(55, 52, 45, 100))
    assert [one.player.id for one in close.leaders()] == ["a", "b", "c"]
    assert standing(close).startswith("Highest rating: a, rating")
    assert "not clearly above b, c" in standing(close)
    assert standing(report_of(league_of_three(90, 90, 90, 100))) == (
        "No player is the strongest: a beats b, which beats c, which beats a."
    )
    nobody = report_of(LeagueLog().player("main0", "main"))
    assert standing(nobody).startswith("No two players that never change have met yet")


def test_smallest_rates(small):
    assert measured(small, "main0@2").smallest == (0.25, "main0@0", 100)
    assert measured(small, "main0@2").smallest_anchor == (1.0, "style", 100)
    assert measured(small, "style").smallest_anchor is None


def test_forgetting_looks_at_what_was_older(small):
    remembered = {one.id: (one.smallest.rate, one.smallest.against, one.games) for one in small.remembered}
    assert remembered == {
        "main0@1": (0.8, "main0@0", 100),
        "main_exploiter0@0": (0.3, "main0@1", 200),
        "main0@2": (0.25, "main0@0", 300),
    }
    assert mean_smallest(small) == pytest.approx({"main0": 0.525, "main_exploiter0": 0.3})


def test_populations_against_each_other(small):
    found = {(one.role, one.other): one for one in small.relative}
    assert found["main", "main_exploiter"].value == pytest.approx(0.7)
    assert found["main", "main_exploiter"].players == (3, 1)
    assert found["main", "main_exploiter"].games == 300


def test_players_that_did_not_meet_are_left_out_by_name():
    log = small_league().player("late", "anchor")
    log.games("late", "main0@0", 1, 0, 1)
    found = report_of(log)
    assert found.metagame.left_out == ["late"]
    assert any("late" in warning for warning in found.warnings)
    late = measured(found, "late")
    assert late.nash is None
    assert late.rating is not None, "two games are enough for a rating"


def without_scipy(monkeypatch):
    for loaded in {"scipy", *(name for name in sys.modules if name.partition(".")[0] == "scipy")}:
        monkeypatch.setitem(sys.modules, loaded, None)


def test_without_scipy_the_rest_is_written_and_says_what_is_missing(monkeypatch, small, tmp_path):
    without_scipy(monkeypatch)
    found = report_of(small_league())
    (warning,) = [text for text in found.warnings if "scipy" in text]
    assert "no Nash mixtures" in warning
    assert 'pip install "ludory[league]"' in warning
    for one, whole in zip(found.players, small.players, strict=True):
        assert one == whole._replace(nash=None, skill=None), "ratings and alpha-rank stay"
    assert found.metagame.cyclic_share == small.metagame.cyclic_share
    assert (found.metagame.nash_unique, found.metagame.effective_diversity, found.relative) == (None, None, [])
    assert {file.name for file in write_report(found, tmp_path)} == set(FILES)
    assert "scipy" in (tmp_path / "report.html").read_text()


def test_runs_tell_beforehand_that_the_report_needs_scipy(monkeypatch, capsys, tmp_path):
    run = ["league", "run", "--env", "Arena2P-v0", "--teacher", str(tmp_path / "no.ludory"), "--budget", "1e4"]
    monkeypatch.setattr("ludory.cli.league.pipeline._steps", lambda arguments: [])
    for verb, code in ((run, 2), (["train", "pipeline", "--env", "Arena2P-v0"], 0)):
        typed = [*verb, "--out", str(tmp_path / "out")]
        assert main(typed) == code
        assert "scipy" not in capsys.readouterr().out
        with monkeypatch.context() as patch:
            without_scipy(patch)
            assert main(typed) == code
            assert 'Type: pip install "ludory[league]"' in capsys.readouterr().out


def test_large_tables_are_measured_by_their_strongest_players(monkeypatch, small):
    monkeypatch.setattr("ludory.algorithms.league.report.build.COMMON", 3)
    monkeypatch.setattr("ludory.algorithms.league.report.build.NAMED", 1)
    found = report_of(small_league())
    strongest = sorted((one for one in small.players if one.rating), key=lambda one: -one.rating.elo)
    inside = {one.player.id for one in strongest[:3]}
    assert {one.player.id for one in found.players if one.nash is not None} == inside == set(found.metagame.players)
    assert [one.rating for one in found.players] == [one.rating for one in small.players], "ratings are of all"
    (warning,) = [text for text in found.warnings if "strongest by rating of 5" in text]
    assert warning.endswith("and 1 more (all in report.json)")
    assert set(report_json(found)["metagame"]["left_out"]) == {one.player.id for one in strongest[3:]}


def test_fresh_exploiters_by_target_and_start(tmp_path):
    run = {"target": "main0@2", "start": "teacher", "env_steps": 10, "games": 100}
    runs = [
        run | {"seed": k, "score": rate, "low": rate - 0.1, "high": rate + 0.1}
        for k, rate in enumerate((0.5, 0.7, 0.6))
    ]
    folder = small_league().write(tmp_path)
    (folder / "exploiters.json").write_text(json.dumps([*runs, runs[0] | {"start": "random", "unknown": 1}]))
    found = make_report(read_league(folder), ORIGIN)
    teacher, random = found.exploited
    assert (teacher.largest, teacher.largest_high, teacher.seeds, teacher.games) == (0.7, pytest.approx(0.8), 3, 300)
    assert (teacher.mean, teacher.mean_low) == (pytest.approx(0.6), pytest.approx(float(wilson(180, 300).low)))
    assert (random.start, random.seeds) == ("random", 1)
    assert "0.700 (0.600 to 0.800)" in report_page(found)
    assert len(report_json(found)["fresh_exploiters"]["runs"]) == 4
    (folder / "exploiters.json").write_text("{")
    with pytest.raises(DataError, match="exploiters"):
        read_league(folder)


def test_without_fresh_exploiters_none_is_reported(small):
    assert "- (none was trained)" in report_page(small)


# Files


def test_all_files_hold_the_same_league(small, tmp_path):
    files = write_report(small, tmp_path)
    assert [file.name for file in files] == list(FILES)
    content = json.loads((tmp_path / "report.json").read_text())
    assert content["schema"] == "ludory-league-report/1"
    assert (content["commit"], content["seeds"], content["budget"]) == ("abc123", 5, {"budget_steps": 1000})
    assert content["games"] == {"evaluator": 1000, "training": 16}
    for name in ("players", "payoff"):
        assert pq.read_table(tmp_path / f"{name}.parquet").to_pylist() == content[name]
    curves = pq.read_table(tmp_path / "curves.parquet").to_pylist()
    assert curves[0]["win_rate_teacher"] == 0.625
    assert curves[1]["win_rate_teacher"] is None
    assert curves[2]["train/teacher_kl"] is None


def test_the_file_is_the_same_twice(small):
    again = report_of(small_league())
    assert report_json(again) == report_json(small)
    assert report_page(again) == report_page(small)


def test_what_was_not_played_is_nothing_and_never_a_half():
    log = (
        LeagueLog()
        .player("main0", "main")
        .player("far", "anchor")
        .copy("main0", "main0@0")
        .copy("main0", "main0@1", main0__0=75)
    )
    content = report_json(report_of(log))
    far = next(player for player in content["players"] if player["id"] == "far")
    assert far["games"] == 0
    numbers = ("elo", "elo_low", "nash", "skill", "alpha_rank", "min_win_rate", "min_win_rate_games")
    assert all(far[name] is None for name in numbers)
    assert {row["home"] for row in content["payoff"]} == {"main0@0", "main0@1"}
    page = report_page(report_of(log))
    assert "far" in page
    assert "0.50" not in page
    assert ">50<" not in page


def test_a_pair_without_games_shows_as_a_dash():
    log = small_league().player("late", "anchor").games("late", "main0@0", 9, 0, 1)
    page = report_page(report_of(log))
    assert "late against main0@1: no games" in page
    assert "late against main0@0: 0.900" in page


def test_a_league_that_has_only_begun(tmp_path):
    write_report(report_of(LeagueLog().player("main0", "main")), tmp_path)
    assert "No two players that never change have met yet" in (tmp_path / "report.html").read_text()
    assert json.loads((tmp_path / "report.json").read_text())["metagame"] is None
    assert pq.read_table(tmp_path / "curves.parquet").num_rows == 0


def test_the_page_loads_nothing_and_every_chart_is_also_a_table(small):
    page = report_page(small)
    outside = re.sub(r"xmlns='[^']*'", "", page)
    assert not re.search(r"https?://|<script|<link|<img|@import|url\((?!#)", outside)
    sections = re.findall(r"<section[^>]*>.*?</section>", page, re.DOTALL)
    titles = {re.search(r"<h\d>(.*?)</h\d>", section)[1] for section in sections}
    assert titles >= {
        "Payoff",
        "Ratings",
        "Nash and alpha-rank",
        "Cycles",
        "Forgetting",
        "Family tree",
        "Matchmaking",
        "train/loss",
    }
    drawn = [section for section in sections if "<svg" in section]
    assert len(drawn) >= 8
    assert all("<table>" in section for section in drawn)
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    for picture in map(ElementTree.fromstring, pictures):
        assert picture.get("role") == "img"
        assert picture.get("aria-label")


def test_names_can_not_break_the_page():
    log = (
        LeagueLog()
        .player("main0", "main")
        .player("<b>&'x'", "anchor")
        .copy("main0", "main0@0")
        .games("main0@0", "<b>&'x'", 3, 0, 1)
    )
    page = report_page(report_of(log))
    assert "<b>" not in page
    ElementTree.fromstring(re.search(r"<svg.*?</svg>", page, re.DOTALL)[0])


def test_games_are_named_beside_every_figure(small):
    page = report_page(small)
    text = {
        found[1]: found[0] for found in re.finditer(r"<section[^>]*><h\d>([^<]*)</h\d>.*?</section>", page, re.DOTALL)
    }
    for title, games in {"Payoff": 1000, "Nash and alpha-rank": 1000, "Ratings": 400, "win_rate_past": 6}.items():
        assert f"{games} games" in text[title]
    assert "main0@2 against main0@0: 0.250" in text["Payoff"]
    assert "<td>100</td><td>300</td>" in text["Forgetting"]


def test_parts_of_one_thing_share_a_curve():
    log = (
        LeagueLog()
        .player("main0", "main")
        .progress("main0", 1, **{"train/clip/a": 0.2, "train/clip/b": 0.4, "other": 9.0})
    )
    page = report_page(report_of(log))
    assert "<h3>train/clip</h3>" in page
    assert "over 2 parts" in page
    assert "<td>0.3000</td>" in page
    assert "<h3>other</h3>" not in page, "it is in curves.parquet"


# The command


def test_the_command_writes_into_the_folder_of_the_league(tmp_path, capsys):
    folder = small_league().write(tmp_path / "league")
    assert command([str(folder)]) == 0
    assert {file.name for file in (folder / "report").iterdir()} == set(FILES)
    said = capsys.readouterr().out
    assert "strongest:" in said
    assert said.strip().endswith("report.html")
    content = json.loads((folder / "report" / "report.json").read_text())
    assert content["machine"]
    assert content["ludory"]
    assert len(read_league(folder).players) == len(content["players"])


def test_the_command_says_what_it_needs(tmp_path):
    with pytest.raises(OptionError, match="--league-state"):
        command([])
    with pytest.raises(OptionError, match="--output"):
        command(["--league-state", "a", "--matches", "b"])
    with pytest.raises(DataError, match="no such file"):
        command([str(tmp_path)])


# Leagues of old

PLAYERS = {
    "main": {"agent_type": "main", "trainable": True},
    "other": {"agent_type": "main", "trainable": True},
    "main@0": {"agent_type": "main", "trainable": False},
    "exploiter@0": {"agent_type": "main_exploiter", "trainable": False},
}


def old_files(tmp_path, rows, players=PLAYERS):
    state, matches = tmp_path / "league_state.json", tmp_path / "matches.jsonl"
    state.write_text(json.dumps({"players": players, "payoff": {}, "matches": len(rows), "config": {}}))
    matches.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n")
    return state, matches


def match(home, away, outcome, **more):
    return {"agent_a": home, "agent_b": away, "outcome": outcome} | more


def test_the_keys_of_old(tmp_path, capsys):
    rows = [
        match("main", "main@0", 1.0),
        match("main@0", "main", -1.0),
        match("main", "exploiter@0", 0),
        match("main", "main@0", -1),
    ]
    state, matches = old_files(tmp_path, rows)
    output = tmp_path / "out" / "summary.json"
    assert command(["--league-state", str(state), "--matches", str(matches), "--output", str(output)]) == 0
    found = json.loads(output.read_text())
    assert (found["num_players"], found["num_matches"], found["played"], found["warnings"]) == (4, 4, True, [])
    assert found["win_rates"]["main vs main@0"] == pytest.approx(2 / 3)
    assert found["games"]["main@0 vs main"] == 3
    assert found["exploitability_proxy_min_winrate_vs_past"] == {"main": 0.5, "other": None}
    assert "other: smallest win rate against the past -" in capsys.readouterr().out


def test_elo_goes_over_the_matches_once(tmp_path):

    _, matches = old_files(tmp_path, [match("a", "b", 1)])
    assert seed_report({}, read_matches(matches))["elo"] == {"a": 1208.0, "b": 1192.0}
    assert seed_report({}, [])["elo"] == {}


def test_outcomes_from_parameter_norms_are_not_games(tmp_path):
    state, matches = old_files(tmp_path, [match("main", "main@0", 1, win_prob_proxy=0.7), match("main", "main@0", 1)])
    found = seed_report(PLAYERS, read_matches(matches))
    assert found["played"] is False
    assert "1 of 2 matches carry win_prob_proxy" in found["warnings"][0]
    assert state.exists()


def test_a_broken_line_is_named_and_not_skipped(tmp_path):
    _, matches = old_files(tmp_path, [match("a", "b", 1), "{broken"])
    with pytest.raises(DataError, match="line 2"):
        read_matches(matches)
    for row in (match("a", "b", 0.7), {"agent_a": "a", "outcome": 1}, [1], match("a", "b", None)):
        _, matches = old_files(tmp_path, [row])
        with pytest.raises(DataError, match="line 1: not a match"):
            read_matches(matches)


def test_matches_of_two_runs_in_one_file_are_noticed(tmp_path):
    rows = [match("main", "main@0", 1, round=number) for number in (0, 1, 1, 0, 1)]
    _, matches = old_files(tmp_path, rows)
    assert ["line 4" in warning for warning in seed_report(PLAYERS, read_matches(matches))["warnings"]] == [True]


def test_players_that_the_league_does_not_know_are_named(tmp_path):
    _, matches = old_files(tmp_path, [match("main", "ghost", 1)])
    assert "ghost" in seed_report(PLAYERS, read_matches(matches))["warnings"][0]


def test_a_league_state_that_is_none(tmp_path):
    _, matches = old_files(tmp_path, [])
    for content in ("[]", "{", '{"players": [1]}'):
        (tmp_path / "bad.json").write_text(content)
        with pytest.raises(DataError, match="not the state of a league"):
            command(
                [
                    "--league-state",
                    str(tmp_path / "bad.json"),
                    "--matches",
                    str(matches),
                    "--output",
                    str(tmp_path / "o"),
                ]
            )
