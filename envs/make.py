"""`make_game` makes a game from its id, `make_engine` a batch of games on a device."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.engine.protocol import Array, Engine
from ludory.errors import OptionError, PluginError
from ludory.plugins import Entry, games
from ludory.plugins.registry import call

from .facts import GameFacts
from .game import Game
from .parts import Analysis, Field, Kernels, Look, Records, Rules

if TYPE_CHECKING:  # these take seconds to import
    from gymnasium import Env
    from gymnasium.vector import VectorEnv
    from pettingzoo import AECEnv, ParallelEnv
    from stable_baselines3.common.vec_env import VecEnv


EnvLike: TypeAlias = (
    "str | Game | Engine | Env[Any, Any] | VectorEnv[Any, Any, Any] | AECEnv[Any, Any, Any] | ParallelEnv[Any, Any, Any] | VecEnv"
    " | Callable[[], object] | Sequence[object]"
)
"""What is learnt: the id of a game, a `Game`, an engine, an environment of Gymnasium, PettingZoo or Stable-Baselines3, a class or function
that makes one, or a list of these."""


def make_game(id: str | Game, **options: Any) -> Game:
    """Make a game from its id and keyword options. A `Game` is returned unchanged, except for options of its engine.

    An id without version (`Hanabi2P`) means the newest version. `Game.id` and `Game.options` are set, so that
    `make_game(game.id, **game.options)` makes the same game again. Options of the engine, such as `workers`, change how the game
    runs, not the game; they are stored in `Rules.engine_options`.

    Raises:
        UnknownIdError: no game has this id; the message suggests the nearest ones.
        OptionError: the id fixes the option, the game has no such option, or its value is not allowed.
        PluginError: the game's package is broken or lacks a dependency.
    """
    if isinstance(id, Game):
        others = [name for name in options if name not in id.rules.engine_options]
        if others:
            raise OptionError(
                f"options {', '.join(others)} came with a made game; give its id instead, make_game(id, ...)"
            )
        return _with_engine_options(id, options) if options else id
    entry = games.get(id)
    _refuse_fixed(entry, options)
    factory = games.load(id)
    held = _not_taken(factory, options)
    game = _called(entry, factory, {name: value for name, value in options.items() if name not in held})
    known = game.rules.engine_options
    unknown = [name for name in held if name not in known]
    if unknown:  # neither the game nor its engine has them: the call raises an error that lists the options
        game = _called(entry, factory, {name: value for name, value in options.items() if name not in known})
    of_engine = {name: value for name, value in options.items() if name in known}
    own = {name: value for name, value in options.items() if name not in of_engine}
    return replace(_with_engine_options(game, of_engine), id=entry.id, options=own)


def _with_engine_options(game: Game, options: Mapping[str, Any]) -> Game:
    return replace(game, rules=replace(game.rules, engine_options={**game.rules.engine_options, **options}))


def _not_taken(factory: Callable[..., object], options: Mapping[str, Any]) -> list[str]:
    """Options that `factory` has no parameter for; the engine may accept them."""
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):  # compiled code without a signature
        return []
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return []
    return [name for name in options if name not in parameters]


def _called(entry: Entry, factory: Callable[..., object], options: Mapping[str, Any]) -> Game:
    game = call(entry.id, factory, **entry.fixed, **options)
    if not isinstance(game, Game):
        raise PluginError(f"game {entry.id!r}: {entry.target} returned a {type(game).__name__}, must return a Game")
    return game


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


@dataclass(frozen=True)
class NamedGame:
    """A game by id and options, as it is named to another process, where `make` makes it."""

    id: str
    options: Mapping[str, Any]

    def __hash__(self) -> int:
        return hash((self.id, repr(sorted(self.options.items()))))

    @classmethod
    def of(cls, game: Game) -> NamedGame:
        """The name of a game.

        Raises:
            OptionError: the game has no id, or one of this process only.
        """
        if not game.id or (game.id in games and not games.installed(game.id)):
            raise OptionError(
                f"{game.name} has no id that other processes know, by which they make a game; register it as `ludory new game` does, or leave "
                "the workers out"
            )
        return cls(game.id, {**game.options, **game.rules.engine_options})

    def make(self) -> Game:
        """Make the game; errors as of `make_game`."""
        return make_game(self.id, **self.options)


def pickled(game: Game) -> tuple[Any, ...]:
    """How `pickle` keeps a game: by id and options if these make the same game, else by its parts, which must then be importable."""
    named = NamedGame(game.id, {**game.options, **game.rules.engine_options})
    if games.installed(game.id) and _definition(game) == _definition(named.make()):
        return named.make, ()
    return Game, tuple(getattr(game, part.name) for part in fields(game))


def _definition(part: Any) -> Any:
    """What is the same in two games if nothing was replaced since a factory made them; of functions and objects their definitions."""
    if isinstance(part, (Game, Rules, Look, Analysis, Records)):
        return [_definition(getattr(part, one.name)) for one in fields(part)]
    if isinstance(part, Kernels):
        return [_definition(kernel) for kernel in part]
    if isinstance(part, Mapping):
        return {name: _definition(value) for name, value in part.items()}
    function = getattr(part, "func", part)  # of a partial
    if callable(function):
        return getattr(function, "__code__", type(function))
    return repr(part) if isinstance(part, (GameFacts, Field, str, int, float, tuple)) else type(part)


def start_games(game: Game, numbers: Array, seed: int, device: str = "cpu") -> Engine:
    """A started batch in which row k plays game number numbers[k] of `seed`. Numbers may repeat, to play one start several times."""
    # rows of a kernel engine are numbered from 0 on: all are started up to the last that is wanted
    if game.rules.kernels is not None:
        source = make_engine(game, int(numbers.max()) + 1, device, seed)
        source.reset()
        return source.gather(numbers)
    engine: Any = make_engine(game, len(numbers), device, seed)
    engine.number_games(numbers)
    engine.reset()
    started: Engine = engine
    return started


def make_engine(
    id: str | Game,
    num_games: int = 1,
    device: str = "cpu",
    seed: int | None = None,
    first_game: int = 0,
    threads: int | None = None,
    compiled: bool | None = None,
    **options: Any,
) -> Engine:
    """Make an engine, a batch of `num_games` games.

    Args:
        id: id of the game, or a `Game`.
        num_games: N.
        device: "cpu", or "cuda" or "cuda:<number>" for one NVIDIA GPU.
        seed: seed of all random draws; None draws one from the operating system.
        first_game: number of the first game in the sequence of games that the seed stands for.
        threads: number of CPU threads; None: `LUDORY_NUM_THREADS`, else the number of cores.
        compiled: False runs the rules as plain Python, to debug them; True compiles them at the first call; see `KernelEngine`.
        options: options of the game, and of its engine if it brings its own.

    Raises:
        OptionError: invalid device, no GPU, or as for `make_game`.
        UnknownIdError, PluginError: as for `make_game`; or the game is known from recordings only.
    """
    game, place = make_game(id, **options), str(device)
    elsewhere = game.rules.engine
    if compiled is False and (elsewhere is not None or place != "cpu"):
        why = f"device {place!r} runs compiled code" if elsewhere is None else f"the rules of {game.name} run elsewhere"
        raise OptionError(f"compiled=False: {why}; leave it out")
    if elsewhere is not None:
        made: Engine = elsewhere(
            game,
            num_games=num_games,
            seed=seed,
            first_game=first_game,
            threads=threads,
            device=place,
            **game.rules.engine_options,
        )
        return made
    if place == "cpu":
        return KernelEngine(game, num_games, seed, first_game, threads, compiled)
    from ludory.envs.engine.cuda_engine import CudaEngine  # imports torch, which the CPU engine does without

    return CudaEngine(game, num_games, seed, first_game, place)
