"""`ludory bench texas42-strength`: paired contracts, kept deal by deal."""

from __future__ import annotations

import json

import pytest
from support.windows.unix import needs_unix

from ludory.benchmarks.texas42.duels import Duel, play_deal, play_duel, player_files, read_outcomes
from ludory.benchmarks.texas42.strength import pair_table
from ludory.cli import main
from ludory.errors import DataError, OutputError

DUEL = Duel("texas42/quick", "random", seed=4, worlds=2)


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_outcomes(tmp_path):
    file = tmp_path / DUEL.file_name
    whole = play_duel(DUEL, file, range(6))
    text = file.read_text()
    file.write_text(text[: text.rindex('"first_seconds"')])  # killed within the last line
    told = []
    again = play_duel(DUEL, file, range(7), done=told.append)
    assert told == [6, 7]
    assert [(one.deal, one.first_made, one.second_made) for one in again[:6]] == [
        (one.deal, one.first_made, one.second_made) for one in whole
    ]
    assert list(read_outcomes(file, DUEL).values()) == again
    alone = play_deal(DUEL, 5)
    assert (alone.first_made, alone.second_made) == (whole[5].first_made, whole[5].second_made)


def test_a_file_of_another_duel_is_refused(tmp_path):
    file = tmp_path / "duel.jsonl"
    play_duel(DUEL, file, range(1))
    with pytest.raises(DataError, match="another duel"):
        play_duel(Duel("random", "random"), file, range(1))
    file.write_text(file.read_text() + '{"deal": 3}\n')
    with pytest.raises(DataError, match="no outcome"):
        read_outcomes(file, DUEL)


@pytest.mark.slow
def test_the_report_is_what_the_deals_say(tmp_path, capsys):
    command = [
        "bench",
        "texas42-strength",
        "texas42/quick",
        "--rival",
        "random",
        "--deals",
        "8",
        "--out",
        str(tmp_path),
    ]
    assert main(command) == 0
    assert main(command) == 0
    assert "result in" in capsys.readouterr().out
    (file,) = tmp_path.glob("*.json")
    (lines,) = tmp_path.glob("*.jsonl")
    rows = [json.loads(line) for line in lines.read_text().splitlines()[1:]]
    (duel,) = json.loads(file.read_text())["duels"]
    assert len(rows) == 8
    assert duel["make_rates"] == [sum(row[f"{side}_made"] for row in rows) / 8 for side in ("first", "second")]
    assert duel["lead"] == pytest.approx(duel["make_rates"][0] - duel["make_rates"][1])


def test_one_of_agent_and_anchors(capsys):
    assert main(["bench", "texas42-strength"]) == 2
    assert "--anchors" in capsys.readouterr().err


def test_pairs():
    table = pair_table([1] * 40 + [1] * 30 + [0] * 10 + [0] * 20, [1] * 40 + [0] * 30 + [1] * 10 + [0] * 20)
    assert table == (40, 20, 30, 10)
    assert table.rates == (0.7, 0.5)
    assert table.z == pytest.approx(20 / 40**0.5)
    assert table.exact_p is None
    assert table.lead_error == pytest.approx(((0.4 - 0.04) / 100) ** 0.5)
    few = pair_table([1] * 5, [0] * 5)
    assert few.exact_p == pytest.approx(2 / 32)
    assert pair_table([1, 0], [1, 0]).z == 0


def test_a_checkpoint_that_was_trained_on_is_another_player(tmp_path):
    network = tmp_path / "network.ludory"
    network.write_bytes(b"one")
    specs = [f"texas42/seat(play={network})", "random"]
    before = player_files(specs)
    assert player_files(specs) == before
    network.write_bytes(b"two")
    assert player_files(specs) != before
    one, other = (Duel(*specs, files=files) for files in (before, player_files(specs)))
    assert one.file_name != other.file_name, "so its games are played"


@needs_unix("Windows does not remove an open file")
def test_a_duel_whose_file_is_deleted_while_it_is_played_does_not_claim_success(tmp_path):
    file = tmp_path / "duel.jsonl"
    with pytest.raises(OutputError, match=r"duel\.jsonl is gone"):
        play_duel(DUEL, file, range(2), done=lambda count: file.unlink() if count == 1 else None)
