"""One decision of an E[Q] record as a drawing: the hand with a violin plot per tile, gauges, tricks, and suits that seats lack."""

from __future__ import annotations

from ludory.charts import Drawing, Mark, Path, Rectangle, Words
from ludory.data.formats.texas42.eq_view import DecisionView, SlotView
from ludory.envs.texas42.sight import suit_name
from ludory.envs.texas42.tiles import CALLED, FOLLOW, SUIT_NAMES

from .tiles import ACCENT, BAD, FAINT, GHOST, GOLD, GOOD, GROUND, INK, LINE, PANEL, blend, domino

WIDTH, HEIGHT = 1100, 640
HAND_LEFT, PITCH, TILE, HAND_TOP = 66, 92, 36, 84
VIOLIN_TOP, VIOLIN_HEIGHT = 196, 246
GAUGE_TOP, GAUGE_WIDTH = 500, 190
RIGHT = 742
GAP_SCALE = 10.0
"""Q-gap in points that fills the gauge."""


def frame(view: DecisionView, decl: int, all_hands: bool = False) -> Drawing:
    """The picture of a decision; `all_hands` adds the tiles that the mover does not see."""
    sight = view.sight
    title = f"Decision {view.number} of 0..27, seat {view.seat} to move"
    scores = "   ".join(sight.scores)
    marks: list[Mark] = [
        Words(24, 40, title, 24, INK, bold=True),
        Words(24, 62, f"{sight.contract}   {scores}", 15, FAINT),
        Words(RIGHT - 30, 40, view.move, 18, ACCENT, "end", True),
        *_hand(view),
        *_violins(view),
        *_gauges(view),
        *_tricks(view),
        *_voids(view, decl),
    ]
    if all_hands:
        marks += _others(view)
    return Drawing(WIDTH, HEIGHT, GROUND, f"{title}: {view.move}", marks)


def _hand(view: DecisionView) -> list[Mark]:
    """Tiles at fixed places; those already played are ghosts, the one played now is framed."""
    marks: list[Mark] = []
    for k, slot in enumerate(view.slots):
        colour = ACCENT if k == view.taken else ""
        marks += domino(slot.tile, HAND_LEFT + PITCH * k, HAND_TOP, TILE, colour, not slot.held)
        if slot.held and not slot.legal:
            marks.append(
                Words(HAND_LEFT + PITCH * k + TILE / 2, HAND_TOP + 2 * TILE + 22, "must follow", 11, FAINT, "middle")
            )
    return marks


