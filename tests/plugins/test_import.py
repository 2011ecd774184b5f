"""`import ludory` is light, and still every game is known to Gymnasium and PettingZoo."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from python_process import python

REPOSITORY = Path(__file__).parents[2]


def test_import_reads_few_modules_and_no_library() -> None:
    code = """
import sys
before = set(sys.modules)
import ludory
heavy = {"torch", "numba", "numpy", "gymnasium", "pettingzoo", "rich"} & set(sys.modules)
print(len(set(sys.modules) - before), *heavy)
"""
    modules, *heavy = python(code).split()
    assert not heavy
    assert int(modules) < 120


@pytest.mark.slow
def test_a_learner_imports_no_library_that_it_does_not_use() -> None:
    code = """
import sys, ludory
ludory.make_algorithm("ppo", env="TicTacToe-v0", num_envs=2)
print(*{"stable_baselines3", "sb3_contrib", "pettingzoo", "lightning", "tensorboard", "pyarrow", "rich", "torch._dynamo"} & set(sys.modules))
"""
    assert python(code) == ""


@pytest.mark.slow
def test_rooms_and_names_are_reachable_after_a_bare_import() -> None:
    code = """
import ludory
for name in ludory.__all__ + ["agents", "algorithms", "envs", "errors", "plugins", "testing"]:
    getattr(ludory, name)
    assert name in dir(ludory), name
ludory.envs.hanabi_v0.env
print(ludory.__version__)
"""
    from importlib.metadata import version

    assert python(code) == version("ludory")


def test_views_are_reachable_after_a_bare_import() -> None:
    assert python("import ludory; print(ludory.envs.views.__all__, 'views' in dir(ludory.envs))").endswith("True")


@pytest.mark.slow
def test_a_view_whose_library_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from ludory.envs import views
    from ludory.errors import PluginError

    monkeypatch.delitem(sys.modules, "ludory.envs.views.torchrl", raising=False)
    monkeypatch.setitem(sys.modules, "tensordict", None)
    with pytest.raises(PluginError, match=r'make_torchrl needs .* type: pip install "ludory\[torchrl\]"'):
        views.make_torchrl  # noqa: B018


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    import ludory

    with pytest.raises(AttributeError, match="module 'ludory' has no attribute 'make_gam'"):
        ludory.make_gam  # noqa: B018


@pytest.mark.parametrize(
    "code",
    [
        "import gymnasium, ludory; from gymnasium.envs.registration import registry",
        "import ludory, gymnasium; from gymnasium.envs.registration import registry",
        "import ludory; from gymnasium.envs.registration import registry",
        "import gymnasium; gymnasium.make('ludory:HanabiTiny2P-v0'); from gymnasium.envs.registration import registry",
    ],
)
def test_gymnasium_knows_every_game_whatever_is_imported_first(code: str) -> None:
    check = "from ludory.plugins import games; assert set(games.ids()) <= set(registry); print(registry['Hanabi2P-v0'].kwargs)"
    assert python(f"{code}; {check}") == "{'game': 'Hanabi2P-v0'}"


@pytest.mark.parametrize("modules", ["pettingzoo, ludory", "ludory, pettingzoo"])
def test_pettingzoo_knows_every_game_whatever_is_imported_first(modules: str) -> None:
    check = """
for kind, registry in (("aec", pettingzoo.aec_registry), ("parallel", pettingzoo.parallel_registry)):
    assert {f"ludory/{id.lower()}" for id in ludory.plugins.games.ids()} <= set(registry), kind
"""
    python(f"import {modules}{check}")


@pytest.mark.slow
def test_hanabi_is_made_in_pettingzoo_s_ways() -> None:
    code = """
import ludory, pettingzoo
tiny = dict(players=2, colors=2, ranks=2, hand_size=2)
made = [getattr(ludory.envs.hanabi_v0, name)(**tiny) for name in ("env", "raw_env", "parallel_env")]
made += [pettingzoo.make(kind, "ludory/hanabi-v0", **tiny) for kind in ("aec", "parallel")]
for env in made:
    env.reset(seed=1)
    assert len(env.agents) == 2
print(*[isinstance(env, pettingzoo.AECEnv) for env in made])
"""
    assert python(code) == "True True False True False"


def test_registering_twice_says_nothing_and_changes_nothing() -> None:
    code = """
import warnings
warnings.simplefilter("error")
import gymnasium, pettingzoo, ludory
before = dict(gymnasium.registry)
from ludory.registration import register_with_gymnasium, register_with_pettingzoo
register_with_gymnasium(); register_with_pettingzoo()
assert gymnasium.registry == before
"""
    python(code)


def test_a_registered_game_is_imported_only_when_it_is_made() -> None:
    code = "import sys, ludory, gymnasium; gymnasium.spec('Hanabi2P-v0'); print('ludory.envs.hanabi' in sys.modules, 'numba' in sys.modules)"
    assert python(code) == "False False"


def test_the_import_hook_leaves_modules_as_they_are() -> None:
    code = """
import ludory, importlib.util
spec = importlib.util.find_spec("gymnasium")
import gymnasium
loader = gymnasium.__spec__.loader
print(spec.origin == gymnasium.__file__, type(loader).__name__, loader is gymnasium.__loader__)
"""
    assert python(code) == "True SourceFileLoader True"


@pytest.mark.parametrize("room", ["agents", "algorithms", "benchmarks", "envs", "plugins"])
def test_a_room_refuses_its_bare_name(room: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"import {room}"], capture_output=True, text=True, cwd=REPOSITORY)
    assert done.returncode == 1
    assert f"this is ludory's {room} room; type `import ludory.{room}`" in done.stderr


@pytest.mark.slow
def test_the_author_of_a_game_needs_one_import() -> None:
    code = """
import ludory.envs
for name in ludory.envs.__all__:
    assert hasattr(ludory.envs, name), name
from ludory.envs import kernel
@kernel
def double(x):
    return 2 * x
assert double(3) == 6
"""
    python(code)


def test_pettingzoo_s_modules_are_imported_in_every_way() -> None:
    code = """
import importlib, sys
import ludory.envs.arena_v0
from ludory.envs import hanabi_v0, texas42_match_v0
assert "pettingzoo" not in sys.modules
assert importlib.import_module("ludory.envs.texas42_v0") is ludory.envs.texas42_v0
assert texas42_match_v0.env is not None and hanabi_v0.raw_env is not None and ludory.envs.arena_v0.parallel_env is not None
assert not hasattr(hanabi_v0, "environment")
import ludory.envs.texas42_play_v0 as play
print(play.env().possible_agents[-1])
"""
    assert python(code) == "player_3"
