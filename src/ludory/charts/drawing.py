"""Drawings made of a few kinds of marks, as SVG text or, where Pillow is installed, as an image (PNG, PDF, GIF); their colours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources
from itertools import pairwise
from math import dist
from typing import TYPE_CHECKING, NamedTuple

from ludory.errors import PluginError
from ludory.visible import visible

if TYPE_CHECKING:
    from PIL import Image


INK, FAINT, GROUND = "#1a1a1a", "#d9d9d9", "#ffffff"
"""Of words and lines, of grids, and of the paper."""
STYLES: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("#0072b2", ()),
    ("#d55e00", (8, 3)),
    ("#009e73", (2, 3)),
    ("#aa3377", (9, 3, 2, 3)),
    ("#6b6b6b", (14, 4)),
    ("#b58900", (5, 2)),
)
"""Colour and dashes of each line."""
FILLS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
"""Of areas with a label."""
_LOW, _MIDDLE, _HIGH = (213, 94, 0), (247, 247, 247), (0, 114, 178)


def shade(rate: float) -> str:
    """Orange for 0, near white for 1/2, blue for 1."""
    share, end = abs(rate - 0.5) * 2, _HIGH if rate > 0.5 else _LOW
    return "#" + "".join(f"{round(one + (other - one) * share):02x}" for one, other in zip(_MIDDLE, end, strict=True))


def on_shade(rate: float) -> str:
    """A colour of text that can be read on `shade(rate)`."""
    return GROUND if rate > 0.85 else INK


FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
SMOOTH = 2
"""Images are drawn at this many times their size and then shrunk, so that edges are smooth."""


class Rectangle(NamedTuple):
    """A rectangle; `tip` is shown in SVG when the mouse points at it."""

    x: float
    y: float
    width: float
    height: float
    fill: str = ""
    stroke: str = ""
    line: float = 1.0
    radius: float = 0.0
    tip: str = ""


class Dot(NamedTuple):
    """A filled circle."""

    x: float
    y: float
    radius: float
    fill: str
    stroke: str = ""
    tip: str = ""
    link: str = ""
    """Address that a click leads to, in SVG."""


class Path(NamedTuple):
    """Straight lines from point to point; with `fill`, the polygon that they enclose."""

    points: Sequence[tuple[float, float]]
    stroke: str = ""
    line: float = 1.0
    dashes: Sequence[float] = ()
    """Lengths of dashes and gaps in turn; empty: a solid line."""
    fill: str = ""
    opacity: float = 1.0
    tip: str = ""


class Words(NamedTuple):
    """A line of text that starts at, is centred on or ends at (x, y)."""

    x: float
    y: float
    text: str
    size: float = 13
    fill: str = INK
    anchor: str = "start"
    bold: bool = False
    turn: float = 0.0
    """Degrees clockwise around (x, y)."""


Mark = Rectangle | Dot | Path | Words
"""What a drawing consists of."""


class Drawing(NamedTuple):
    """Marks on a background; later ones cover earlier ones. The title is for screen readers."""

    width: float
    height: float
    ground: str
    title: str
    marks: Sequence[Mark]


def line(x0: float, y0: float, x1: float, y1: float, stroke: str = INK, width: float = 1.0) -> Path:
    """A straight line."""
    return Path(((x0, y0), (x1, y1)), stroke, width)


def shifted(mark: Mark, x: float, y: float) -> Mark:
    """A mark, moved."""
    if isinstance(mark, Path):
        return mark._replace(points=tuple((a + x, b + y) for a, b in mark.points))
    return mark._replace(x=mark.x + x, y=mark.y + y)


def quoted(words: str) -> str:
    """Text that is safe in attributes and between tags; control characters, which XML does not allow, are escaped."""
    return escape(visible(words, keep="\n"), quote=True)


def as_svg(drawing: Drawing) -> str:
    """One self-contained SVG document."""
    role = "group" if any(isinstance(mark, Dot) and mark.link for mark in drawing.marks) else "img"
    size = f"viewBox='0 0 {drawing.width:g} {drawing.height:g}' width='{drawing.width:g}' height='{drawing.height:g}'"
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='{role}' aria-label='{quoted(drawing.title)}' font-family=\"{FONT}\">",
        f"<rect width='{drawing.width:g}' height='{drawing.height:g}' fill='{drawing.ground}'/>",
        *map(_svg_mark, drawing.marks),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _svg_mark(mark: Mark) -> str:
    if isinstance(mark, Words):
        x, y = _place(mark.x), _place(mark.y)
        more = " font-weight='700'" if mark.bold else ""
        more += f" transform='rotate({mark.turn:g} {x} {y})'" if mark.turn else ""
        place = f"x='{x}' y='{y}' font-size='{mark.size:g}' text-anchor='{mark.anchor}'"
        return f"<text {place}{more} fill='{mark.fill}'>{quoted(mark.text)}</text>"
    if isinstance(mark, Dot):
        stroke = f" stroke='{mark.stroke}'" if mark.stroke else ""
        place = f"cx='{_place(mark.x)}' cy='{_place(mark.y)}' r='{mark.radius:g}'"
        circle = _with_tip("circle", f"{place} fill='{mark.fill}'{stroke}", mark.tip)
        return f"<a href='{quoted(mark.link)}' aria-label='{quoted(mark.tip)}'>{circle}</a>" if mark.link else circle
    paint = f"fill='{mark.fill or 'none'}'"
    paint += f" stroke='{mark.stroke}' stroke-width='{mark.line:g}'" if mark.stroke else ""
    if isinstance(mark, Rectangle):
        place = " ".join(f"{name}='{_place(getattr(mark, name))}'" for name in ("x", "y", "width", "height"))
        paint += f" rx='{mark.radius:g}'" if mark.radius else ""
        return _with_tip("rect", f"{place} {paint}", mark.tip)
    points = " ".join(f"{_place(x)},{_place(y)}" for x, y in mark.points)
    paint += f" stroke-dasharray='{' '.join(f'{length:g}' for length in mark.dashes)}'" if mark.dashes else ""
    paint += f" fill-opacity='{mark.opacity:g}'" if mark.opacity < 1 else ""
    return _with_tip("polygon" if mark.fill else "polyline", f"points='{points}' {paint}", mark.tip)


def _place(number: float) -> str:
    return f"{round(float(number), 2):g}"


def _with_tip(tag: str, attributes: str, tip: str) -> str:
    return f"<{tag} {attributes}><title>{quoted(tip)}</title></{tag}>" if tip else f"<{tag} {attributes}/>"


def as_image(drawing: Drawing, scale: float = 1.0) -> Image.Image:
    """An RGB image, `scale` times as large.

    Raises:
        PluginError: Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise PluginError(
            'images need Pillow: pip install "ludory[pictures]", or name a file ending in .svg'
        ) from error
    factor = scale * SMOOTH
    image = Image.new("RGB", (round(drawing.width * factor), round(drawing.height * factor)), drawing.ground)
    for mark in drawing.marks:
        _draw(image, mark, factor)
    return image.resize((round(drawing.width * scale), round(drawing.height * scale)), Image.Resampling.LANCZOS)


