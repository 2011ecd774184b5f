"""GIF and MP4 files of frames and of replays."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import ludory
from ludory.cli.games import watch
from ludory.data.replay import read_replay
from ludory.errors import OptionError
from ludory.frames.raster import Frame
from ludory.frames.video import HOLD, write_video

Image = pytest.importorskip("PIL.Image", reason="needs ludory[pictures]")
TINY = "HanabiTiny2P-v0"


def shades(count: int) -> list[Frame]:
    return [np.full((20, 30, 3), 40 * k, np.uint8) for k in range(count)]


def streams(file: Path) -> str:
    """What ffmpeg says of a file."""
    ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="needs ludory[videos]").get_ffmpeg_exe()
    return subprocess.run([ffmpeg, "-i", str(file)], capture_output=True, text=True).stderr


def test_a_gif_has_every_frame_at_its_speed(tmp_path: Path) -> None:
    write_video(tmp_path / "a.gif", shades(4), fps=4)
    with Image.open(tmp_path / "a.gif") as gif:
        durations, colours = [], []
        for k in range(gif.n_frames):
            gif.seek(k)
            durations.append(gif.info["duration"])
            colours.append(gif.convert("RGB").getpixel((5, 5))[0])
    assert colours == [0, 40, 80, 120]
    assert durations == [250, 250, 250, 250 + 1000 * HOLD]


def test_an_mp4_lasts_as_long_as_its_frames(tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg", reason="needs ludory[videos]")
    write_video(tmp_path / "a.mp4", shades(5), fps=5)
    said = streams(tmp_path / "a.mp4")
    assert "Video: h264" in said
    assert "yuv420p" in said
    assert "30x20" in said
    found = re.search(r"Duration: 00:00:(\d+\.\d+)", said)
    assert found is not None
    assert float(found[1]) == pytest.approx(1 + HOLD, abs=0.05)
    assert [file.name for file in tmp_path.iterdir()] == ["a.mp4"]


@pytest.mark.parametrize(
    ("name", "fps", "count", "message"),
    [
        ("a.avi", 2, 1, r"must end in \.gif or \.mp4"),
        ("a.gif", 0, 1, "above 0 and at most 50"),
        ("a.gif", 60, 1, "above 0 and at most 50"),
        ("a.gif", 2, 0, "at least one frame"),
    ],
)
def test_wrong_videos_are_refused(name: str, fps: float, count: int, message: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=message):
        write_video(tmp_path / name, shades(count), fps)
    assert list(tmp_path.iterdir()) == []


def test_a_replay_becomes_a_video_with_a_frame_for_each_position(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py", reason="needs ludory[pictures]")
    replay = ludory.watch("random(seed=1)", TINY, seed=3)
    replay.video(tmp_path / "game.gif", seat=0, speed=5, width=200)
    with Image.open(tmp_path / "game.gif") as gif:
        assert gif.n_frames == len(replay.moves) + 1
        assert gif.size[0] == 200
    with pytest.raises(OptionError, match="seat=2"):
        replay.video(tmp_path / "game.gif", seat=2)
    with pytest.raises(OptionError, match="width=7"):
        replay.video(tmp_path / "game.gif", width=7)


@pytest.mark.slow
def test_the_command_writes_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("resvg_py", reason="needs ludory[pictures]")
    pytest.importorskip("imageio_ffmpeg", reason="needs ludory[videos]")
    gif, mp4, replay = (tmp_path / f"game.{ending}" for ending in ("gif", "mp4", "json"))
    files = ["--gif", str(gif), "--mp4", str(mp4), "--replay", str(replay)]
    assert watch.run([TINY, "random(seed=1)", "--seed", "3", "--speed", "4", *files]) == 0
    assert capsys.readouterr().out.count("The video is in") == 2
    moves = len(read_replay(replay).moves)
    with Image.open(gif) as picture:
        assert picture.n_frames == moves + 1
    assert "4 fps" in streams(mp4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--gif", "game.mp4"], r"--gif game\.mp4: the name must end in \.gif"),
        (["--speed", "3"], "--speed is for videos: add --gif FILE or --mp4 FILE"),
        (["--width", "300"], "--width is for videos"),
    ],
)
def test_wrong_options_are_refused_before_a_game_is_played(words: list[str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        watch.run([TINY, "random", *words])
