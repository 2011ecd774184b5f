"""Texas 42 in the terminal, at most 80 columns wide."""

from __future__ import annotations

from ludory.envs import State
from ludory.envs.pictures import as_wanted, paint
from ludory.envs.texas42.sight import Texas42Sight, look
from ludory.envs.texas42.tiles import COUNT, TILE_NAMES, tiles_of

LABEL = 15
STRONG, FAINT, TILE, COUNTING = "1", "2", "30;107", "1;30;103"


def draw_text(state: State, i: int, seat: int | None) -> str:
    """Game `i` as `seat` sees it; None: all hands are face up. Without colours if NO_COLOR is set."""
    return as_wanted("\n".join(_lines(look(state, i, seat))))


def _lines(sight: Texas42Sight) -> list[str]:
    head = [paint(sight.title, STRONG), *sight.scores]
    return [
        "   ".join(head),
        _labelled("contract", sight.contract or "none yet"),
        *([_labelled("led suit", sight.led)] if sight.led else []),
        _labelled("last move", sight.last.split("; ")[0] or "none yet"),
        *(_labelled("", part) for part in sight.last.split("; ")[1:]),
        "",
        *(line for chair in range(4) for line in _seat(sight, chair)),
        *_past(sight),
    ]


def _labelled(label: str, text: str) -> str:
    return f"{label:<{LABEL}}{text}"


def _seat(sight: Texas42Sight, chair: int) -> list[str]:
    marker = ">" if sight.to_move == chair else " "
    name = f"{marker} seat {chair}{sight.relation(chair)}"
    label = paint(f"{name:<{LABEL}}", STRONG) if sight.to_move == chair else f"{name:<{LABEL}}"
    hand = sight.hands[chair]
    shown = (
        " ".join(_tile(tile) for tile in tiles_of(hand))
        if hand is not None
        else paint(" ".join(["##"] * sight.sizes[chair]), FAINT)
    )
    lines = [label + (shown if sight.sizes[chair] else paint("no tiles", FAINT))]
    notes = [sight.bids[chair]] if sight.bids[chair] else []
    notes += ["shook"] if sight.shaker == chair else []
    notes += ["sits out"] if sight.sits_out == chair else []
    notes += [f"no {', '.join(sight.voids[chair])}"] if sight.voids[chair] else []
    if notes:
        lines.append(" " * LABEL + paint("; ".join(notes), FAINT))
    lying = sight.trick.get(chair)
    if lying is not None:
        lines.append(" " * LABEL + "in the trick: " + _tile(lying))
    return lines


def _tile(tile: int) -> str:
    return paint(TILE_NAMES[tile], COUNTING if COUNT[tile] else TILE)


def _past(sight: Texas42Sight) -> list[str]:
    """The finished tricks: their winners, and the tiles in the order played."""
    lines = [""] if sight.past else []
    for number, trick in enumerate(sight.past, 1):
        tiles = "  ".join(f"{seat}: {TILE_NAMES[tile]}" for seat, tile in trick.plays)
        lines.append(_labelled(f"trick {number}", f"{tiles}   to seat {trick.winner}, {trick.points}"))
    return lines
