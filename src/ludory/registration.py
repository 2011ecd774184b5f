"""Registers games: those of this process, and every game with Gymnasium and PettingZoo when they are imported, and not before.

Neither of them reads entry points. So `import ludory` adds a finder to `sys.meta_path` that lets them be imported as usual and then
registers the ids of all games. Only names are registered; a game is imported when it is made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:  # at run time, importing `importlib.abc` would take longer than all the rest of `import ludory`
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec

    from .envs.game import Game


def register(id: str, game: Game | Callable[..., Game], summary: str = "") -> None:
    """Give a game an id in this process, as a package gives it one for all: `make_game(id)`, `gymnasium.make(id)`, `make_algorithm(env=id)`.

    Registering the id again replaces the game. Agents, networks and algorithms are registered by `ludory.plugins.agents.add` and so on.

    Args:
        id: a name with a version, such as "Mine-v0".
        game: the game, or a function `make(**options)` that returns it.
        summary: one line for `ludory list games`.

    Raises:
        PluginError: the id is not a name or a package has it, or `game` is neither a game nor a function.
    """
    from .envs.game import Game
    from .plugins import games

    games.add(id, (lambda: game) if isinstance(game, Game) else game, summary)
    for name, tell in (("gymnasium", register_with_gymnasium), ("pettingzoo", register_with_pettingzoo)):
        if name in sys.modules:
            tell()


def register_on_import() -> None:
    """Register all games with Gymnasium and PettingZoo, now if they are imported already, else on import."""
    waiting = {}
    for name, register in (("gymnasium", register_with_gymnasium), ("pettingzoo", register_with_pettingzoo)):
        if sys.modules.get(name):
            register()
        else:
            waiting[name] = register
    if waiting:
        sys.meta_path.insert(0, _AfterImport(waiting))


def register_with_gymnasium() -> None:
    """Register every game for `gymnasium.make(id)` and `gymnasium.make_vec(id)`, except ids that are taken."""
    from gymnasium.envs.registration import register, registry
    from gymnasium.error import Error

    from .plugins import games

    for id in [*games.ids(), *games.missing]:  # making a game of a system that is not installed says what to type
        if id in registry:
            continue
        try:
            register(
                id=id,
                entry_point="ludory.envs.views.gymnasium_env:make_env",
                vector_entry_point="ludory.envs.views.gymnasium_vector:make_vector_env",
                kwargs={"game": id},
                order_enforce=False,  # the view checks this itself, and unwrapped it offers env.action_masks()
                disable_env_checker=True,
            )
        except Error:  # Gymnasium refuses the id of a plugin, for example one without version beside one with
            continue


def register_with_pettingzoo() -> None:
    """Register every game for `pettingzoo.make("aec" or "parallel", "ludory/hanabi-v0")`, with its id in lower case."""
    import pettingzoo

    from .plugins import games

    if not hasattr(pettingzoo, "register"):  # older versions have no registry
        return
    makers = {
        "aec": (pettingzoo.aec_registry, "ludory.envs.views.pettingzoo_aec:make_aec"),
        "parallel": (pettingzoo.parallel_registry, "ludory.envs.views.pettingzoo_parallel:make_parallel"),
    }
    for id in [*games.ids(), *games.missing]:
        for kind, (registry, entry_point) in makers.items():
            name = f"ludory/{id.lower()}"
            if name not in registry:
                pettingzoo.register(kind, name, entry_point, kwargs={"game": id})


class _AfterImport:
    """Finds the waiting modules by the other finders, and calls a function after each has been executed."""

    def __init__(self, waiting: dict[str, Callable[[], None]]) -> None:
        self._waiting = waiting

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Spec of a waiting module with the call added; None for all others."""
        register = self._waiting.get(fullname)
        if register is None:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        spec = next((found for finder in others if (found := finder.find_spec(fullname, path, target))), None)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _LoadThen(spec.loader, register))
        return spec


class _LoadThen:
    """Another loader, followed by a call."""

    def __init__(self, loader: Loader, then: Callable[[], None]) -> None:
        self._loader, self._then = loader, then

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Same as the other loader."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Restore the other loader, execute the module with it, then call the function."""
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then()
