"""`make_game`, `make_engine` and `make_agent`: names become things, and wrong ones are answered with what to type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ludory
from ludory.agents.random import RandomAgent
from ludory.envs.engine.cuda_device import find_device
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.hanabi import HanabiOptions
from ludory.errors import CheckpointError, OptionError, PluginError, UnknownIdError
from ludory.plugins import Entry, builtin, games

NUMBERS = ("players", "colors", "ranks", "hand_size", "max_information_tokens", "max_life_tokens")
# Hanabi's table of ids: players, colours, ranks, hand size, information tokens, lives.
TABLE = {
    **{f"Hanabi{p}P-v0": (p, 5, 5, 5 if p < 4 else 4, 8, 3) for p in (2, 3, 4, 5)},
    **{f"HanabiSmall{p}P-v0": (p, 2, 5, 2, 3, 1) for p in (2, 3, 4, 5)},
    **{f"HanabiVerySmall{p}P-v0": (p, 1, 5, 2, 3, 1) for p in (2, 3, 4, 5)},
    "HanabiTiny2P-v0": (2, 2, 2, 2, 8, 3),
}


def test_the_ids_are_those_of_the_table_and_the_free_one() -> None:
    ids = {entry.id for entry in builtin.GAMES if entry.id.startswith("Hanabi")}
    assert ids == {*TABLE, "Hanabi-v0"}


@pytest.mark.parametrize("id", TABLE)
def test_an_id_fixes_its_numbers(id: str) -> None:
    assert games.get(id).fixed == dict(zip(NUMBERS, TABLE[id], strict=True))
    game = ludory.make_game(id)
    options = HanabiOptions(**games.get(id).fixed)
    assert (game.id, game.options) == (id, {})
    assert (game.facts.players, game.facts.num_actions) == (options.players, options.num_actions)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_fixed_number_can_not_be_overridden_but_on_the_free_id(name: str) -> None:
    with pytest.raises(OptionError, match=rf"Hanabi2P-v0 fixes .*got {name}=3: type make_game\('Hanabi-v0', {name}=3"):
        ludory.make_game("Hanabi2P-v0", **{name: 3})
    assert ludory.make_game("Hanabi-v0", **{name: 3}).options == {name: 3}


def test_other_options_are_free_on_every_id() -> None:
    options = {"observation": "minimal", "bomb": "keep", "terminal_deal": False, "random_start_player": True}
    game = ludory.make_game("HanabiSmall3P-v0", **options)
    assert game.options == options
    assert game.facts.observation.name == "minimal"
    assert ludory.make_game(game.id, **game.options).facts == game.facts


def test_a_bare_name_is_the_newest_version() -> None:
    assert ludory.make_game("Hanabi2P").id == "Hanabi2P-v0"


def test_a_game_passes_through() -> None:
    game = ludory.make_game("HanabiTiny2P")
    assert ludory.make_game(game) is game
    with pytest.raises(OptionError, match="give its id instead"):
        ludory.make_game(game, bomb="keep")


@pytest.mark.parametrize(
    ("id", "options", "error", "said"),
    [
        ("Hanabbi2P-v0", {}, UnknownIdError, "'Hanabi2P-v0'"),
        ("Hanabi2P-v7", {}, UnknownIdError, "'Hanabi2P-v0'"),
        ("Hanabi-v0", {"player": 3}, OptionError, "no option 'player'; it has players"),
        ("Hanabi-v0", {"players": 6}, OptionError, "players=6: must be an integer from 2 to 5"),
        ("FrozenLake6-v0", {"symbols": 3}, OptionError, r"symbols=3 must be of type Mapping\[str, str\] \| None"),
        ("FrozenLake6-v0", {"action_order": 3}, OptionError, r"action_order=3 must be of type Sequence\[str\] \| None"),
    ],
)
def test_what_can_not_be_made_says_why(id: str, options: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        ludory.make_game(id, **options)


def test_an_engine_is_made_of_an_id_or_a_game() -> None:
    game = ludory.make_game("HanabiTiny2P-v0")
    for made in (ludory.make_engine("HanabiTiny2P-v0", 4, seed=3), ludory.make_engine(game, num_games=4, seed=3)):
        assert isinstance(made, KernelEngine)
        assert (made.num_games, made.seed, made.game.id) == (4, 3, "HanabiTiny2P-v0")


@pytest.mark.parametrize("device", ["tpu", "cpu:1", "cuda:first", "", None])
def test_an_unknown_device_is_refused(device: Any) -> None:
    with pytest.raises(OptionError, match="must be 'cpu', 'cuda' or"):
        ludory.make_engine("HanabiTiny2P-v0", device=device)


def test_cuda_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ludory.envs.engine.cuda_device.find_spec", lambda name: None)
    find_device.cache_clear()
    with pytest.raises(PluginError, match=r'device=\'cuda\' needs .*pip install "ludory\[cuda\]"'):
        ludory.make_engine("HanabiTiny2P-v0", device="cuda")


def test_a_plugin_s_function_is_called_with_what_it_takes_and_must_give_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(games._offers, "Odd-v0", [Entry("Odd-v0", "ludory.envs.facts:Head")])
    with pytest.raises(OptionError, match=r"Odd-v0: .*; it takes \(name, size\)"):
        ludory.make_game("Odd-v0", players=2)
    with pytest.raises(PluginError, match="returned a Head, must return a Game"):
        ludory.make_game("Odd-v0", name="x", size=3)


def test_an_agent_is_made_of_a_spec_or_passes_through() -> None:
    agent = ludory.make_agent("random(seed=3)", game="HanabiTiny2P-v0")
    assert isinstance(agent, RandomAgent)
    assert ludory.make_agent(agent, game="HanabiTiny2P-v0") is agent


@pytest.mark.parametrize(
    ("spec", "error", "said"),
    [
        ("rendom", UnknownIdError, "'random'"),
        ("random(sed=3)", OptionError, r"random: .*'sed' \(did you mean seed\?\); it takes \(seed=None\)"),
        ("random(", OptionError, "is not a name"),
        ("mcts(exploration=x)", OptionError, "mcts: exploration='x' must be of type float"),
        ("nowhere/model.ludory", CheckpointError, "no such file"),
    ],
)
def test_an_agent_that_can_not_be_made_says_why(spec: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        ludory.make_agent(spec, game="HanabiTiny2P-v0")


def test_a_checkpoint_of_another_game_is_refused_and_of_the_same_one_plays(tmp_path: Path) -> None:
    file = str(tmp_path / "model.ludory")
    ludory.make_algorithm("ppo", env="HanabiTiny2P-v0", num_envs=1, hidden=(4,)).save(file)
    with pytest.raises(CheckpointError, match=r"trained on HanabiTiny2P-v0 .* cannot play HanabiSmall2P-v0"):
        ludory.make_agent(file, game="HanabiSmall2P-v0")
    assert ludory.evaluate([file, f"{file}(deterministic=False)"], game="HanabiTiny2P-v0", games=2).returns.shape == (
        2,
        2,
    )
    assert type(ludory.load(file)).__name__ == "PPO"


def test_a_checkpoint_of_an_algorithm_that_is_not_installed_says_so(tmp_path: Path) -> None:
    from ludory.checkpoints.checkpoint import write_checkpoint

    write_checkpoint(tmp_path / "foreign.ludory", {"algorithm": "alphazero-v3"}, {})
    with pytest.raises(CheckpointError, match="written by the algorithm 'alphazero-v3', which is not installed"):
        ludory.load(tmp_path / "foreign.ludory")


def test_what_an_agents_entry_fixes_can_not_be_changed() -> None:
    with pytest.raises(OptionError, match=r"arena/rusher fixes style=.rusher.; leave it out"):
        ludory.make_agent("arena/rusher(style='sniper')", "Arena2P-v0")
