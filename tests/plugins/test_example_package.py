"""A package by somebody else, really installed by pip: its game, agent, network and algorithm are as good as built in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parent / "example_package"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that pip installed the example into; takes about 2 seconds."""
    source = shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("example") / "source")
    target = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        str(target),
        str(source),
    ]
    subprocess.run(command, check=True)
    return target


def environment(site: Path, **variables: str) -> dict[str, str]:
    """Of a process that finds the example; on one thread, for networks this small are slower on two."""
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **variables}


def python(site: Path, *arguments: str) -> str:
    """What a new process with the example installed prints."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment(site))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_listed_with_its_package(site: Path) -> None:
    lines = python(site, "-m", "ludory", "list").partition("\nbeliefs:")[0].splitlines()
    for id in ("Nim-v0", "MisereNim-v0", "nim/perfect", "nim-heaps-v1", "nim-reinforce-v1"):
        (line,) = (line for line in lines if line.split()[:1] == [id])
        assert line.endswith("ludory-nim")


def test_its_game_is_played_through_every_door(site: Path) -> None:
    code = """
import gymnasium, ludory, pettingzoo
game = ludory.make_game("Nim", heaps=4)
assert (game.id, game.options) == ("Nim-v0", {"heaps": 4})
engine = ludory.make_engine("Nim-v0", num_games=100, seed=1)
engine.reset()
assert engine.facts.num_actions == 15

env = gymnasium.make("Nim-v0", seats=0, others="nim/perfect")
observation, info = env.reset(seed=1)
ended = False
while not ended:
    observation, reward, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
    ended = terminated or truncated
assert reward in (-1, 1)
assert gymnasium.make_vec("Nim-v0", num_envs=3).reset(seed=1)[0].shape == (3, 15)

table = pettingzoo.make("aec", "ludory/nim-v0")
table.reset(seed=1)
assert len(table.possible_agents) == 2
assert len(pettingzoo.make("parallel", "ludory/nim-v0").reset(seed=1)[0]) == 2
"""
    python(site, "-c", code)


def test_its_agent_wins(site: Path) -> None:
    code = """
import ludory
result = ludory.evaluate(["nim/perfect", "random"], game="Nim-v0", games=500, seed=1)
assert result.mean[0] > 0.9, result.mean
"""
    python(site, "-c", code)


def test_its_analyst_values_the_moves_on_the_command_line(site: Path) -> None:
    analyse = ["-m", "ludory", "analyse", "Nim-v0", "--option", "heaps=2", "--seed", "1", "--json"]
    found = json.loads(python(site, *analyse, "--move", "0"))["values"]
    assert (found["method"], found["exact"], found["unit"]) == ("exclusive-or of the heaps", True, "return")
    assert {move["value"] for move in found["moves"]} == {1.0, -1.0}
    assert "nim/perfect" in found["moves"][0]["agents"]
    blunder = str(found["moves"][-1]["action"])
    (judged,) = json.loads(python(site, *analyse, "--moves", blunder))["decisions"]
    assert (judged["loss"], judged["mistake"]) == (2.0, True)
    said = python(site, "-m", "ludory", "list", "analysts").splitlines()
    assert any(line.split()[:1] == ["Nim-v0"] and line.endswith("ludory-nim") for line in said)


def test_its_algorithm_learns_and_is_loaded_again_by_its_id(site: Path, tmp_path: Path) -> None:
    code = f"""
import ludory
heap = ludory.make_game("Nim-v0", heaps=1, largest=4)
model = ludory.make_algorithm("nim-reinforce", env=heap, num_envs=32, hidden=(32,), seed=1)
untrained = ludory.evaluate([model.as_agent(), "random"], game=heap, games=200, seed=1).mean[0]
model.learn(8_000).save({str(tmp_path / "nim.ludory")!r})
trained = ludory.evaluate([{str(tmp_path / "nim.ludory")!r}, "random"], game=heap, games=200, seed=1).mean[0]
assert type(ludory.load({str(tmp_path / "nim.ludory")!r})).__name__ == "Reinforce"
assert untrained < trained == 1, (untrained, trained)  # one heap is won by taking all of it
"""
    python(site, "-c", code)


def test_its_network_learns_by_name_and_a_file_without_it_says_what_to_install(site: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "heaps.ludory")
    code = f"""
import ludory
model = ludory.make_algorithm("nim-reinforce", env="Nim-v0", policy="nim-heaps(width=8)", num_envs=16, seed=1)
assert type(model.policy).__name__ == "HeapNetwork"
model.learn(1_000).save({file!r})
assert ludory.load({file!r}).policy_spec == ("nim-heaps-v1", {{"heaps": 3, "width": 8}})
assert ludory.evaluate([{file!r}, "random"], game="Nim-v0", games=50, seed=1).returns.shape == (50, 2)
"""
    python(site, "-c", code)
    env = environment(site, LUDORY_PLUGINS="off")
    load = [sys.executable, "-c", f"import ludory; ludory.load({file!r})"]
    said = subprocess.run(load, capture_output=True, text=True, env=env).stderr
    assert 'type: pip install "ludory-nim==0.1.0"' in said


def test_its_game_with_an_engine_of_its_own_keeps_the_contract(site: Path) -> None:
    printed = python(site, "-m", "ludory", "check", "MisereNim-v0", "--games", "8")
    assert "MisereNim-v0 keeps the contract" in printed
    for ability in ("gather", "save and restore"):
        assert f"{ability}: not tested" not in printed


def test_its_network_and_its_algorithm_play_a_league_of_that_game(site: Path, tmp_path: Path) -> None:
    folder = tmp_path / "league.ludory"
    league = [
        "train",
        "league",
        "--env",
        "MisereNim-v0",
        "--learner",
        "nim-reinforce",
        "--policy",
        "nim-heaps(width=16)",
    ]
    small = ["--unit", "1000", "--slice-steps", "500", "--games-per-match", "8", "--evaluation-games", "8"]
    learner = ["--", "--num-envs", "16"]
    run = [*small, "--anchors", "random", "--seed", "1", "--timesteps", "6000", "--out", str(folder), *learner]
    python(site, "-m", "ludory", *league, *run)
    code = f"""
import ludory
model = ludory.load({str(folder)!r})
state = model.opened_league().state
assert model.num_timesteps == state.env_steps >= 6_000
assert {{player.role for player in state.players}} == {{"main", "main_exploiter", "league_exploiter", "anchor"}}
assert state.matrix, "frozen players have met"
agent = model.as_agent()
assert type(agent.policy).__name__ == "HeapNetwork"
assert model.config.learner == "nim-reinforce"
result = ludory.evaluate([agent, "random"], game="MisereNim-v0", games=200, seed=1, rotate=True)
assert result.returns.shape == (200, 2)
"""
    python(site, "-c", code)


def test_without_plugins_it_is_not_there(site: Path) -> None:
    code = "import ludory; ludory.make_game('Nim-v0')"
    env = environment(site, LUDORY_PLUGINS="off")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert "no game has the id 'Nim-v0'" in done.stderr
    assert "LUDORY_PLUGINS=off" in done.stderr
