"""Tells Gymnasium and PettingZoo of every game, as soon as they are imported and not before.

Neither of them reads entry points. So `import ludory` leaves a finder on `sys.meta_path` that lets them be imported as always and then registers
the ids of all games. Only names are given to them; a game is imported when it is made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:  # at run time `importlib.abc` would cost more than all the rest of `import ludory`
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec


def register_on_import() -> None:
    """Register all games with Gymnasium and PettingZoo: now if they are imported already, else when they are."""
    waiting = {}
    for name, register in (("gymnasium", register_with_gymnasium), ("pettingzoo", register_with_pettingzoo)):
        if name in sys.modules:
            register()
        else:
            waiting[name] = register
    if waiting:
        sys.meta_path.insert(0, _AfterImport(waiting))


def register_with_gymnasium() -> None:
    """`gymnasium.make(id)` and `gymnasium.make_vec(id)` for every game; ids that are taken stay as they are."""
    from gymnasium.envs.registration import register, registry
    from gymnasium.error import Error

    from .plugins import games

    for id in games.ids():
        if id in registry:
            continue
        try:
            register(
                id=id,
                entry_point="ludory.envs.views.gymnasium_env:make_env",
                vector_entry_point="ludory.envs.views.gymnasium_vector:make_vector_env",
                kwargs={"game": id},
                order_enforce=False,  # the view checks its use itself; unwrapped, env.action_masks() is at hand
                disable_env_checker=True,
            )
        except Error:  # a plugin's id that Gymnasium refuses, for instance one without version beside one with
            continue


def register_with_pettingzoo() -> None:
    """`pettingzoo.make("aec" or "parallel", "ludory/hanabi-v0")` for every game, its id in lower case."""
    import pettingzoo

    from .plugins import games

    if not hasattr(pettingzoo, "register"):  # older versions have no registry
        return
    makers = {
        "aec": (pettingzoo.aec_registry, "ludory.envs.views.pettingzoo_aec:make_aec"),
        "parallel": (pettingzoo.parallel_registry, "ludory.envs.views.pettingzoo_parallel:make_parallel"),
    }
    for id in games.ids():
        for kind, (registry, entry_point) in makers.items():
            name = f"ludory/{id.lower()}"
            if name not in registry:
                pettingzoo.register(kind, name, entry_point, kwargs={"game": id})


class _AfterImport:
    """Finds the waiting modules as the other finders do, and has a function called after each was executed."""

    def __init__(self, waiting: dict[str, Callable[[], None]]) -> None:
        self._waiting = waiting

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Spec of a waiting module, with the call added; None for all others."""
        register = self._waiting.get(fullname)
        if register is None:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        spec = next((found for finder in others if (found := finder.find_spec(fullname, path, target))), None)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _LoadThen(spec.loader, register))
        return spec


class _LoadThen:
    """Another loader, and a call after it."""

    def __init__(self, loader: Loader, then: Callable[[], None]) -> None:
        self._loader, self._then = loader, then

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the other loader."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """As the other loader, which then takes this one's place; then the call."""
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then()
