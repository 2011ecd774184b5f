"""Pictures are well-formed, show what the seat knows, and nothing that it does not."""

from __future__ import annotations

from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from support.pokemon_battles import ALL_LEGAL, decisions, recorded_battles

from ludory.envs.pictures import plain
from ludory.envs.pokemon.columns import ENTITY_SIZE
from ludory.envs.pokemon.observation import write_entity
from ludory.envs.pokemon.pictures import board_of_tracker, board_svg, board_text, draw_svg, draw_text, words_of_lines
from ludory.envs.pokemon.tracker import Tracker
from ludory.envs.pokemon.vocab import numbers, written_names


def rows_at(index: int, decision: int) -> tuple[np.ndarray, list[dict]]:
    """Both seats' entity rows after so many decisions of each, and the truths."""
    battle, rows = recorded_battles()[index], np.zeros((2, ENTITY_SIZE), np.float32)
    truths: list[dict] = [{}, {}]
    for seat in (0, 1):
        tracker = Tracker(battle["gen"], seat)
        for k, (lines, _, truth) in enumerate(decisions(battle, seat)):
            tracker.feed_all(lines)
            truths[seat] = truth
            if k == decision:
                break
        write_entity(tracker, ALL_LEGAL, rows[seat])
    return rows, truths


def drawn(svg: str) -> str:
    """All words of an SVG document."""
    return "\n".join(ElementTree.fromstring(svg).itertext())


@pytest.mark.parametrize("seat", [None, 0, 1])
@pytest.mark.parametrize("index", range(0, 100, 13))
def test_pictures_of_every_view(index: int, seat: int | None) -> None:
    rows, truths = rows_at(index, 4)
    state = SimpleNamespace(engine=SimpleNamespace(entity=rows[None], lines=lambda i, seat: []))
    picture, text = drawn(draw_svg(state, 0, seat)), plain(draw_text(state, 0, seat))
    for side in (0, 1):
        for pokemon in truths[side]["s"][side]["mons"]:
            name = written_names("species")[numbers("species")[pokemon["sp"]]]
            if seat in (None, side):
                assert name in text
                assert name[:13] in picture


@pytest.mark.parametrize("index", range(32))
def test_a_view_hides_what_the_seat_has_not_seen(index: int) -> None:
    rows, truths = rows_at(index, 1)
    state = SimpleNamespace(engine=SimpleNamespace(entity=rows[None], lines=lambda i, seat: []))
    battle = recorded_battles()[index]
    seen = "\n".join(line for line in battle["seats"][0]["stream"][: battle["seats"][0]["decisions"][1]["at"]])
    words = drawn(draw_svg(state, 0, 0)) + plain(draw_text(state, 0, 0))
    hidden = [
        name
        for pokemon in truths[0]["s"][1]["mons"]
        if (name := written_names("species")[numbers("species")[pokemon["sp"]]]) not in seen
    ]
    assert hidden, "two decisions show no whole team"
    assert not [name for name in hidden if name in words.split("\n")]


def test_the_board_of_a_tracker_has_names_and_lines() -> None:
    tracker = Tracker(4, 0, strict=True)
    tracker.feed_all(
        [
            "|player|p1|Ann & <Bob>|",
            "|player|p2|Cleo|",
            "|teamsize|p1|6",
            "|teamsize|p2|6",
            "|switch|p1a: Gengar|Gengar, L80, M|200/200",
            "|switch|p2a: Blissey|Blissey, L75, F|100/100",
            "|turn|1",
            "|move|p2a: Blissey|Toxic|p1a: Gengar",
            "|-status|p1a: Gengar|tox",
            "|-sidestart|p2: Cleo|Spikes",
            "|-sidestart|p2: Cleo|Spikes",
            "|-boost|p1a: Gengar|spa|2",
        ]
    )
    board = board_of_tracker(tracker)
    picture, text = drawn(board_svg(board)), plain(board_text(board))
    for words in (picture, text):
        assert "Ann & <Bob>" in words
        assert "TOX" in words
        assert "spikes x2" in words
        assert "SpA +2" in words
        assert "p2 Blissey uses Toxic" in words
    assert board.near.active is not None
    assert board.near.active.name == "Gengar"


def test_lines_in_words() -> None:
    told = words_of_lines(
        ["|turn|3", "|move|p1a: Kadabra|Psychic|p2a: Machop", "|-supereffective|p2a: Machop", "|-damage|p2a: Machop|25/100 par",
         "|cant|p2a: Machop|par", "|-heal|p1a: Kadabra|163/212|[from] item: Leftovers", "|-weather|none", "|-damage|broken", "noise"]
    )  # fmt: skip
    assert told == (
        "p1 Kadabra uses Psychic",
        "it is super effective",
        "Machop is at 25 %",
        "Machop is paralysed",
        "Kadabra recovers to 76 % (Leftovers)",
        "the weather clears",
    )
