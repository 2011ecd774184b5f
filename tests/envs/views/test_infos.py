"""What `info` shows is the same from reset to the end: keys, shapes and dtypes, in every view, as recorders and TorchRL need it."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from enum import IntEnum
from typing import Any

import numpy as np
import pytest
from pettingzoo.utils.wrappers import BaseParallelWrapper, BaseWrapper

from ludory.envs.adapters.objects import game_of_object
from ludory.envs.engine.kernel_engine import few_steps
from ludory.envs.make import make_engine, make_game
from ludory.envs.parts import FactNames
from ludory.envs.seats.table import first_legal
from ludory.envs.views.common import PublicFacts
from ludory.envs.views.gymnasium_env import make_env
from ludory.envs.views.gymnasium_vector import GameVectorEnv
from ludory.envs.views.pettingzoo_aec import make_aec
from ludory.envs.views.pettingzoo_parallel import make_parallel
from ludory.errors import PluginError
from ludory.testing.properties.gymnasium_views import form_of

pytestmark = pytest.mark.plain
GAMES = [
    "TicTacToe-v0",
    "LeducPoker-v0",
    "HanabiTiny2P-v0",
    "FrozenLakeFirm-v0",
    pytest.param("Texas42Match-v0", marks=pytest.mark.slow),
    pytest.param("Go9-v0", marks=pytest.mark.slow),
    pytest.param("Arena2P-v0", marks=pytest.mark.slow),
]


def of_env(id: str) -> list[dict[str, Any]]:
    env = make_env(id)
    _, info = env.reset(seed=1)
    infos, over = [info], False
    while not over:
        *_, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
        infos.append(info)
        over = terminated or truncated
    return infos


def of_agents_in_turn(id: str) -> list[dict[str, Any]]:
    env = make_aec(id)
    env.reset(seed=1)
    infos = []
    for agent in env.agent_iter():
        infos += [env.infos[agent] for agent in env.agents]
        seen, _, terminated, truncated, _ = env.last()
        over = terminated or truncated
        env.step(None if over else env.action_space(agent).sample(seen["action_mask"]))
    return infos


def of_agents_at_once(id: str) -> list[dict[str, Any]]:
    env = make_parallel(id)
    seen, told = env.reset(seed=1)
    infos = list(told.values())
    while env.agents:
        actions = {agent: env.action_space(agent).sample(seen[agent]["action_mask"]) for agent in env.agents}
        seen, *_, told = env.step(actions)
        infos += told.values()
    return infos


@pytest.mark.parametrize("id", GAMES)
@pytest.mark.parametrize("view", [of_env, of_agents_in_turn, of_agents_at_once])
def test_keys_shapes_and_dtypes_of_info_stay_from_reset_to_the_end(id: str, view: Any) -> None:
    with few_steps():
        infos = view(id)
    first = form_of(infos[0])
    assert first["illegal_action"] == "bool"
    assert first["returns"].startswith("float32")
    assert all(form_of(info) == first for info in infos)
    assert all(isinstance(value, bool | int | float | np.ndarray) for value in infos[0].values())
    assert not infos[0]["returns"].any()
    assert infos[-1]["player"] == -1


class SeenInTurn(BaseWrapper[str, Any, Any]):
    """What SuperSuit's wrappers of arrays need: the observation alone."""

    def observation_space(self, agent: str) -> Any:
        return self.env.observation_space(agent)["observation"]

    def observe(self, agent: str) -> Any:
        return self.env.observe(agent)["observation"]


class SeenAtOnce(BaseParallelWrapper[str, Any, Any]):
    """The same of a parallel environment."""

    def observation_space(self, agent: str) -> Any:
        return self.env.observation_space(agent)["observation"]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        seen, infos = self.env.reset(seed, options)
        return {agent: value["observation"] for agent, value in seen.items()}, infos

    def step(self, actions: dict[str, Any]) -> Any:
        seen, *others = self.env.step(actions)
        return {agent: value["observation"] for agent, value in seen.items()}, *others


