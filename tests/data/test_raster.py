"""SVG documents and terminal text as pixels."""

from __future__ import annotations

import numpy as np
import pytest

from ludory.errors import PluginError
from ludory.frames.raster import Camera, rasterise
from ludory.frames.terminal import BRIGHT, DARK, text_svg

pytest.importorskip("resvg_py", reason="needs ludory[pictures]")
pytest.importorskip("PIL", reason="needs ludory[pictures]")


def document(width: int, height: int, marks: str) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">{marks}</svg>'


def words(font: str, text: str = "Wij") -> str:
    return document(80, 30, f'<text x="4" y="22" font-size="20" font-family="{font}">{text}</text>')


def test_pixels_are_those_of_the_document() -> None:
    frame = rasterise(
        document(4, 6, '<rect width="4" height="3" fill="#102030"/><rect y="3" width="4" height="3" fill="#ff0000"/>')
    )
    assert frame.shape == (6, 4, 3)
    assert frame.dtype == np.uint8
    assert (frame[:3] == (16, 32, 48)).all()
    assert (frame[3:] == (255, 0, 0)).all()


def test_both_sides_are_even_and_corners_have_the_colour_of_the_edge() -> None:
    frame = rasterise(document(41, 31, '<rect width="41" height="31" rx="9" fill="#123456"/>'))
    assert frame.shape == (32, 42, 3)
    assert (abs(frame.astype(int) - (0x12, 0x34, 0x56)) <= 1).all()  # corners are rounded


def test_a_transparent_document_is_white() -> None:
    assert (rasterise(document(10, 10, "")) == 255).all()


def test_the_font_does_not_depend_on_the_machine() -> None:
    frame = rasterise(words("DejaVu Sans"))
    assert (frame < 128).any()
    for font in ("system-ui, 'Segoe UI', sans-serif", "Liberation Serif", "no such font"):
        assert np.array_equal(rasterise(words(font)), frame)
    assert not np.array_equal(rasterise(words("ui-monospace, monospace")), frame)


def test_suits_arrows_and_accents_have_glyphs() -> None:
    shapes = {rasterise(words("sans-serif", char)).tobytes() for char in "\N{BLACK SPADE SUIT}\N{BLACK HEART SUIT}→é·♀"}
    assert len(shapes) == 6  # missing glyphs would all be the same box


def test_the_height_follows_the_width() -> None:
    assert rasterise(document(40, 20, ""), width=100).shape == (50, 100, 3)


def test_a_broken_document_says_so() -> None:
    with pytest.raises(PluginError, match="not valid SVG"):
        rasterise("<svg")


def test_a_camera_keeps_the_size_of_its_first_picture() -> None:
    camera = Camera()
    red = '<rect width="100%" height="100%" fill="red"/>'
    assert camera(document(60, 40, red)).shape == (40, 60, 3)
    tall = camera(document(20, 80, red + '<rect x="5" y="5" width="10" height="70" fill="blue"/>'))
    assert tall.shape == (40, 60, 3)
    assert (tall[:, :20] == (255, 0, 0)).all()
    assert tall[20, 30, 2] > 200


def test_text_has_the_colours_of_its_escape_codes() -> None:
    svg = text_svg("\x1b[31mred\x1b[0m plain <&>\n\x1b[1;92;44mboth\x1b[0m")
    assert f'fill="{DARK[1]}">red</text>' in svg
    assert "> plain &lt;&amp;&gt;</text>" in svg
    assert f'fill="{BRIGHT[2]}" font-weight="700">both</text>' in svg
    assert f'fill="{DARK[4]}"/>' in svg
    assert rasterise(svg).shape[0] == 72
