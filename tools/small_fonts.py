"""Write the fonts of pictures: those of a folder of DejaVu fonts with Latin, Greek, Cyrillic and the symbols that games and tables use.

    python tools/small_fonts.py dejavu-fonts-ttf-2.37/ttf

Needs the package fonttools. A character that they lack is drawn as a box.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools import subset

FOLDER = Path(__file__).parents[1] / "src" / "ludory" / "frames" / "fonts"
WESTERN = (
    (0x20, 0x7E),
    (0xA0, 0xFF),  # Latin
    (0x2010, 0x2026),  # punctuation
    (0x2030, 0x203A),
    (0x20AC, 0x20AC),
    (0x2116, 0x2116),
    (0x2122, 0x2122),
    (0xFE0E, 0xFE0F),
    (0xFFFD, 0xFFFD),
)
TEXT = (
    *WESTERN,
    (0x100, 0x17F),
    (0x192, 0x192),
    (0x218, 0x21B),
    (0x2C6, 0x2DD),
    (0x370, 0x3FF),  # Greek
    (0x400, 0x45F),  # Cyrillic
    (0x490, 0x491),
)
SYMBOLS = (
    (0x2070, 0x209F),
    (0x2190, 0x2199),  # arrows
    (0x21A9, 0x21AA),
    (0x21BA, 0x21BB),
    (0x21D0, 0x21D4),
    (0x2200, 0x220B),  # operators
    (0x2212, 0x221E),
    (0x2227, 0x222B),
    (0x2248, 0x2248),
    (0x2260, 0x2265),
    (0x2318, 0x2318),  # keys
    (0x2326, 0x232B),
    (0x23CE, 0x23CE),
    (0x2500, 0x25FF),  # lines, blocks and shapes
    (0x2605, 0x2606),
    (0x2610, 0x2612),
    (0x2639, 0x263B),
    (0x2640, 0x2642),
    (0x2654, 0x2667),  # chess and cards
    (0x2669, 0x266F),
    (0x2680, 0x2685),  # dice
    (0x26A0, 0x26A1),
    (0x2713, 0x2718),
)
KEPT = {
    "DejaVuSans.ttf": (*TEXT, (0x1E80, 0x1E85), (0x1E9E, 0x1EF9), *SYMBOLS),
    "DejaVuSans-Bold.ttf": WESTERN,
    "DejaVuSansMono.ttf": (*TEXT, *SYMBOLS),
}
"""Ranges of characters of each font. What the bold one and the monospaced one lack is drawn by the first."""


def main(folder: Path) -> None:
    """Write the three fonts."""
    # outlines are drawn as they are, without hints and ligatures
    options = subset.Options(
        hinting=False, notdef_outline=True, glyph_names=False, drop_tables=["FFTM", "GSUB", "MATH"]
    )
    for file in sorted(FOLDER.glob("*.ttf")):
        font = subset.load_font(str(folder / file.name), options)
        chosen = subset.Subsetter(options)
        chosen.populate(unicodes=[code for first, last in KEPT[file.name] for code in range(first, last + 1)])
        chosen.subset(font)
        subset.save_font(font, str(file), options)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
