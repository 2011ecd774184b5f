"""One page about a hand before the auction: P(make) of every declaration and bid, the best declaration of each bid, and curves."""

from __future__ import annotations

from collections.abc import Sequence

from ludory.agents.texas42.bidding.make_probability import BIDS, Chances
from ludory.charts import Drawing, Mark, Path, Rectangle, Words
from ludory.envs.texas42.tiles import DECLARATIONS, TILE_NAMES, tiles_of

from .tiles import ACCENT, FAINT, GROUND, INK, LINE, blend, domino

WIDTH, HEIGHT = 1120, 800
LEFT, TOP, CELL_WIDTH, CELL_HEIGHT = 130, 190, 58, 30
PLOT_LEFT, PLOT_TOP, PLOT_WIDTH, PLOT_HEIGHT = 130, 590, 754, 150
SIDE = 915
SCALE = ("#b3442f", "#f7f0dc", "#1f6f4a")
"""Colours of P(make) at 0, one half, and 1."""
DASHED, HATCH = (6,), 0.05
"""Lengths of dashes; width of an interval per stripe."""
MARK_BIDS = (84,)


def poster(main: Chances, beside: Sequence[Chances] = ()) -> Drawing:
    """The page of a hand; `beside`: results of other methods, drawn as dashed curves."""
    names = " ".join(TILE_NAMES[tile] for tile in tiles_of(main.hand))
    marks: list[Mark] = [Words(40, 52, "Texas 42: what can this hand bid?", 26, INK, bold=True)]
    for k, tile in enumerate(tiles_of(main.hand)[::-1]):
        marks += domino(tile, 40 + 52 * k, 74, 38)
    marks += [
        Words(430, 96, names, 17, INK),
        Words(430, 120, f"P(make) by {main.mode.replace('_', ' ')}: {main.player}", 15, FAINT),
        Words(430, 142, f"{_hands_played(main.samples)}seat 0 bids and leads", 15, FAINT),
        *_map(main),
        *_best(main),
        *_curves(main, beside),
        *_legend(main),
        *_curve_names(main, beside),
    ]
    return Drawing(WIDTH, HEIGHT, GROUND, f"P(make) of {names}", marks)


def _hands_played(samples: int) -> str:
    return f"{samples} hands for each declaration; " if samples else ""


def colour(p: float) -> str:
    """Colour of a probability."""
    low, middle, high = SCALE
    return blend(low, middle, 2 * p) if p < 0.5 else blend(middle, high, 2 * p - 1)


def _map(main: Chances) -> list[Mark]:
    """Rows are declarations, columns are bids; stripes show the width of the 95 % interval."""
    marks: list[Mark] = []
    for column, bid in enumerate(BIDS):
        marks.append(Words(_x(column) + CELL_WIDTH / 2, TOP - 10, str(bid), 14, INK, "middle", True))
    for row, decl in enumerate(main.decls):
        y = TOP + CELL_HEIGHT * row
        marks.append(Words(LEFT - 12, y + 20, DECLARATIONS[decl], 15, INK, "end"))
        for column, bid in enumerate(BIDS):
            p, x = main.p[row, column], _x(column)
            marks.append(Rectangle(x, y, CELL_WIDTH - 2, CELL_HEIGHT - 2, colour(p), radius=3))
            marks += _stripes(x, y, main.high[row, column] - main.low[row, column], colour(p))
            chosen = main.best(bid) == decl
            # light figures on dark cells
            dark = abs(p - 0.5) > 0.33
            ink = GROUND if dark else INK
            marks.append(Words(x + CELL_WIDTH / 2 - 1, y + 20, f"{100 * p:.0f}", 15, ink, "middle", chosen))
            if chosen:
                marks.append(Rectangle(x, y, CELL_WIDTH - 2, CELL_HEIGHT - 2, "", INK, 2, 3))
    return marks


def _stripes(x: float, y: float, wide: float, ground: str) -> list[Mark]:
    """Stripes at the left edge of a cell, more for a wider interval."""
    ink = blend(ground, INK, 0.35)
    return [
        Path(((x + 3 + 3 * k, y + CELL_HEIGHT - 5), (x + 3 + 3 * k, y + CELL_HEIGHT - 9)), ink, 1.2)
        for k in range(min(16, round(wide / HATCH)))
    ]


