"""Files that commands write: their names are checked before any work, and they appear whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ludory.atomic import atomic_file
from ludory.errors import OptionError

if TYPE_CHECKING:
    from ludory.charts.drawing import Drawing


def check_ending(option: str, file: Path | None, *endings: str) -> None:
    """Accept None, and a file with one of the endings.

    Raises:
        OptionError: the file has another ending.
    """
    if file is not None and file.suffix.lower() not in endings:
        allowed = " or ".join(filter(None, (", ".join(endings[:-1]), endings[-1])))
        raise OptionError(f"{option} {file}: the name must end in {allowed}")


def check_new(file: Path) -> None:
    """Raise OptionError if `file` exists."""
    if file.exists():
        raise OptionError(f"{file} exists; name another file with --out")


def file_with_suffix(option: str, file: Path, suffix: str) -> Path:
    """`file` with the ending `suffix`.

    Raises:
        OptionError: `file` is not the name of a file, such as "" or "..".
    """
    try:
        return file.with_suffix(suffix)
    except ValueError as error:
        raise OptionError(f"{option} {str(file)!r}: name a file, such as runs/model{suffix}") from error


def write_text(file: str | Path, text: str) -> None:
    """Write `text` in UTF-8."""
    with atomic_file(file, "w") as handle:
        handle.write(text)


def write_drawing(file: Path, drawing: Drawing, scale: int = 1) -> None:
    """Write an SVG, PDF or PNG picture, by the ending of `file`; the latter two need Pillow and are `scale` times as large."""
    from ludory.charts.drawing import as_image, as_svg

    if file.suffix.lower() == ".svg":
        write_text(file, as_svg(drawing))
        return
    image = as_image(drawing, scale)
    with atomic_file(file) as handle:
        image.save(handle, "PDF" if file.suffix.lower() == ".pdf" else "PNG", resolution=96 * scale)
