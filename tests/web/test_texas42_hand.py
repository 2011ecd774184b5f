"""Hands of Texas 42 in the browser: what the command prints, then better by played contracts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from starlette.testclient import TestClient

from ludory.agents.evaluation.intervals import wilson
from ludory.agents.texas42.bidding.fitted_make_probability import calibrated
from ludory.cli import main
from ludory.envs.texas42.tiles import DECLARATIONS, STRAIGHT, mask_of, parse_tile
from ludory.errors import OptionError
from ludory.web.texas42 import hand
from ludory.web.texas42.hand import ENOUGH, MOST, NOTHING_PLAYED, PIECE, HandsPlayed

NAMES = ("6-6", "6-5", "6-4", "6-2", "5-5", "1-1", "0-0")
TILES = tuple(sorted(map(parse_tile, NAMES)))
MASK = mask_of(TILES)
QUERY = {"tile": list(NAMES)}


def test_the_page_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["texas42", "bid", "--hand", ",".join(NAMES), "--mode", "calibrated", "--json"]) == 0
    assert hand.hand_page(TILES)["chances"] == json.loads(capsys.readouterr().out)[0]


def test_played_hands_replace_the_model_when_there_are_enough() -> None:
    made = tuple(range(ENOUGH - 10, ENOUGH - 23, -1))
    few = NOTHING_PLAYED.plus(6, ENOUGH - PIECE, made)
    assert (hand.chances_of(MASK, few).p == calibrated(MASK).p).all()
    enough = few.plus(6, PIECE, (0,) * 13)
    found = hand.chances_of(MASK, enough)
    row = STRAIGHT.index(6)
    assert found.p[row].tolist() == [count / ENOUGH for count in made]
    low, high = wilson(np.array(made), np.full(13, ENOUGH))
    assert (found.low[row].tolist(), found.high[row].tolist()) == (low.tolist(), high.tolist())
    others = np.arange(len(STRAIGHT)) != row
    assert (found.p[others] == calibrated(MASK).p[others]).all()


def test_the_best_declarations_are_played_first_and_all_in_the_end() -> None:
    fitted = calibrated(MASK)
    best = {STRAIGHT[row] for row in np.argsort(-fitted.p.sum(1))[: hand.FAVOURITES]}
    played, order = NOTHING_PLAYED, []
    while (piece := hand.next_contract(MASK, played)) is not None:
        order.append(piece)
        played = played.plus(piece[0], PIECE, (0,) * 13)
    first = order[: hand.FAVOURITES * ENOUGH // PIECE]
    assert {decl for decl, _ in first} == best
    assert played.hands == (MOST,) * len(STRAIGHT)
    assert len(set(order)) == len(order)  # no piece is played twice


@pytest.mark.slow
def test_a_piece_is_the_same_for_the_same_number() -> None:
    one = hand.play_contract(MASK, 6, 3)
    assert one == hand.play_contract(MASK, 6, 3)
    assert one[:2] == (6, PIECE)
    assert all(
        a >= b for a, b in zip(one[2][:-1], one[2][1:-1], strict=False)
    )  # up to 41 the same hands decide all bids


def test_hands_are_read_from_names() -> None:
    assert hand.parse_tiles(["4-6", "64", " 5-5", ""]) == tuple(sorted({parse_tile("6-4"), parse_tile("5-5")}))
    assert len(hand.random_hand(5)) == 7
    with pytest.raises(OptionError, match="a hand has 7; take 1 away"):
        hand.parse_tiles([*NAMES, "3-3"])


def test_advice_is_the_highest_bid_that_wins_marks() -> None:
    page = hand.hand_page(TILES)["chances"]
    words = hand.advice(page)
    bid = words.split()[3]
    assert words.startswith("Bid up to")
    assert page["declarations"][page["best"][bid]][bid]["swing"] > 0
    weak = hand.hand_page(tuple(map(parse_tile, ("6-1", "5-2", "4-0", "3-1", "3-0", "2-0", "1-0"))))["chances"]
    assert hand.advice(weak).startswith("Pass")


def test_pages_of_a_hand(client: TestClient) -> None:
    start = client.get("/texas42/hand")
    assert start.text.count('type="checkbox"') == 28
    assert "Choose seven dominoes" in start.text
    page = client.get("/texas42/hand", params=QUERY)
    assert page.text.count("checked") == 7
    assert page.text.count("disabled") == 21
    assert all(DECLARATIONS[decl] in page.text for decl in STRAIGHT)
    assert client.get("/texas42/hand", params={"tiles": ",".join(NAMES), "json": ""}).json() == json.loads(
        json.dumps(hand.hand_page(TILES))
    )
    poster = client.get("/texas42/poster.svg", params=QUERY)
    assert poster.headers["content-type"].startswith("image/svg+xml")
    assert "attachment" in poster.headers["content-disposition"]
    assert poster.text.startswith("<svg")


@pytest.mark.parametrize("wrong", [{"tile": "7-7"}, {"tile": [*NAMES, "3-3"]}, {"tiles": "<script>"}])
def test_what_is_no_hand_is_refused_in_words(client: TestClient, wrong: dict[str, object]) -> None:
    answer = client.get("/texas42/hand", params=wrong)  # type: ignore[arg-type]
    assert answer.status_code == 400
    assert "domino" in answer.text
    assert "<script>" not in answer.text.replace('<script src="/static', "")


def test_contracts_are_played_while_someone_reads(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four pieces, then the rest is played at once by a stand-in."""
    around, calls = client.app.state.ludory, []  # type: ignore[attr-defined]

    async def here(function, mask, decl, piece):
        calls.append((decl, piece))
        return (decl, PIECE, (PIECE,) * 13) if len(calls) < 4 else (decl, MOST, (MOST,) * 13)

    monkeypatch.setattr(around.slices, "run", here)
    events = client.get("/live/texas42", params=QUERY).text
    assert events.count("event: changed") == len(calls)
    assert events.endswith("event: done\ndata:\n\n")
    page = client.get("/texas42/hand", params=QUERY).text
    assert "sse-connect" not in page
    assert f"All {MOST} hands" in page
    known = [one.value for one in around.refinements._kept.values()]
    assert [type(one) for one in known] == [HandsPlayed]
