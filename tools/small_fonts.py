"""Write the fonts of pictures: those of a folder of DejaVu fonts with Latin, Greek, Cyrillic and the symbols that games and tables use.

    python tools/small_fonts.py dejavu-fonts-ttf-2.37/ttf

Needs the package fonttools. A character that they lack is drawn as a box.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools import subset

FOLDER = Path(__file__).parents[1] / "src" / "ludory" / "frames" / "fonts"
KEPT = (
    (0x20, 0x7E),
    (0xA0, 0x17F),  # Latin
    (0x192, 0x192),
    (0x218, 0x21B),
    (0x2C6, 0x2DD),
    (0x370, 0x3FF),  # Greek
    (0x400, 0x45F),  # Cyrillic
    (0x490, 0x491),
    (0x1E00, 0x1EFF),
    (0x2000, 0x206F),  # punctuation
    (0x2070, 0x209F),
    (0x20AC, 0x20AC),
    (0x2116, 0x2122),
    (0x2150, 0x215E),
    (0x2190, 0x21FF),  # arrows
    (0x2200, 0x226F),  # operators
    (0x2300, 0x23FF),
    (0x2500, 0x25FF),  # lines, blocks and shapes
    (0x2600, 0x26FF),  # cards, dice and others
    (0x2700, 0x2718),
    (0xFE0E, 0xFE0F),
    (0xFFFD, 0xFFFD),
)


def main(folder: Path) -> None:
    """Write the three fonts."""
    # outlines are drawn as they are, without hints
    options = subset.Options(hinting=False, notdef_outline=True, glyph_names=False, drop_tables=["FFTM"])
    for file in sorted(FOLDER.glob("*.ttf")):
        font = subset.load_font(str(folder / file.name), options)
        chosen = subset.Subsetter(options)
        chosen.populate(unicodes=[code for first, last in KEPT for code in range(first, last + 1)])
        chosen.subset(font)
        subset.save_font(font, str(file), options)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
