"""SVG documents as pixels, by resvg with the fonts of this folder: equal documents have equal pixels on every machine."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.errors import PluginError

Frame = NDArray[np.uint8]
"""(height, width, 3), both even: most players show no video with an odd side."""

_FONTS = Path(__file__).with_name("fonts")
_SANS, _MONO = "DejaVu Sans", "DejaVu Sans Mono"
_WHITE = np.full(3, 255.0)


def rasterise(svg: str, width: int | None = None) -> Frame:
    """The pixels of an SVG document.

    What lies outside rounded corners gets the colour of the document's upper edge, or white if that is transparent.

    Args:
        svg: one document. Fonts are those of this folder, whatever it names, and files that it refers to are not read.
        width: in pixels (default: the document's own); the height follows.

    Raises:
        PluginError: resvg or Pillow is not installed, or the document is not valid SVG.
    """
    check_rasteriser()
    import resvg_py
    from PIL import Image

    fonts: dict[str, Any] = {
        "skip_system_fonts": True,
        "font_files": [str(file) for file in sorted(_FONTS.glob("*.ttf"))],
        "font_family": _SANS,
        "sans_serif_family": _SANS,
        "serif_family": _SANS,
        "monospace_family": _MONO,
    }
    try:
        png = resvg_py.svg_to_bytes(svg_string=svg, width=width, **fonts)
    except ValueError as error:
        raise PluginError(f"the picture is not valid SVG: {error}; `ludory watch --svg FILE` writes it") from error
    with Image.open(io.BytesIO(png)) as image:
        return _on_ground(np.asarray(image.convert("RGBA")))


def check_rasteriser() -> None:
    """Raise PluginError if resvg or Pillow is not installed."""
    try:
        import PIL  # noqa: F401
        import resvg_py  # noqa: F401
    except ImportError as error:
        raise PluginError(
            f'pixels of pictures need resvg and Pillow ({error}): pip install "ludory[pictures]", or use SVG pictures'
        ) from error


def _on_ground(pixels: NDArray[np.uint8]) -> Frame:
    """Pixels (h, w, 4) on an opaque ground with even sides."""
    height, width, _ = pixels.shape
    edge = pixels[0, width // 2]
    ground = edge[:3] if edge[3] == 255 else _WHITE
    frame = np.empty((height + height % 2, width + width % 2, 3), np.uint8)
    frame[:] = ground
    frame[:height, :width] = pixels[..., :3]
    clear = np.nonzero(pixels[..., 3] < 255)  # usually the corners only
    opaque = pixels[clear][:, 3:] / 255
    frame[clear] = np.rint(pixels[clear][:, :3] * opaque + ground * (1 - opaque))
    return frame


class Camera:
    """Draws documents as frames of one size, as videos need it: the size of the first one.

    Later documents of another size are scaled to fit, and centred.

    Args:
        width: of the first frame in pixels (default: the document's own).
    """

    def __init__(self, width: int | None = None) -> None:
        self._width = width
        self._size: tuple[int, int] | None = None

    def __call__(self, svg: str) -> Frame:
        """The frame of a document; errors are those of `rasterise`."""
        frame = rasterise(svg, self._width)
        if self._size is None:
            self._size = frame.shape[:2]
        return frame if frame.shape[:2] == self._size else _fitted(frame, *self._size)


def _fitted(frame: Frame, height: int, width: int) -> Frame:
    from PIL import Image

    scale = min(height / frame.shape[0], width / frame.shape[1])
    size = max(1, round(frame.shape[1] * scale)), max(1, round(frame.shape[0] * scale))
    canvas = Image.new("RGB", (width, height), tuple(frame[0, frame.shape[1] // 2].tolist()))
    small = Image.fromarray(frame).resize(size, Image.Resampling.LANCZOS)
    canvas.paste(small, ((width - size[0]) // 2, (height - size[1]) // 2))
    return np.asarray(canvas)