def _draw(image: Image.Image, mark: Mark, factor: float) -> None:
    from PIL import ImageDraw

    pen = ImageDraw.Draw(image, "RGBA")  # fills are blended with what lies below
    if isinstance(mark, Words):
        _write(image, mark, factor)
    elif isinstance(mark, Dot):
        pen.circle((mark.x * factor, mark.y * factor), mark.radius * factor, mark.fill, mark.stroke or None)
    elif isinstance(mark, Rectangle):
        ends = [mark.x * factor, mark.y * factor, (mark.x + mark.width) * factor, (mark.y + mark.height) * factor]
        width = max(1, round(mark.line * factor)) if mark.stroke else 0
        pen.rounded_rectangle(ends, mark.radius * factor, mark.fill or None, mark.stroke or None, width)
    else:
        points = [(x * factor, y * factor) for x, y in mark.points]
        if mark.fill:
            pen.polygon(points, f"{mark.fill}{round(255 * mark.opacity):02x}")
        if mark.stroke:
            for part in _dashed(points, [length * factor for length in mark.dashes]):
                pen.line(part, mark.stroke, max(1, round(mark.line * factor)), joint="curve")


def _write(image: Image.Image, words: Words, factor: float) -> None:
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(max(words.size * factor, 1))
    place, stroke = (words.x * factor, words.y * factor), 0.02 * words.size * factor if words.bold else 0
    if not words.turn:
        ImageDraw.Draw(image).text(
            place, words.text, words.fill, font, ANCHORS[words.anchor], stroke_width=stroke, stroke_fill=words.fill
        )
        return
    # Pillow writes upright only: what is turned is the mask
    mask = Image.new("L", image.size)
    ImageDraw.Draw(mask).text(place, words.text, 255, font, ANCHORS[words.anchor], stroke_width=stroke)
    image.paste(words.fill, (0, 0), mask.rotate(-words.turn, Image.Resampling.BICUBIC, center=place))


def _dashed(points: Sequence[tuple[float, float]], lengths: Sequence[float]) -> list[list[tuple[float, float]]]:
    """The pieces of a line that are drawn."""
    if not lengths:
        return [list(points)]
    pattern = [*lengths, *lengths]  # an odd number of lengths is repeated with dashes and gaps exchanged
    pieces, turn, left = [], 0, pattern[0]
    for (x0, y0), (x1, y1) in pairwise(points):
        length, at = dist((x0, y0), (x1, y1)), 0.0
        while at < length:
            stop = min(length, at + left)
            if turn % 2 == 0:
                shares = at / length, stop / length
                pieces.append([(x0 + (x1 - x0) * share, y0 + (y1 - y0) * share) for share in shares])
            left -= stop - at
            at = stop
            # rounding may leave a little of a dash
            if left <= 1e-9:
                turn = (turn + 1) % len(pattern)
                left = pattern[turn]
    return pieces


def page_style() -> str:
    """Style sheet of replays and reports: colours for light and dark screens, cards, tables."""
    return resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
