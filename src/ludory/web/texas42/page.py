"""An E[Q] record as a self-contained HTML file: step through its decisions, or play them as an animation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ludory.charts import as_svg
from ludory.data import GameRow, LineTable, Viewer
from ludory.data.formats.texas42.eq_records import EqGame, is_eq_file, read_eq
from ludory.data.formats.texas42.eq_view import DecisionView, decision_text, decisions, outcome
from ludory.data.formats.texas42.tables import POINTS
from ludory.envs.pictures import plain
from ludory.envs.texas42.pictures.text import draw_text
from ludory.envs.texas42.tiles import DECLARATIONS, TILE_NAMES

from .frames import frame


def eq_content(game: EqGame, seat: int | None = None) -> dict[str, Any]:
    """The data of the page of a record, as JSON values; seat: show only the decisions of this seat.

    Raises:
        DataError: the record is damaged.
    """
    header, lines, positions = game.header, LineTable(), []
    decl = int(header["decl_id"])
    for view, state in decisions(game):
        if seat is not None and view.seat != seat:
            continue
        pictures = [lines.add(as_svg(frame(view, decl, all_hands))) for all_hands in (False, True)]
        texts = [lines.add(plain(draw_text(state, 0, whose))) for whose in (view.seat, None)]
        positions.append(
            {
                "move": view.move,
                "gain": f"{-view.q_gap:+.1f}" if view.q_gap > 0.05 else "",
                "returns": ", ".join(view.sight.scores),
                "info": _facts(view),
                "svg": pictures,
                "text": texts,
            }
        )
    return {
        "title": f"Texas 42, E[Q] of seed {header['seed']}: {DECLARATIONS[decl]}, seat 0 bid {header['bid']}",
        "subtitle": f"each decision: what every tile is worth to a seat that sees its own hand only. It ended {outcome(game)}",
        "about": {
            key: header.get(key)
            for key in ("seed", "evaluator", "sampler", "posterior", "adaptive", "exploration", "objective")
        },
        "views": ["the seat to move", "all hands"],
        "view": 0,
        "speed": 1.0,
        "positions": positions,
        "lines": lines.lines,
    }


def _facts(view: DecisionView) -> dict[str, Any]:
    """Numbers of a decision, tile by tile."""
    tiles = {
        TILE_NAMES[
            slot.tile
        ]: f"mean {slot.mean:+.2f} +- {slot.sem:.2f}, deviation {slot.deviation:.2f}, P(make) {slot.p_make:.3f}"
        for slot in view.slots
        if slot.legal
    }
    voids = {f"seat {seat} lacks": ", ".join(names) for seat, names in enumerate(view.sight.voids) if names}
    return (
        tiles | voids | {"worlds": f"{view.samples:,} of {view.worlds_total:,}", "effective worlds": f"{view.ess:.2f}"}
    )


def eq_rows(file: Path) -> list[GameRow]:
    """The hand of a record as a row of a table; a return is the points of the seat's team."""
    game = read_eq(file)
    banked, mover = game.columns["banked"][-1].astype(float), int(game.columns["seat"][-1]) % 2
    left, gain = POINTS - banked.sum(), float(game.columns["e_q_mean"][-1].max())
    banked += [(left + gain) / 2, (left - gain) / 2] if mover == 0 else [(left - gain) / 2, (left + gain) / 2]
    points = tuple(map(round, banked.tolist() * 2))
    return [GameRow(0, f"seed {game.header['seed']}", "Texas42Play-v0", (), points, len(game.tiles), True)]


def eq_texts(file: Path, row: int) -> Iterator[tuple[str, str]]:
    """Yield each decision in words, and as the mover sees it."""
    for view, state in decisions(read_eq(file)):
        yield view.words, decision_text(view, state)


VIEWER = Viewer(
    "E[Q] records of Texas 42", is_eq_file, eq_rows, eq_texts, content=lambda file, row: eq_content(read_eq(file))
)
