"""Texas 42 as one self-contained SVG document: the four seats around the trick, and the finished tricks at the side."""

from __future__ import annotations

from ludory.envs import State
from ludory.envs.pictures import at, clickable, labelled_pad, svg_document, words
from ludory.envs.texas42.sight import Texas42Sight, look
from ludory.envs.texas42.state import DECLARE_0, PLAY_0
from ludory.envs.texas42.tiles import COUNT, HIGH, LOW, TILE_NAMES, tiles_of

from .wording import action_name

FELT, PANEL, LINE, TEXT = "#0f2a22", "#17392f", "#3f6d5d", "#f1f6ee"
FAINT, GOLD, IVORY, INK, BACK = "#a9c4b6", "#ffd166", "#fbf6e6", "#1d1d1b", "#6b3f2a"
WIDTH, HEIGHT, PITCH = 28, 56, 33
"""Size of a domino, and distance of dominoes that stand side by side."""

_SPOTS = ("", "c", "ai", "aci", "agbi", "agbic", "agbihd")
"""Spots of each number of pips, by their places in `_AT`."""
_AT = {"a": (7, 7), "b": (7, 21), "c": (14, 14), "d": (7, 14), "g": (21, 7), "h": (21, 14), "i": (21, 21)}


def halves() -> str:
    """Definitions of the seven halves of dominoes, 28 by 28."""
    return "".join(
        f'<g id="t42-{pips}">' + "".join(f'<circle cx="{_AT[s][0]}" cy="{_AT[s][1]}" r="2.7"/>' for s in spots) + "</g>"
        for pips, spots in enumerate(_SPOTS)
    )


def domino(x: float, y: float, tile: int, scale: float = 1.0, mark: str = "") -> str:
    """A domino face up, the higher pip above; tiles that count have a golden rim. mark: colour of a frame around it."""
    rim = GOLD if COUNT[tile] else LINE
    frame = f'<rect x="-4" y="-4" width="{WIDTH + 8}" height="{HEIGHT + 8}" rx="8" fill="{mark}"/>' if mark else ""
    return (
        f'<g transform="translate({x:g} {y:g}) scale({scale:g})"><title>{TILE_NAMES[tile]}</title>{frame}'
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="5" fill="{IVORY}" stroke="{rim}" stroke-width="2.5"/>'
        f'<path d="M4 28H24" stroke="{INK}" stroke-width="1.2"/>'
        f'<use href="#t42-{HIGH[tile]}" fill="{INK}"/><use href="#t42-{LOW[tile]}" y="28" fill="{INK}"/></g>'
    )


def back(x: float, y: float) -> str:
    """A domino face down."""
    return f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="{BACK}" stroke="{LINE}" stroke-width="2"/>'


PAGE_WIDTH, PAGE_HEIGHT = 1034, 506
HAND_WIDTH, HAND_HEIGHT = 248, 116
CHAIRS = ((246, 346), (18, 202), (246, 58), (474, 202))
"""Positions of the seats' panels: the viewer's below, then clockwise."""
TRICK = ((356, 276), (306, 232), (356, 188), (406, 232))
"""Positions of their tiles in the current trick."""
PAST_LEFT, PAST_TOP, PAST_ROW, SMALL = 744, 58, 57, 0.72


def draw_svg(state: State, i: int, seat: int | None, first_play: int = 0) -> str:
    """Game `i` as `seat` sees it; None: all hands are face up. first_play: the action that plays tile 0."""
    sight = look(state, i, seat)
    chairs = range(4)
    lines = [
        words(18, 34, "Texas 42", 20, TEXT, 700),
        words(122, 34, sight.contract or "no bid yet", 16, GOLD, 700),
        words(PAGE_WIDTH - 18, 34, " · ".join(sight.scores), 16, TEXT, 400, "end"),
        *(at(*CHAIRS[_direction(sight, chair)], *_panel(sight, chair, first_play)) for chair in chairs),
        *(_bids() if first_play == PLAY_0 and not sight.trick else []),
        *_trick(sight),
        *_past(sight),
        words(18, PAGE_HEIGHT - 20, sight.last or "no move yet", 15, TEXT),
    ]
    return svg_document(PAGE_WIDTH, PAGE_HEIGHT, _title(sight), halves(), FELT, lines)