@pytest.mark.parametrize(("make", "alone"), [(make_aec, SeenInTurn), (make_parallel, SeenAtOnce)])
def test_agents_keep_their_masks_where_a_wrapper_takes_the_observation_alone(make: Any, alone: Any) -> None:
    with few_steps():
        whole, stripped = (
            make_engine(game_of_object(view), seed=1)
            for view in (lambda: make("TicTacToe-v0"), lambda: alone(make("TicTacToe-v0")))
        )
        for engine in (whole, stripped):
            engine.reset()
        for _ in range(4):
            legal = whole.legal()
            assert (stripped.legal() == legal).all()
            chosen = first_legal(legal, whole.game.facts)
            for engine in (whole, stripped):
                engine.step(chosen if make is make_parallel else chosen[:, 0])
        assert not whole.legal().all()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda info: pickle.loads(pickle.dumps(info))])
def test_no_key_of_an_agents_info_is_one_of_its_observation_but_the_mask_is_found(copied: Any) -> None:
    """TorchRL's `PettingZooWrapper` takes keys of info that the observation has, too, for entries of its specification, and has none."""
    seen, infos = make_parallel("ConnectFour-v0").reset(seed=1)
    for agent in seen:
        info, mask = copied(infos[agent]), seen[agent]["action_mask"]
        assert not set(info) & set(seen[agent])
        assert "action_mask" in info
        assert (info["action_mask"] == mask).all()
        assert (info.get("action_mask") == mask).all()
        assert info.get("nothing", 5) == 5


def test_batches_tell_returns_and_illegal_actions_in_every_step() -> None:
    with few_steps():
        env = GameVectorEnv(make_game("HanabiTiny2P-v0"), 3)
        _, info = env.reset(seed=1)
        first, ended = form_of(info), 0
        for _ in range(30):
            *_, info = env.step(env.action_space.sample(info["action_mask"]))
            final = info.pop("final_info", None)
            told = {key: value for key, value in info.items() if not key.removeprefix("_").startswith("final_")}
            assert form_of(told) == first
            ended += final is not None
            assert final is None or form_of(final) == first
        assert ended


@pytest.mark.slow
def test_words_of_texas_42_are_numbers_in_info() -> None:
    env = make_env("Texas42Play-v0")
    _, info = env.reset(seed=3)
    tiles, lain = env.game.look.fact_names["trick"].names, set()
    while info["player"] >= 0:
        words = env.game.look.info(env.engine.state, 0)
        assert [tiles[tile] for tile in info["trick"] if tile >= 0] == words["trick"]
        assert env.game.look.fact_names["phase"].names[info["phase"]] == words["phase"] == "play"
        lain.add(len(words["trick"]))
        *_, info = env.step(int(info["action_mask"].argmax()))
    assert lain == {0, 1, 2, 3}


def test_fact_names_number_words_and_refuses_others() -> None:
    assert FactNames(("red", "blue")).numbers("blue") == 1
    assert FactNames(("red", "blue")).numbers(None) == -1
    assert np.array_equal(FactNames(("red", "blue"), 3).numbers(["blue", None]), [1, -1, -1])
    with pytest.raises(PluginError, match="is 'green'; must be one of 'red', 'blue'"):
        FactNames(("red", "blue")).numbers("green")


class Level(IntEnum):
    HIGH = 2


def test_facts_are_numbers_of_any_kind_and_no_words():
    told = {
        "words": ["north"],
        "word": "north",
        "none": None,
        "level": Level.HIGH,
        "real": np.float32(0.5),
        "list": [1, 2],
    }
    plain = make_game("TicTacToe-v0")
    game = replace(plain, look=replace(plain.look, info=lambda state, row: told))
    read = PublicFacts(game)
    found = read(make_engine(plain).state, 0)
    assert list(found) == ["level", "real", "list"]
    assert found["list"].tolist() == [1, 2]
    assert told["list"] == [1, 2], "what a game keeps is not changed"
    told["list"], told["word"], told["result"] = [3, 4], "south", "won"
    again = read(make_engine(plain).state, 0)
    assert list(again) == ["level", "real", "list"]
    assert again["list"].tolist() == [3, 4]
