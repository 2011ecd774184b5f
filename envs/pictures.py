"""What the pictures of games are made of: text with colours as ANSI escape codes, and SVG marks."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from ludory.frames.terminal import text_svg

from .game import Game
from .parts import State

__all__ = [
    "as_wanted",
    "at",
    "clickable",
    "labelled_pad",
    "pad",
    "paint",
    "plain",
    "show",
    "svg_document",
    "words",
]

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def paint(text: str, codes: str) -> str:
    """`text` between the escape codes `codes` (such as "1;31") and a reset."""
    return f"\x1b[{codes}m{text}\x1b[0m"


def plain(text: str) -> str:
    """`text` without escape codes."""
    return _ESCAPE.sub("", text)


def as_wanted(text: str) -> str:
    """`text`, without colours if the environment variable NO_COLOR is set (no-color.org)."""
    return plain(text) if os.environ.get("NO_COLOR") else text


def show(text: str) -> None:
    """Print `text`, without colours if NO_COLOR is set or the output is not a terminal."""
    print(as_wanted(text) if sys.stdout.isatty() else plain(text), flush=True)


def text_picture(game: Game, state: State, i: int, seat: int | None) -> str:
    """Game `i` as `seat` sees it (None: everything). Games that draw no text show their public facts."""
    look = game.look
    if look.text is not None:
        return look.text(state, i, seat)
    return "\n".join(f"{key}: {value}" for key, value in look.info(state, i).items()) or "(this game draws no text)"


def svg_picture(game: Game, state: State, i: int, seat: int | None) -> str:
    """Game `i` as `seat` sees it (None: everything), as an SVG document. Games that draw no SVG show their text."""
    return game.look.svg(state, i, seat) if game.look.svg is not None else text_svg(text_picture(game, state, i, seat))


def html_pictures(title: str, game: Game, state: State | None, seats: Sequence[int | None]) -> str:
    """HTML for notebooks: `title`, and the first games (at most four), game k as `seats[k]` sees it."""
    shown = "".join(
        f'<div style="max-width: 60em">{svg_picture(game, state, k, seat)}</div>' for k, seat in enumerate(seats[:4])
    )
    return f"<p>{escape(title)}</p>{shown}"


def html_legal(game: Game, mask: NDArray[np.bool_]) -> str:
    """HTML for notebooks: the legal values of each head by number and name, given the legal mask (A,)."""
    if game.facts.box is not None:
        return ""
    told, start = [], 0
    for head, size in enumerate(game.facts.head_sizes):
        values = [k for k in range(size) if mask[start + k]]
        legal = ", ".join(f"{value} {game.look.action_name(head, value)}" for value in values)
        told.append(f"<p>{escape(f'legal {game.facts.head_names[head]}: {legal}')}</p>")
        start += size
    return "".join(told)


def html_table(rows: Iterable[Sequence[str]], title: str = "") -> str:
    """HTML for notebooks: `title`, and a table in which the first cell of each row is its heading."""
    lines = (
        f"<tr><th>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>" for row in rows
    )
    return (title and f"<p>{escape(title)}</p>") + f"<table>{''.join(lines)}</table>"


def words(x: float, y: float, text: str, size: float, fill: str, weight: int = 400, anchor: str = "start") -> str:
    """SVG: a line of text that begins, is centred or ends at (x, y)."""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" font-weight="{weight}" text-anchor="{anchor}" fill="{fill}">{text}</text>'


def at(x: float, y: float, *marks: str) -> str:
    """SVG: marks drawn with their origin at (x, y), as one line of the document."""
    return f'<g transform="translate({x:g} {y:g})">{"".join(marks)}</g>'


def clickable(actions: Iterable[int | str], *marks: str) -> str:
    """SVG: marks that stand for actions, in the attribute `data-action`, by which a browser plays them.

    actions: in games with one head, the actions that a click may mean; in games with several heads, "HEAD:VALUE" of all heads that it
        sets, or "send".
    """
    return f'<g data-action="{" ".join(map(str, actions))}">{"".join(marks)}</g>'


def pad(shape: str, fill: str = "#ffffff") -> str:
    """SVG: a place to click, as the inside of an element such as `rect width="9" height="9"`; only a page that plays shows it."""
    return f'<{shape} fill="{fill}" fill-opacity="0"/>'


def labelled_pad(actions: Iterable[int | str], x: float, y: float, width: float, height: float, label: str) -> str:
    """SVG: a button in a picture, at (x, y) of its upper left corner; only a page that plays shows it."""
    text = words(x + width / 2, y + height / 2 + 5, label, 14, "#ffffff", 600, "middle").replace(
        "<text", '<text fill-opacity="0"'
    )
    return clickable(actions, pad(f'rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"'), text)


def svg_document(width: int, height: int, title: str, definitions: str, background: str, lines: Iterable[str]) -> str:
    """One self-contained SVG document of `width` by `height` pixels with a rounded background.

    Each of `lines` is a line of the document: a page of many pictures keeps lines that occur more than once only once.
    """
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        "role=\"img\" font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\">",
        f"<title>{title}</title>",
        f"<defs>{definitions}</defs>",
        f'<rect width="{width}" height="{height}" rx="18" fill="{background}"/>',
    ]
    return "\n".join([*head, *lines, "</svg>"])