def _violins(view: DecisionView) -> list[Mark]:
    """The distribution of the value of each legal tile, its mean, and P(make)."""
    legal = [slot for slot in view.slots if slot.legal]
    low, high = _range(legal)
    marks: list[Mark] = [
        Rectangle(HAND_LEFT - 24, VIOLIN_TOP - 8, 7 * PITCH, VIOLIN_HEIGHT + 16, PANEL, radius=8),
        Words(
            24,
            VIOLIN_TOP + VIOLIN_HEIGHT + 56,
            "points still to be won, mover's side: mean and standard error; chance that its side gets the contract its way",
            13,
            FAINT,
        ),
    ]
    for value in sorted({low, (low + high) // 2, high} | ({0} if low < 0 < high else set())):
        y = _y(value, low, high)
        marks.append(
            Path(((HAND_LEFT - 24, y), (HAND_LEFT - 24 + 7 * PITCH, y)), LINE, 1.0, () if value == 0 else (4,))
        )
        marks.append(Words(HAND_LEFT - 30, y + 4, f"{value:+d}" if value else "0", 12, FAINT, "end"))
    # one scale for all violins, so that widths can be compared
    peak = max(float(slot.density.max()) for slot in legal)
    for k, slot in enumerate(view.slots):
        if slot.legal:
            marks += _violin(slot, HAND_LEFT + PITCH * k + TILE / 2, low, high, peak, _colour(view, k))
            best = k == view.greedy
            place = HAND_LEFT + PITCH * k + TILE / 2
            words = f"{slot.mean:+.1f}" + (f" ±{slot.sem:.1f}" if slot.sem else "")
            marks.append(Words(place, VIOLIN_TOP + VIOLIN_HEIGHT + 24, words, 13, INK, "middle", best))
            marks.append(
                Words(place, VIOLIN_TOP + VIOLIN_HEIGHT + 40, f"{100 * slot.p_make:.0f} %", 12, FAINT, "middle")
            )
    return marks


def _violin(slot: SlotView, x: float, low: int, high: int, peak: float, colour: str) -> list[Mark]:
    """Symmetric bars; neighbouring values are joined, since only every second one is possible."""
    marks: list[Mark] = []
    unit = VIOLIN_HEIGHT / (high - low)
    for value in range(low, high + 1):
        share = float(slot.density[value + 42])
        if share > 0:
            # the root, so that rare values stay visible
            half = max(0.8, 40 * (share / peak) ** 0.5)
            marks.append(
                Rectangle(x - half, _y(value, low, high) - unit, 2 * half, max(2 * unit - 0.6, 1.0), colour, radius=1.5)
            )
    y = _y(slot.mean, low, high)
    return [*marks, Path(((x - 42, y), (x + 42, y)), INK, 2.4)]


def _range(legal: list[SlotView]) -> tuple[int, int]:
    """Range of values of the violins."""
    values = [value - 42 for slot in legal for value in range(85) if slot.density[value] > 0]
    low, high = min(values), max(values)
    return max(-42, low - 2), min(42, max(high, low + 4) + 2)


def _y(value: float, low: int, high: int) -> float:
    return VIOLIN_TOP + VIOLIN_HEIGHT * (high - value) / (high - low)


def _colour(view: DecisionView, slot: int) -> str:
    """Colour of the best tile, the played one, and the others."""
    return blend(GROUND, GOOD if slot == view.greedy else BAD if slot == view.taken else FAINT, 0.6)


def _gauges(view: DecisionView) -> list[Mark]:
    all_of = view.samples == view.worlds_total
    worlds = f"all {view.worlds_total}" if all_of else f"{view.samples:,} of {view.worlds_total:,}"
    gauges = [
        (f"effective worlds {view.ess:.1f} of {view.samples:,}", view.ess / view.samples, ACCENT),
        (f"q-gap {view.q_gap:.2f} points, {view.mode}", min(1.0, max(0.0, view.q_gap) / GAP_SCALE), BAD),
        (
            f"worlds solved: {worlds}{'' if view.converged else ', not converged'}",
            view.samples / view.worlds_total,
            GOOD,
        ),
    ]
    marks: list[Mark] = []
    for k, (words, share, colour) in enumerate(gauges):
        x, y = 42 + (GAUGE_WIDTH + 32) * k, GAUGE_TOP + 44
        marks.append(Words(x, y - 8, words, 13, INK))
        marks.append(Rectangle(x, y, GAUGE_WIDTH, 14, GHOST, radius=7))
        marks.append(
            Rectangle(x, y, max(GAUGE_WIDTH * min(share, 1.0), 3), 14, colour, radius=min(7.0, GAUGE_WIDTH * share / 2))
        )
    return marks


def _tricks(view: DecisionView) -> list[Mark]:
    """The finished tricks with the winning tile framed, and the current one."""
    marks: list[Mark] = [Words(RIGHT, 40, "Tricks", 16, INK, bold=True)]
    rows = [
        (dict(trick.plays), trick.winner, f"{trick.points} to Team {trick.winner % 2}") for trick in view.sight.past
    ]
    if len(rows) < 7:
        led = f"led: {view.sight.led}" if view.sight.led else "to lead"
        rows.append((dict(view.sight.trick), -1, led))
    for row, (plays, winner, words) in enumerate(rows):
        y = 56 + 50 * row
        for k, (seat, tile) in enumerate(plays.items()):
            x = RIGHT + 14 + 46 * k
            marks.append(
                Words(x - 9, y + 26, str(seat), 12, GOLD if seat == winner else FAINT, "middle", seat == winner)
            )
            marks += domino(tile, x, y, 20, GOLD if seat == winner else "")
        marks.append(Words(WIDTH - 20, y + 26, words, 13, INK if winner >= 0 else ACCENT, "end"))
    return marks


def _voids(view: DecisionView, decl: int) -> list[Mark]:
    """Rows are seats, columns are suits; filled where a seat has shown that it lacks the suit."""
    top = 444
    suits = [suit for suit in range(8) if FOLLOW[decl, suit]]
    marks: list[Mark] = [Words(RIGHT, top, "Suits that a seat has shown to lack", 14, INK, bold=True)]
    for column, suit in enumerate(suits):
        name = {CALLED: "trump" if decl < CALLED else "dbl"}.get(suit, SUIT_NAMES[suit % 7][:5])
        marks.append(Words(RIGHT + 84 + 34 * column, top + 20, name, 10, FAINT, "middle"))
    for seat in range(4):
        y = top + 28 + 24 * seat
        mine = seat == view.seat
        marks.append(Words(RIGHT, y + 14, f"seat {seat}", 13, ACCENT if mine else INK, bold=mine))
        for column, suit in enumerate(suits):
            shown = suit_name(decl, suit) in view.sight.voids[seat]
            marks.append(Rectangle(RIGHT + 69 + 34 * column, y, 30, 18, BAD if shown else PANEL, LINE, 1, 4))
    return marks


def _others(view: DecisionView) -> list[Mark]:
    """The hands of the other seats."""
    marks: list[Mark] = []
    for k in range(1, 4):
        seat = (view.seat + k) % 4
        x = 42 + 232 * (k - 1)
        marks.append(Words(x, 588, f"seat {seat}", 12, FAINT))
        hand = view.sight.hands[seat] or 0
        for j, tile in enumerate(tile for tile in range(28) if hand >> tile & 1):
            marks += domino(tile, x + 48 + 24 * j, 578, 20)
    return marks
