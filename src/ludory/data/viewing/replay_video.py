"""`replay_video`: a recorded game as a GIF or an MP4 file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ludory.data.replay import Replay, frames
from ludory.envs import Game, make_game
from ludory.envs.pictures import svg_picture
from ludory.errors import OptionError
from ludory.frames.raster import Camera, Frame, check_rasteriser
from ludory.frames.video import check_video, write_video


def replay_video(
    file: str | Path,
    replay: Replay,
    seat: int | None = None,
    speed: float | None = None,
    width: int | None = None,
    game: Game | None = None,
    on_frame: Callable[[], None] | None = None,
) -> None:
    """Write a replay as a video: one frame for each position, the last of which stays for two seconds.

    Args:
        file: to write; ends in .gif or .mp4.
        replay: the game to show.
        seat: whose view is shown; None shows everything.
        speed: positions per second (default: `Look.pace`).
        width: of the video in pixels (default: that of the game's picture).
        game: the game itself, if its id is not registered.
        on_frame: called for each frame.

    Raises:
        OptionError: there is no such seat, or the ending, speed or width is not allowed.
        PluginError: resvg, Pillow or imageio-ffmpeg is not installed.
        ReplayError: the game does not go as recorded under the rules of this version.
    """
    game = game or make_game(replay.game, **replay.options)
    if seat is not None and not 0 <= seat < game.facts.players:
        raise OptionError(f"seat={seat!r}: must be None or 0 to {game.facts.players - 1}")
    check_replay_video(file, game, speed, width)
    camera = Camera(width)

    def shots() -> Iterator[Frame]:
        for engine in frames(replay, game):
            yield camera(svg_picture(game, engine.state, 0, seat))
            if on_frame is not None:
                on_frame()

    write_video(file, shots(), game.look.pace if speed is None else speed)


def check_replay_video(file: str | Path, game: Game, speed: float | None = None, width: int | None = None) -> None:
    """Check the arguments of `replay_video` and that the packages it needs are installed, before a game is played."""
    if width is not None and not 16 <= width <= 4096:
        raise OptionError(f"width={width!r}: must be 16 to 4096 pixels")
    check_video(
        file, game.look.pace if speed is None else speed
    )  # first: the extra that it names for .mp4 has all that is needed
    check_rasteriser()
