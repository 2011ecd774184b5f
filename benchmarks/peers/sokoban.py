"""Sokoban of other packages, with random actions drawn beforehand: gym-sokoban, envpool and Jumanji, each 10x10 with four boxes.

Making rooms is not measured: gym-sokoban starts the rooms of a few seeds again and again, and Jumanji's levels are its own small set.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

STEPS = 256
"""Steps of a burst, in each game."""
Play = Callable[[bool], int]


def start(package: str, *arguments: str) -> tuple[dict[str, str], Play]:
    """A contestant: `gym` with a picture (rgb_array, tiny_rgb_array or none), `envpool` or `jumanji` with a number of games."""
    packages = {"gym": "gym-sokoban", "envpool": "envpool", "jumanji": "jumanji"}
    play: Play = {"gym": _gym, "envpool": _envpool, "jumanji": _jumanji}[package](*arguments)
    play(True)
    return {packages[package]: version(packages[package])}, play


def _gym(picture: str) -> Play:
    from gym_sokoban.envs.sokoban_env import SokobanEnv

    np.random.seed(1)
    env: Any = SokobanEnv(dim_room=(10, 10), max_steps=120, num_boxes=4, reset=False)
    if picture == "none":
        env.render = lambda mode="", **_: None
    env.reset()
    begin = {name: copy.deepcopy(vars(env)[name]) for name in ("room_fixed", "room_state", "player_position")}
    mode = "rgb_array" if picture == "none" else picture
    actions = np.random.default_rng(1).integers(1, 5, STEPS).tolist()

    def play(observe: bool) -> int:
        for action in actions:
            _, _, done, _ = env.step(action, observation_mode=mode)
            if done:
                vars(env).update({name: value.copy() for name, value in begin.items()})
                env.num_env_steps, env.reward_last, env.boxes_on_target = 0, 0, 0
        return STEPS

    return play


def _envpool(games: str) -> Play:
    import envpool

    count = int(games)
    envs = envpool.make("Sokoban-v0", env_type="gymnasium", num_envs=count, num_threads=1)
    envs.reset()
    actions = np.random.default_rng(1).integers(1, 5, (STEPS, count)).astype(np.int32)

    def play(observe: bool) -> int:
        for chosen in actions:
            envs.step(chosen)  # starts finished games again by itself
        return STEPS * count

    return play


def _jumanji(games: str) -> Play:
    import jax
    from jumanji.environments.routing.sokoban import Sokoban
    from jumanji.environments.routing.sokoban.generator import ToyGenerator
    from jumanji.wrappers import AutoResetWrapper

    count = int(games)
    env = AutoResetWrapper(Sokoban(generator=ToyGenerator()))
    actions = jax.random.randint(jax.random.PRNGKey(1), (STEPS, count), 0, 4)
    state, _ = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.PRNGKey(0), count))

    def step(state: Any, chosen: Any) -> tuple[Any, Any]:
        state, timestep = jax.vmap(env.step)(state, chosen)
        return state, timestep.reward.sum()

    run = jax.jit(lambda state: jax.lax.scan(step, state, actions))

    def play(observe: bool) -> int:
        nonlocal state
        state, rewards = run(state)
        rewards.block_until_ready()
        return STEPS * count

    return play
