"""Every registered game keeps the contract, and the checkers of Gymnasium, Stable-Baselines3 and PettingZoo find nothing in its views."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import gymnasium
import pettingzoo
import pytest
from games.own_games import OWN, check_variant, has_the_kernels_of_another
from gymnasium.utils.env_checker import check_env as check_gymnasium
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from stable_baselines3.common.env_checker import check_env as check_sb3

from ludory.envs.make import make_game
from ludory.testing import check_game, plain_rules

ODD = {"players": 3, "colors": 3, "ranks": 4, "hand_size": 3, "max_information_tokens": 5, "max_life_tokens": 2}
SMALLEST = {"colors": 1, "ranks": 1, "hand_size": 1, "max_information_tokens": 0, "max_life_tokens": 1}

GAMES = {
    "Arena2P-v0": 8,
    "Arena4P-v0": 1,
    "Arena8P-v0": 1,
    "Sudoku9-v0": 8,
    "Texas42Match-v0": 8,
    "Go9-v0": 8,
    "Hanabi4P-v0": 8,
    "Hanabi5P-v0": 8,
}
"""How many games of those that take long are checked; of others 24."""
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((id, {}) for id in OWN),
    *(
        ("HanabiTiny2P-v0", {"observation": name})
        for name in ("conventions", "minimal", "seer", "tactical", "v0_belief")
    ),
    ("Hanabi-v0", ODD),
    ("Hanabi-v0", SMALLEST),
    ("Hanabi-v0", ODD | {"players": 5, "hand_size": 2, "observation": "v0_belief"}),
]
"""Every game, and every option that changes a space."""

OF_EACH_KIND = (
    "HanabiTiny2P-v0",
    "FrozenLakeRagen1-v0",
    "TicTacToe-v0",
    "KuhnPoker-v0",
    "Texas42Play-v0",
    "Sokoban-v0",
)
"""Games that the tests that take no time try."""


def slow_but(ids: Iterable[str], all_of_them: Iterable[Any], id_of: Callable[[Any], str] = str) -> list[Any]:
    """Parameters, of which those of other games than `ids` are marked slow."""
    return [pytest.param(one, marks=[] if id_of(one) in ids else pytest.mark.slow) for one in all_of_them]


def words(variant: tuple[str, dict[str, Any]]) -> str:
    id, options = variant
    return "-".join([id, *(f"{name}={value}" for name, value in options.items())])


@pytest.mark.parametrize("variant", slow_but(OF_EACH_KIND, VARIANTS, words), ids=words)
def test_every_checker_passes(variant: tuple[str, dict[str, Any]]) -> None:
    id, options = variant
    with plain_rules(), warnings.catch_warnings():
        warnings.simplefilter("error")  # these checkers only warn of many faults
        warnings.filterwarnings("ignore", message=".*is not legal; legal: ")  # they try illegal moves, too
        # SB3 takes planes of a board for a small picture
        warnings.filterwarnings(
            "ignore", "It seems that your observation space .* is an image|The minimal resolution|Treating image"
        )
        check_gymnasium(gymnasium.make(id, **options))
        check_sb3(gymnasium.make(id, **options))
        check_vector(id, options)
    with plain_rules(), warnings.catch_warnings():
        warnings.simplefilter("error")
        # PettingZoo warns of the dict observations that it asks for itself where actions are masked, of actions of several heads,
        # and of the observation of a seat that is out, which is all zero
        expected = (
            "Observation space for each agent probably should be",
            "Observation is not a NumPy array",
            "Action space for each agent probably should be",
            "Observation numpy array is all zeros",
        )
        warnings.filterwarnings("ignore", "|".join(expected))
        check_pettingzoo(f"ludory/{id.lower()}", options)


def check_vector(id: str, options: dict[str, Any]) -> None:
    env = gymnasium.make_vec(id, num_envs=3, **options)
    observations, _ = env.reset(seed=1)
    assert env.observation_space.contains(observations)
    for _ in range(5):
        observations, *_ = env.step(env.action_space.sample())
        assert env.observation_space.contains(observations)


def check_pettingzoo(id: str, options: dict[str, Any]) -> None:
    api_test(pettingzoo.make("aec", id, **options), num_cycles=20)
    seed_test(lambda: pettingzoo.make("aec", id, **options), num_cycles=20)
    parallel_api_test(pettingzoo.make("parallel", id, **options), num_cycles=20)
    parallel_seed_test(lambda: pettingzoo.make("parallel", id, **options), num_cycles=20)


@pytest.mark.parametrize("id", slow_but(("KuhnPoker-v0",), OWN))
def test_the_game_keeps_the_contract(id):
    game, games = make_game(id), GAMES.get(id, 24)
    if has_the_kernels_of_another(id):
        check_variant(game, games)
    else:
        check_game(game, games=games, cuda="skip")


def test_the_checker_asks_the_cuda_simulator_too():
    remarks = {}
    check_game(
        make_game("KuhnPoker-v0"), games=4, report=lambda name, ok, message: remarks.update({name: (ok, message)})
    )
    assert remarks["CUDA simulator"] == (True, "")
