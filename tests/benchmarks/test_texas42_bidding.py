"""The benchmark of bids: what it counts, and that it goes on where it stopped."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from ludory.agents.texas42.bidding.make_probability import double_dummy
from ludory.benchmarks.texas42.bidding import summary
from ludory.benchmarks.texas42.bids import Contract, PartName, play_contracts, read_part, write_part
from ludory.benchmarks.texas42.matches import play_pairs
from ludory.charts.drawing import Drawing, Rectangle, Words, as_image, as_svg
from ludory.charts.drawing import Path as Line
from ludory.cli import main
from ludory.envs.texas42.tiles import mask_of, parse_tile
from ludory.errors import DataError
from ludory.web.texas42.poster import poster

pytestmark = pytest.mark.slow

HAND = "6-6,6-5,6-4,6-2,6-1,6-0,2-2"


def test_deciles_are_of_the_calibrated_prediction():
    draw = np.random.default_rng(0)
    chance = draw.random(1000)
    contracts = [Contract(1, 1, 30, bool(draw.random() < p), p, p, min(1.0, p + 0.25)) for p in chance.tolist()]
    found = summary(contracts)
    assert found["contracts"] == 1000
    assert [one["n"] for one in found["deciles"]] == [100] * 10
    means = [one["calibrated"] for one in found["deciles"]]
    assert means == sorted(means)
    assert found["all"]["open_hands"] - found["all"]["made"] > 0.15
    assert not found["met"]["open_hands"]
    sure = [Contract(1, 1, 30, k % 10 < 7, 0.7, 0.7, 0.95) for k in range(1000)]
    assert summary(sure)["met"] == {"calibrated": True, "rollout": True, "open_hands": False}


def test_contracts_come_from_auctions_and_are_expected_from_the_hand_alone(monkeypatch):
    monkeypatch.setattr("ludory.benchmarks.texas42.bids.HANDS", 3)
    found = play_contracts("texas42/bidder(play='random', threshold=0.0)", 0, rollouts=1, worlds=1, seed=2)
    assert len(found) == 3
    for one in found:
        assert one.hand.bit_count() == 7
        assert one.bid >= 30
        assert 0 < one.calibrated < 1
        assert one.rollout in (0.0, 1.0)


def test_parts_are_kept_and_others_are_refused(tmp_path):
    name = PartName("contracts", 3, "a")
    file = tmp_path / name.path
    write_part(file, name, [Contract(1, 2, 30, True, 0.5, 0.5, 0.5)])
    assert [Contract(*row) for row in read_part(file, name)] == [Contract(1, 2, 30, True, 0.5, 0.5, 0.5)]
    with pytest.raises(DataError, match="made with a, asked for b"):
        read_part(file, name._replace(settings="b"))
    file.write_text("{")
    with pytest.raises(DataError, match="delete it"):
        read_part(file, name)


def test_the_benchmark_goes_on(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("ludory.benchmarks.texas42.matches.PAIRS", 1)
    job = ["bench", "texas42-bidding", "--contracts", "0", "--worlds", "1", "--out", str(tmp_path), "--matches"]
    assert main([*job, "1"]) == 0
    kept = (tmp_path / "matches_00000.json").read_bytes()
    assert main([*job, "2"]) == 0
    assert (tmp_path / "matches_00000.json").read_bytes() == kept
    report = json.loads((tmp_path / "texas42-bidding-matches.json").read_text())
    found = report["matches"]
    assert found["pairs"] == 2
    assert found["first"]["auctions_won"] + found["second"]["auctions_won"] == pytest.approx(1)
    assert sum(sum(found[side]["bids"].values()) for side in ("first", "second")) == found["hands"]
    shown = capsys.readouterr().out
    assert "marks a game" in shown
    assert "of the auctions" in shown
    others = "texas42/bid30(play='texas42/quick')", "texas42/bidder(play='texas42/quick')"
    named = ["--agent", others[0], "--rival", others[1]]
    # contracts are played by the default bidder only
    assert main(["bench", "texas42-bidding", "--out", str(tmp_path / "new"), "--matches", "1", *named]) != 0
    assert "add --contracts 0 --matches" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    # a folder is of one pair of players
    assert main([*job, "1", *named]) == 2
    assert main([*job, "1", *named, "--out", str(tmp_path / "others")]) == 0
    report = json.loads((tmp_path / "others" / "texas42-bidding-matches.json").read_text())
    assert (report["bidder"], report["rival"]) == others
    assert set(report["matches"]["first"]["bids"]) == {"30"}  # it never bids more


def test_contracts_of_matches_add_up_to_their_marks(monkeypatch):
    monkeypatch.setattr("ludory.benchmarks.texas42.matches.PAIRS", 3)
    agents = "texas42/bidder(play='texas42/quick')", "texas42/bid30(play='texas42/quick')"
    pairs = play_pairs(*agents, 1, seed=5)
    assert play_pairs(*agents, 1, seed=5) == pairs
    for pair in pairs:
        swing = 0
        for one in pair.reached:
            assert one.bid >= 30
            assert one.decl in range(10)
            swing += (1 if one.first == one.made else -1) * max(1, one.bid // 42)
        assert swing == sum(pair.ahead), "every mark was won by a contract made or broken"
    assert all(one.bid == 30 for pair in pairs for one in pair.reached if not one.first)


# --- The poster and the command -------------------------------------------------------------------------------------------


def test_a_poster_shows_every_chance(tmp_path, capsys):
    target = tmp_path / "hand.svg"
    assert main(["texas42", "bid", "--hand", HAND, "--mode", "calibrated", "--poster", str(target)]) == 0
    root = ElementTree.fromstring(target.read_text())
    words = [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert sum(bool(re.fullmatch(r"\d{1,3}", word)) for word in words) >= 9 * 13
    assert "sixes" in words
    table = capsys.readouterr().out
    assert "*" in table
    assert "swing" in table


def test_a_poster_has_the_curves_of_all_modes_and_their_intervals():
    hand = mask_of(parse_tile(tile) for tile in HAND.split(","))
    found = double_dummy(hand, 4, 1, (6, 9))
    drawing = poster(found, [found._replace(mode="other")])
    dashed = [mark for mark in drawing.marks if isinstance(mark, Line) and mark.dashes]
    assert len([mark for mark in dashed if len(mark.points) == 13]) == 1
    stripes = [mark for mark in drawing.marks if isinstance(mark, Line) and mark.line == 1.2]
    assert stripes


def test_images_look_like_the_svg():
    image = pytest.importorskip("PIL.Image")
    assert image
    drawing = Drawing(40, 20, "#ffffff", "t", [Rectangle(0, 0, 20, 20, "#ff0000"), Words(30, 15, "<&>", 8, "#000000")])
    drawn = as_image(drawing, 2)
    assert drawn.size == (80, 40)
    assert drawn.getpixel((10, 20)) == (255, 0, 0)
    assert drawn.getpixel((79, 1)) == (255, 255, 255)
    assert "&lt;&amp;&gt;" in as_svg(drawing)


def test_images_are_written_as_they_are_called(tmp_path: Path):
    pytest.importorskip("PIL")
    hand = ["texas42", "bid", "--hand", HAND, "--mode", "calibrated", "--poster"]
    assert main([*hand, str(tmp_path / "a.png")]) == 0
    assert main([*hand, str(tmp_path / "a.pdf")]) == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert main([*hand, str(tmp_path / "a.bmp")]) == 2


def test_lost_hands_are_told(capsys):
    job = ["texas42", "bid", "--hand", HAND, "--samples", "3", "--worlds", "1", "--investigate", "--show", "1"]
    assert main([*job, "--decl", "blanks", "--below", "42"]) == 0
    shown = capsys.readouterr().out
    assert "of 3 hands ended below 42" in shown
    assert "trick 7" in shown
    assert main(job) == 2
    assert "--decl" in capsys.readouterr().err
