"""Frames as videos: GIF by Pillow, MP4 (H.264) by ffmpeg."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from ludory.atomic import atomic_file
from ludory.errors import OptionError, PluginError

from .raster import Frame

ENDINGS = (".gif", ".mp4")
FASTEST_GIF = 50
"""Frames per second; browsers slow faster ones down to ten."""
FASTEST_MP4 = 240
HOLD = 2.0
"""Seconds for which the last frame stays."""


def write_video(file: str | Path, frames: Iterable[Frame], fps: float) -> None:
    """Write frames of one size as a GIF or an MP4 file, by the ending of `file`; the last frame stays for two seconds.

    Args:
        file: to write, atomically.
        frames: uint8 (height, width, 3) with even sides, at least one.
        fps: frames per second.

    Raises:
        OptionError: another ending, no frames, or `fps` is not positive or too high for a GIF.
        PluginError: Pillow (GIF) or imageio-ffmpeg (MP4) is not installed.
    """
    check_video(file, fps)
    shots = iter(frames)
    first = next(shots, None)
    if first is None:
        raise OptionError(f"{file}: a video needs at least one frame, got none")
    write = _write_gif if Path(file).suffix.lower() == ".gif" else _write_mp4
    write(file, _held(chain([first], shots), fps), fps, first.shape[:2])


def check_video(file: str | Path, fps: float) -> None:
    """Check that `write_video` can write such a file; errors are those of `write_video`."""
    ending = Path(file).suffix.lower()
    if ending not in ENDINGS:
        raise OptionError(f"{file}: the name of a video must end in {' or '.join(ENDINGS)}")
    most = FASTEST_GIF if ending == ".gif" else FASTEST_MP4
    if not 0 < fps <= most:
        raise OptionError(f"speed {fps:g}, in frames per second: must be above 0 and at most {most} in a {ending} file")
    try:
        if ending == ".gif":
            import PIL  # noqa: F401
        else:
            import imageio_ffmpeg  # noqa: F401
    except ImportError as error:
        need, extra = ("Pillow", "pictures") if ending == ".gif" else ("imageio-ffmpeg", "videos")
        raise PluginError(f'a {ending} file needs {need} ({error}): pip install "ludory[{extra}]"') from error


def _held(frames: Iterable[Frame], fps: float) -> Iterator[Frame]:
    frame = None
    for frame in frames:
        yield frame
    if frame is not None:
        yield from repeat(frame, round(HOLD * fps))


def _write_gif(file: str | Path, frames: Iterator[Frame], fps: float, size: tuple[int, int]) -> None:
    from PIL import Image

    def with_palette(frame: Frame) -> Any:
        return Image.fromarray(frame).quantize(dither=Image.Dither.NONE)

    first = with_palette(next(frames))
    others = map(with_palette, frames)
    with atomic_file(file) as handle:
        first.save(handle, "GIF", save_all=True, append_images=others, duration=round(1000 / fps), loop=0)


def _write_mp4(file: str | Path, frames: Iterator[Frame], fps: float, size: tuple[int, int]) -> None:
    from imageio_ffmpeg import write_frames

    height, width = size
    with atomic_file(file) as handle:
        # The temporary name has no ending from which ffmpeg could tell the format.
        writer = write_frames(
            handle.name,
            (width, height),
            fps=fps,
            macro_block_size=2,
            quality=8,
            output_params=["-f", "mp4", "-movflags", "+faststart"],
        )
        writer.send(None)
        try:
            for frame in frames:
                writer.send(frame.tobytes())
        finally:
            writer.close()
