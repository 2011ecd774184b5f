"""`make_game` and `make_engine`: a game by its id, and a batch of it on a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ludory.errors import OptionError, PluginError
from ludory.plugins import Entry, games
from ludory.plugins.call import call

from .engine import Engine
from .game import Game
from .kernel_engine import KernelEngine
from .recorded_game import check_playable


def make_game(id: str | Game, **options: Any) -> Game:
    """The game of an id, with keyword options; a `Game` is given back as it is.

    A name without version (`Hanabi2P`) means its newest one. `Game.id` and `Game.options` are set, so that
    `make_game(game.id, **game.options)` makes the same game again.

    Raises:
        UnknownIdError: naming the nearest ids.
        OptionError: the id fixes the option, the game has no such option, or its value is not allowed.
        PluginError: the game's package is broken or lacks a dependency.
    """
    if isinstance(id, Game):
        if options:
            raise OptionError(
                f"options {', '.join(options)} came with a made game; give its id instead, make_game(id, ...)"
            )
        return id
    entry = games.get(id)
    _refuse_fixed(entry, options)
    game = call(entry.id, games.load(id), **entry.fixed, **options)
    if not isinstance(game, Game):
        raise PluginError(f"game {entry.id!r}: {entry.target} gave a {type(game).__name__}, must give a Game")
    return replace(game, id=entry.id, options=options)


def _refuse_fixed(entry: Entry, options: Mapping[str, Any]) -> None:
    fixed = [name for name in options if name in entry.fixed]
    if fixed:
        numbers = ", ".join(f"{name}={value!r}" for name, value in entry.fixed.items())
        free = next((id for id in games.ids() if _is_free_variant(id, entry.target)), None)
        given = ", ".join(f"{name}={options[name]!r}" for name in fixed)
        cure = f"type make_game({free!r}, {given}, ...)" if free else "leave it out"
        raise OptionError(f"{entry.id} fixes {numbers}; got {given}: {cure}")


def _is_free_variant(id: str, target: str) -> bool:
    description = games.describe(id)
    return description.target == target and not description.fixed


def make_engine(
    id: str | Game,
    num_games: int = 1,
    device: str = "cpu",
    seed: int | None = None,
    first_game: int = 0,
    threads: int | None = None,
    **options: Any,
) -> Engine:
    """A batch of `num_games` games.

    Args:
        id: of the game, or a `Game`.
        num_games: N.
        device: "cpu", or "cuda" (also "cuda:1") for one NVIDIA GPU.
        seed: of all random draws; None takes a fresh one from the operating system.
        first_game: index of the first game in the sequence of games that the seed stands for.
        threads: of the CPU; None: `LUDORY_NUM_THREADS`, else the number of cores.
        options: of the game.

    Raises:
        OptionError: unknown device, no GPU, or as `make_game`.
        UnknownIdError, PluginError: as `make_game`; or the game is known from recordings only.
    """
    game, place = make_game(id, **options), str(device)
    check_playable(game)
    if place == "cpu":
        return KernelEngine(game, num_games, seed, first_game, threads)
    from .cuda_engine import CudaEngine  # imports torch, which the CPU engine does without

    return CudaEngine(game, num_games, seed, first_game, place)