def _best(main: Chances) -> list[Mark]:
    """Below the map, the best declaration of each bid and the marks that it wins on average."""
    y = TOP + CELL_HEIGHT * len(main.decls) + 22
    marks: list[Mark] = [
        Words(LEFT - 12, y, "best", 14, FAINT, "end"),
        Words(LEFT - 12, y + 22, "swing", 14, FAINT, "end"),
    ]
    for decl, first, last in _runs([main.best(bid) for bid in BIDS]):
        left, right = _x(first) + 4, _x(last) + CELL_WIDTH - 6
        marks.append(Words((left + right) / 2, y, DECLARATIONS[decl], 11, INK, "middle"))
        marks.append(Path(((left, y + 5), (right, y + 5)), LINE, 1.5))
    for column, bid in enumerate(BIDS):
        x, swing = _x(column) + CELL_WIDTH / 2 - 1, main.swing(main.best(bid), bid)
        marks.append(Words(x, y + 22, f"{swing:+.2f}", 14, _sign(swing), "middle", True))
    for k, bid in enumerate(MARK_BIDS):
        decl = main.best(bid)
        words = f"{bid // 42} marks, {DECLARATIONS[decl]}: {main.swing(decl, bid):+.2f}"
        marks.append(Words(LEFT, y + 48 + 18 * k, words, 14, INK))
    marks.append(
        Words(LEFT + 190, y + 48, "swing: marks won on average if this is the contract, (2p - 1) x stake", 13, FAINT)
    )
    return marks


def _runs(decls: Sequence[int]) -> list[tuple[int, int, int]]:
    """(declaration, first column, last column) of neighbouring bids with one best declaration, which share a label."""
    runs: list[tuple[int, int, int]] = []
    for column, decl in enumerate(decls):
        if runs and runs[-1][0] == decl:
            runs[-1] = decl, runs[-1][1], column
        else:
            runs.append((decl, column, column))
    return runs


def _sign(swing: float) -> str:
    return SCALE[2] if swing > 0 else SCALE[0]


def _curves(main: Chances, beside: Sequence[Chances]) -> list[Mark]:
    """P(make) over the bid for the best declaration at 30; other methods are dashed."""
    decl = main.best(30)
    marks: list[Mark] = [Words(PLOT_LEFT, PLOT_TOP - 14, f"P(make) with {DECLARATIONS[decl]}", 15, INK, bold=True)]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(share)
        marks.append(Path(((PLOT_LEFT, y), (PLOT_LEFT + PLOT_WIDTH, y)), LINE))
        marks.append(Words(PLOT_LEFT - 8, y + 5, f"{100 * share:.0f} %", 13, FAINT, "end"))
    xs = [_x(column) + CELL_WIDTH / 2 - 1 for column in range(len(BIDS))]
    marks += [
        Words(x, PLOT_TOP + PLOT_HEIGHT + 20, str(bid), 13, FAINT, "middle") for x, bid in zip(xs, BIDS, strict=True)
    ]
    if main.samples:
        row = main.decls.index(decl)
        # along the upper ends and back along the lower ones: a band
        ends = [*zip(xs, main.high[row], strict=True), *zip(xs[::-1], main.low[row][::-1], strict=True)]
        marks.append(Path(tuple((x, _y(p)) for x, p in ends), fill=blend(GROUND, ACCENT, 0.18)))
    for k, one in enumerate((main, *beside)):
        if decl in one.decls:
            line = one.p[one.decls.index(decl)]
            points = tuple((x, _y(p)) for x, p in zip(xs, line, strict=True))
            marks.append(Path(points, *_style(k)))
    return marks


def _style(k: int) -> tuple[str, float, Sequence[float]]:
    """Colour, width and dashes of curve k."""
    return (ACCENT, 3.0, ()) if k == 0 else (("#8a4b08", "#6a3d9a")[(k - 1) % 2], 2.2, DASHED)


def _legend(main: Chances) -> list[Mark]:
    y = TOP + 14
    marks: list[Mark] = [Words(SIDE, y, "P(make) in per cent", 14, INK, bold=True)]
    for k in range(11):
        marks.append(Rectangle(SIDE + 15 * k, y + 10, 15, 14, colour(k / 10)))
    marks += [Words(SIDE, y + 40, "0", 12, FAINT), Words(SIDE + 165, y + 40, "100", 12, FAINT, "end")]
    marks.append(Words(SIDE, y + 66, "framed: best declaration", 13, FAINT))
    if main.samples:
        marks.append(Words(SIDE, y + 88, "stripes: width of the 95 %", 13, FAINT))
        marks.append(Words(SIDE, y + 105, f"interval, one for {100 * HATCH:.0f} points", 13, FAINT))
    return marks


def _curve_names(main: Chances, beside: Sequence[Chances]) -> list[Mark]:
    """Names of the curves, beside the plot."""
    marks: list[Mark] = []
    for k, one in enumerate((main, *beside)):
        y = PLOT_TOP + 14 + 40 * k
        marks.append(Path(((SIDE, y), (SIDE + 36, y)), *_style(k)))
        marks.append(Words(SIDE + 44, y + 5, one.mode.replace("_", " "), 14, INK))
        if one.samples:
            marks.append(Words(SIDE + 44, y + 21, f"{one.samples} hands", 12, FAINT))
    return marks


def _x(column: int) -> float:
    return LEFT + CELL_WIDTH * column


def _y(share: float) -> float:
    return PLOT_TOP + PLOT_HEIGHT * (1 - share)
