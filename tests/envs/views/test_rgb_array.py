"""`render_mode="rgb_array"` in every view, and the recorders of Gymnasium and Stable-Baselines3."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from games.nim import matching, nim

from ludory.envs import make_game, to_sb3
from ludory.envs.views.gymnasium_env import GameEnv, make_env
from ludory.envs.views.gymnasium_vector import GameVectorEnv
from ludory.envs.views.pettingzoo_aec import make_aec
from ludory.envs.views.pettingzoo_parallel import make_parallel
from ludory.errors import PluginError
from ludory.plugins import games
from ludory.testing import plain_rules

TINY = "HanabiTiny2P-v0"


@pytest.fixture(autouse=True)
def _compile_nothing() -> Iterator[None]:
    with plain_rules():
        yield


@pytest.fixture
def resvg() -> None:
    pytest.importorskip("resvg_py", reason="needs ludory[pictures]")


def is_picture(frame: Any) -> bool:
    """Whether it is an image that shows something."""
    even = isinstance(frame, np.ndarray) and frame.shape[0] % 2 == frame.shape[1] % 2 == 0
    return (
        even
        and frame.dtype == np.uint8
        and frame.shape[2:] == (3,)
        and len(np.unique(frame.reshape(-1, 3), axis=0)) > 2
    )


def play(env: gym.Env[Any, Any], steps: int = 100) -> None:
    _, info = env.reset(seed=1)
    for _ in range(steps):
        *_, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
        if terminated or truncated:
            return


@pytest.mark.slow
@pytest.mark.usefixtures("resvg")
def test_every_kind_of_game_has_pixels() -> None:
    here = [id for id in games.ids() if not id.startswith("Pokemon") and not id.endswith(":")]  # Pokémon needs Node
    one_of_each = {make_game(id).facts.name: id for id in here}
    for id in one_of_each.values():
        env = make_env(id, render_mode="rgb_array")
        env.reset(seed=1)
        assert is_picture(env.render()), id


@pytest.mark.usefixtures("resvg")
def test_games_without_pictures_show_their_text() -> None:
    for game in (nim(), matching()):
        env = GameEnv(game, render_mode="rgb_array")
        env.reset(seed=1)
        assert is_picture(env.render())


@pytest.mark.slow
@pytest.mark.usefixtures("resvg")
def test_every_view_draws_the_same_pixels() -> None:
    single, agents, parallel = (make(TINY, render_mode="rgb_array") for make in (make_env, make_aec, make_parallel))
    vector = GameVectorEnv(make_game(TINY), 3, render_mode="rgb_array")
    for env in (single, agents, parallel, vector):
        env.reset(seed=5)
    frames = vector.render()
    assert frames is not None
    assert len(frames) == 3
    for env in (single, agents, parallel):
        assert np.array_equal(env.render(), frames[0])
    assert not np.array_equal(frames[0], frames[1])


@pytest.mark.slow
@pytest.mark.usefixtures("resvg")
def test_gymnasium_collects_frames() -> None:
    env = gym.make(TINY, render_mode="rgb_array_list")
    play(env, 4)
    frames: Any = env.render()
    assert len(frames) == 5
    assert all(is_picture(frame) for frame in frames)


@pytest.mark.slow
@pytest.mark.usefixtures("resvg")
def test_gymnasium_records_videos(tmp_path: Path) -> None:
    pytest.importorskip("moviepy", reason="needs ludory[videos]")
    env = gym.wrappers.RecordVideo(gym.make(TINY, render_mode="rgb_array"), str(tmp_path))
    play(env)
    env.close()
    (video,) = tmp_path.glob("*.mp4")
    assert video.stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.usefixtures("resvg")
def test_stable_baselines3_records_videos(tmp_path: Path) -> None:
    pytest.importorskip("moviepy", reason="needs ludory[videos]")
    from stable_baselines3.common.vec_env import VecVideoRecorder

    games = to_sb3(GameVectorEnv(make_game(TINY), 4, render_mode="rgb_array"))
    env = VecVideoRecorder(games, str(tmp_path), lambda step: step == 0, video_length=3)
    env.reset()
    for _ in range(5):
        env.step(games.action_masks().argmax(axis=1))
    env.close()
    (video,) = tmp_path.glob("*.mp4")
    assert video.stat().st_size > 1000


def test_an_environment_is_made_without_resvg_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "resvg_py":
            raise ImportError("No module named 'resvg_py'")
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    env = make_env(TINY, render_mode="rgb_array")
    env.reset(seed=1)
    with pytest.raises(PluginError, match=r'pip install "ludory\[pictures\]"'):
        env.render()
