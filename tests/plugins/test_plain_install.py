"""What `pip install ludory` can do without the libraries of extras, and what is said of the rest."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
from python_process import REPOSITORY, python

BLOCKED = """
import sys
for name in ("lightning", "pettingzoo", "pyarrow", "sb3_contrib", "stable_baselines3", "tensorboard", "matplotlib", "pandas", "scipy"):
    sys.modules[name] = None
"""


@pytest.mark.slow
def test_games_training_and_evaluation_need_no_extra(tmp_path: Path) -> None:
    code = f"""{BLOCKED}
import gymnasium, ludory
from ludory.cli import main
env = gymnasium.make("TicTacToe-v0")
observation, info = env.reset(seed=1)
env.step(env.action_space.sample(info["action_mask"]))
file, page = r"{tmp_path / "model.ludory"}", r"{tmp_path / "game.html"}"
model = ludory.make_algorithm("ppo", env="TicTacToe-v0", num_envs=2, n_steps=4, hidden=(4,))
model.learn(8, callback=lambda local, all: True)
model.save(file)
assert ludory.load(file).num_timesteps == 8
assert ludory.evaluate([file], game="TicTacToe-v0", games=2, seed=1).returns.shape == (2, 2)
small = ["--num-envs", "2", "--n-steps", "4", "--hidden", "4"]
assert main(["train", "ppo", "--env", "TicTacToe-v0", "--timesteps", "8", "--out", file, "--eval-games", "2", "--resume", *small]) == 0
assert main(["eval", file, "random", "--game", "TicTacToe-v0", "--games", "2"]) == 0
game = r"{tmp_path / "game.json"}"
assert main(["watch", "TicTacToe-v0", file, "--replay", game, "--html", page]) == 0
assert main(["watch", game]) == main(["analyse", game]) == 0
"""
    python(code)
    assert (tmp_path / "game.html").exists()


@pytest.mark.slow
def test_what_needs_an_extra_names_it(tmp_path: Path) -> None:
    code = f"""{BLOCKED}
import ludory
from ludory.algorithms.running.metric_logs import check_logs
from ludory.cli import main
from ludory.errors import PluginError
calls = {{
    "pettingzoo": (lambda: ludory.make_game("pettingzoo:connect_four_v3"), lambda: ludory.envs.hanabi_v0.env()),
    "sb3": (lambda: ludory.envs.to_sb3, lambda: ludory.make_algorithm("sb3_ppo"), lambda: ludory.algorithms.export_sb3),
    "lightning": (lambda: ludory.make_algorithm("bc"), lambda: ludory.make_algorithm("world-model")),
    "tensorboard": (lambda: ludory.make_algorithm("ppo", env="TicTacToe-v0", tensorboard_log="x", num_envs=2).learn(1),),
}}
for extra, tries in calls.items():
    for one in tries:
        try:
            one()
        except PluginError as error:
            assert f'type: pip install "ludory[{{extra}}]"' in str(error), error
        else:
            raise AssertionError(extra)
sys.stderr = sys.stdout
assert main(["record", "random", "--game", "TicTacToe-v0", "--games", "2", "--out", r"{tmp_path / "games"}"]) == 2
"""
    said = python(code)
    assert said == (
        "ludory: this needs the module 'pyarrow', which is not installed; type: pip install \"ludory[data]\""
    )


def test_all_has_what_every_plain_feature_may_need_and_dev_has_all() -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    (everything,) = extras["all"]
    assert {"data", "lightning", "pettingzoo", "sb3", "tensorboard"} <= set(everything[7:-1].split(","))
    assert any(line.startswith("ludory[all") for line in extras["dev"])


@pytest.mark.slow
def test_the_wheel_is_small_and_says_that_benchmarks_run_from_a_clone(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    import subprocess

    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--quiet",
        "--wheel-dir",
        tmp_path,
        REPOSITORY,
    ]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 4.75e6
    with zipfile.ZipFile(wheel) as files:
        benchmarks = {name.split("/")[2] for name in files.namelist() if name.startswith("ludory/benchmarks/")}
        assert benchmarks == {"harness", "sweep"}
        files.extractall(tmp_path / "site")
    code = f"""
import sys
sys.path.insert(0, r"{tmp_path / "site"}")
sys.stderr = sys.stdout
from ludory.cli import main
assert main.__code__.co_filename.startswith(r"{tmp_path}"), main.__code__.co_filename
assert main(["bench"]) == 2
assert main(["bench", "arena"]) == 2
"""
    lines = python(code).splitlines()
    assert len(lines) == 2
    assert all("run from a clone of the repository" in line for line in lines)
