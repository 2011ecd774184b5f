"""`ludory plot`: runs of one name are one curve, parts of a resumed run are one run, and what is missing is named."""

from __future__ import annotations

import json

import pytest

from ludory.algorithms.running.learning_curves import by_name, curve, found_tables, read_run, read_table
from ludory.cli import main
from ludory.errors import DataError

HEADER = "time/total_timesteps,rollout/ep_rew_mean\n"


@pytest.fixture
def runs(tmp_path):
    for seed, lift in ((1, 0), (2, 2), (3, 4)):
        rows = "".join(f"{100 * k},{k + lift}\n" for k in range(1, 6))
        (tmp_path / f"ppo-seed{seed}.csv").write_text(HEADER + rows)
    (tmp_path / "ppo-seed1-2.csv").write_text(HEADER + "600,6\n")
    (tmp_path / "vtrace.csv").write_text(HEADER + "100,\n200,1\n300,2\n")
    return tmp_path


def test_runs_that_differ_in_their_seed_are_one_curve(runs):
    read = [read_run(name, tables, "rollout/ep_rew_mean") for name, tables in found_tables([runs]).items()]
    groups = by_name(read)
    assert {name: len(group) for name, group in groups.items()} == {"ppo": 3, "vtrace": 1}
    mean = curve("ppo", groups["ppo"], smooth=1)
    assert [(one.x, one.y) for one in mean.points] == [(100.0 * k, k + 2.0) for k in range(1, 6)]
    assert mean.points[0].high - mean.points[0].y == pytest.approx(
        4.303 * 2 / 3**0.5
    )  # Student's t, 2 degrees of freedom


def test_a_resumed_run_goes_on_in_its_second_table(runs):
    (tables,) = [tables for name, tables in found_tables([runs]).items() if name == "ppo-seed1"]
    assert read_run("ppo-seed1", tables, "rollout/ep_rew_mean").points[-1] == (600, 6)


def test_a_row_that_is_being_written_is_left_out(tmp_path):
    table = tmp_path / "ppo.csv"
    table.write_text(HEADER + "100,1\n200,nan\n300,3\n400,4")
    assert read_table(table).points("rollout/ep_rew_mean") == [(100, 1), (300, 3)]


def test_a_file_that_is_no_table_is_named(tmp_path):
    (tmp_path / "run.csv").write_bytes(b"a\rb\n1,2\n")
    with pytest.raises(DataError, match=r"run\.csv: not a table of metrics"):
        read_table(tmp_path / "run.csv")


def test_json_has_the_points_that_are_drawn(runs, capsys):
    assert main(["plot", str(runs), "--smooth", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["runs"]) for one in told["curves"]] == [("ppo", 3), ("vtrace", 1)]
    assert told["curves"][1]["points"] == [[200, 1, 1, 1], [300, 1.5, 1.5, 1.5]]
    assert not (runs / "curves.svg").exists()


@pytest.mark.parametrize(("name", "start"), [("c.svg", b"<svg"), ("c.png", b"\x89PNG"), ("c.html", b"<!doctype html>")])
def test_writes_a_picture_or_a_page(runs, name, start, capsys):
    out = runs / name
    assert main(["plot", str(runs), "--out", str(out)]) == 0
    assert out.read_bytes().startswith(start)
    assert "ppo: rollout/ep_rew_mean 7.000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "train/los"], "it has time/total_timesteps, rollout/ep_rew_mean"),
        (["--out", "curves.pdf"], ".svg, .png, .html"),
        (["--smooth", "0"], "at least 1"),
    ],
)
def test_what_is_wrong_is_named(runs, arguments, message, capsys):
    assert main(["plot", str(runs), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_runs_of_another_kind_are_left_out_and_named(runs, capsys):
    (runs / "empty.csv").write_text("")
    (runs / "cfr.csv").write_text("time/total_timesteps,exploitability\n1,2\n")
    (runs / "untabled.ludory").write_bytes(b"")
    assert main(["plot", *map(str, sorted(runs.iterdir())), "--out", str(runs / "c.svg")]) == 0
    printed = capsys.readouterr()
    assert "ppo: rollout/ep_rew_mean 7.000" in printed.out
    left_out = printed.err.splitlines()
    assert [line.partition(": no column")[0] for line in left_out] == [
        f"ludory: left out: {runs / 'cfr.csv'}",
        f"ludory: left out: {runs / 'empty.csv'}",
    ]