def _direction(sight: Texas42Sight, chair: int) -> int:
    return (chair - (sight.seat or 0)) % 4


def _title(sight: Texas42Sight) -> str:
    view = "all hands face up" if sight.seat is None else f"as seat {sight.seat} sees it"
    return f"Texas 42, {sight.contract or 'no bid yet'}, {', '.join(sight.scores)}, {view}"


def _panel(sight: Texas42Sight, chair: int, first_play: int) -> list[str]:
    """A seat: its name, bid, known voids and tiles."""
    moves = sight.to_move == chair
    rim = f'stroke="{GOLD}" stroke-width="3"' if moves else f'stroke="{LINE}" stroke-width="1.5"'
    name = f"seat {chair}{sight.relation(chair)}"
    notes = [sight.bids[chair]] if sight.bids[chair] else []
    notes += ["shook"] if sight.shaker == chair else []
    notes += ["sits out"] if sight.sits_out == chair else []
    marks = [
        f'<rect width="{HAND_WIDTH}" height="{HAND_HEIGHT}" rx="12" fill="{PANEL}" {rim}/>',
        words(10, 21, name, 15, GOLD if moves else TEXT, 700),
        words(HAND_WIDTH - 10, 21, ", ".join(notes), 13, FAINT, 400, "end"),
    ]
    if sight.voids[chair]:
        marks.append(words(10, 106, f"no {', '.join(sight.voids[chair])}", 12, FAINT))
    hand, size = sight.hands[chair], sight.sizes[chair]
    left = (HAND_WIDTH - size * PITCH + PITCH - WIDTH) / 2
    if hand is None:
        return marks + [back(left + PITCH * k, 31) for k in range(size)]
    tiles = [domino(left + PITCH * k, 31, tile) for k, tile in enumerate(tiles_of(hand))]
    if not moves:
        return marks + tiles
    return marks + [clickable([first_play + tile], mark) for tile, mark in zip(tiles_of(hand), tiles, strict=True)]


def _bids() -> list[str]:
    """Buttons for bids and declarations, in the middle of the table."""
    return [
        labelled_pad([action], 18 + action % 4 * 56, 72 + action // 4 * 30, 52, 27, _short(action))
        if action < DECLARE_0
        else labelled_pad(
            [action], 280 + (action - DECLARE_0) % 2 * 90, 184 + (action - DECLARE_0) // 2 * 22, 86, 20, _short(action)
        )
        for action in range(PLAY_0)
    ]


def _short(action: int) -> str:
    """A bid or declaration in as few words as a button has room for."""
    return (
        action_name(0, action).removeprefix("bid ").removeprefix("declare ").replace(" mark", " m").replace(" ms", " m")
    )


def _trick(sight: Texas42Sight) -> list[str]:
    """The tiles of the current trick, each in front of its seat; the first is framed."""
    marks = [words(18, 62, f"led: {sight.led}", 15, FAINT)] if sight.led else []
    for k, (chair, tile) in enumerate(sight.trick.items()):
        x, y = TRICK[_direction(sight, chair)]
        marks.append(domino(x, y, tile, 1.0, GOLD if k == 0 else ""))
    return marks


def _past(sight: Texas42Sight) -> list[str]:
    """The finished tricks, tiles in the order played; the winner's is framed."""
    lines = []
    for number, trick in enumerate(sight.past):
        y = PAST_TOP + PAST_ROW * number
        marks = []
        for k, (chair, tile) in enumerate(trick.plays):
            x = 20 + 46 * k
            marks.append(words(x - 11, 26, str(chair), 12, GOLD if chair == trick.winner else FAINT, 700, "middle"))
            marks.append(domino(x, 3, tile, SMALL, GOLD if chair == trick.winner else ""))
        marks.append(words(272, 26, f"{trick.points} to Team {trick.winner % 2}", 13, TEXT, 400, "end"))
        lines.append(at(PAST_LEFT, y, *marks))
    return lines
