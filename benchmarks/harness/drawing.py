"""SVG parts that every chart has."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

INK = "#1a1a1a"


def document(width: int, height: int, parts: Iterable[str]) -> str:
    """A self-contained SVG document on a white background."""
    style = f"font-family='sans-serif' font-size='13' fill='{INK}'"
    size = f"width='{width}' height='{height}' viewBox='0 0 {width} {height}'"
    background = f"<rect width='{width}' height='{height}' fill='#ffffff'/>"
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size} {style}>{background}{''.join(parts)}</svg>\n"


def text(x: float, y: float, words: str, anchor: str, weight: str = "normal") -> str:
    """A line of text; anchor: "start", "middle" or "end"."""
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' font-weight='{weight}'>{escape(words)}</text>"
