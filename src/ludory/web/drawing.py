"""Drawings made of a few kinds of marks, as SVG text or, where Pillow is installed, as an image (PNG, PDF, GIF)."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ludory.errors import PluginError
from ludory.visible import visible

if TYPE_CHECKING:
    from PIL import Image

FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
SMOOTH = 2
"""Images are drawn so many times larger and then shrunk, so that edges are smooth."""


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float
    fill: str = ""
    stroke: str = ""
    line: float = 1.0
    radius: float = 0.0


class Dot(NamedTuple):
    """A filled circle."""

    x: float
    y: float
    radius: float
    fill: str


class Path(NamedTuple):
    """Straight lines from point to point; with `fill` the area that they enclose."""

    points: tuple[tuple[float, float], ...]
    stroke: str = ""
    line: float = 1.0
    dashes: float = 0.0
    """Length of a dash and of the gap after it; 0: a whole line."""
    fill: str = ""


class Words(NamedTuple):
    """A line of text that begins, is centred or ends at (x, y)."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: str = "start"
    bold: bool = False


Mark = Box | Dot | Path | Words


class Drawing(NamedTuple):
    """Marks on a ground; later ones cover earlier ones."""

    width: int
    height: int
    ground: str
    title: str
    marks: Sequence[Mark]


def shifted(mark: Mark, x: float, y: float) -> Mark:
    """A mark, moved."""
    if isinstance(mark, Path):
        return mark._replace(points=tuple((a + x, b + y) for a, b in mark.points))
    return mark._replace(x=mark.x + x, y=mark.y + y)


def as_svg(drawing: Drawing) -> str:
    """One self-contained SVG document."""
    size = f'viewBox="0 0 {drawing.width} {drawing.height}" width="{drawing.width}" height="{drawing.height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}">',
        f"<title>{escape(visible(drawing.title))}</title>",
        f'<rect width="{drawing.width}" height="{drawing.height}" fill="{drawing.ground}"/>',
        *map(_svg_mark, drawing.marks),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _svg_mark(mark: Mark) -> str:
    if isinstance(mark, Words):
        weight = ' font-weight="700"' if mark.bold else ""
        place = f'x="{mark.x:g}" y="{mark.y:g}" font-size="{mark.size:g}" text-anchor="{mark.anchor}"'
        return f'<text {place}{weight} fill="{mark.fill}">{escape(visible(mark.text))}</text>'
    if isinstance(mark, Dot):
        return f'<circle cx="{mark.x:g}" cy="{mark.y:g}" r="{mark.radius:g}" fill="{mark.fill}"/>'
    paint = f'fill="{mark.fill or "none"}"' + (
        f' stroke="{mark.stroke}" stroke-width="{mark.line:g}"' if mark.stroke else ""
    )
    if isinstance(mark, Box):
        place = f'x="{mark.x:g}" y="{mark.y:g}" width="{mark.width:g}" height="{mark.height:g}"'
        return f'<rect {place} rx="{mark.radius:g}" {paint}/>'
    points = " ".join(f"{x:.4g},{y:.4g}" for x, y in mark.points)
    dashes = f' stroke-dasharray="{mark.dashes:g}"' if mark.dashes else ""
    return f'<{"polygon" if mark.fill else "polyline"} points="{points}" {paint}{dashes}/>'


def as_image(drawing: Drawing, scale: float = 1.0) -> Image.Image:
    """An RGB image, `scale` times as large.

    Raises:
        PluginError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise PluginError(
            'images need Pillow: pip install "ludory[pictures]", or name a file ending in .svg'
        ) from error
    factor = scale * SMOOTH
    image = Image.new("RGB", (round(drawing.width * factor), round(drawing.height * factor)), drawing.ground)
    pen = ImageDraw.Draw(image)
    for mark in drawing.marks:
        _draw(pen, mark, factor)
    return image.resize((round(drawing.width * scale), round(drawing.height * scale)), Image.Resampling.LANCZOS)


def _draw(pen: object, mark: Mark, factor: float) -> None:
    from PIL import ImageDraw, ImageFont

    assert isinstance(pen, ImageDraw.ImageDraw)
    if isinstance(mark, Words):
        font = ImageFont.load_default(max(mark.size * factor, 1))
        stroke = 0.02 * mark.size * factor if mark.bold else 0
        place = mark.x * factor, mark.y * factor
        pen.text(place, mark.text, mark.fill, font, ANCHORS[mark.anchor], stroke_width=stroke, stroke_fill=mark.fill)
    elif isinstance(mark, Dot):
        pen.circle((mark.x * factor, mark.y * factor), mark.radius * factor, mark.fill)
    elif isinstance(mark, Box):
        ends = [mark.x * factor, mark.y * factor, (mark.x + mark.width) * factor, (mark.y + mark.height) * factor]
        line = max(1, round(mark.line * factor)) if mark.stroke else 0
        pen.rounded_rectangle(ends, mark.radius * factor, mark.fill or None, mark.stroke or None, line)
    else:
        points = [(x * factor, y * factor) for x, y in mark.points]
        if mark.fill:
            pen.polygon(points, mark.fill)
        if mark.stroke:
            for part in _dashed(points, mark.dashes * factor):
                pen.line(part, mark.stroke, max(1, round(mark.line * factor)), joint="curve")


def _dashed(points: list[tuple[float, float]], dash: float) -> list[list[tuple[float, float]]]:
    """The pieces of a line that are drawn."""
    if not dash:
        return [points]
    pieces, walked = [], 0.0
    for (x0, y0), (x1, y1) in pairwise(points):
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        at = 0.0
        while at < length:
            stop = min(length, at + max(dash - walked % dash, 1e-3 * dash))
            if int(walked / dash + 1e-9) % 2 == 0:
                share = at / length, stop / length
                pieces.append([(x0 + (x1 - x0) * s, y0 + (y1 - y0) * s) for s in share])
            walked += stop - at
            at = stop
    return pieces
