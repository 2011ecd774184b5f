"""The marks that Texas 42's SVG picture is made of: dominoes and their halves."""

from __future__ import annotations

from ludory.envs.texas42.tiles import COUNT, HIGH, LOW, TILE_NAMES

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
