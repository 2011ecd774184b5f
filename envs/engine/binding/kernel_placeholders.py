"""Names that a batch kernel file imports. `bind.py` replaces the import by imports of the kernels of a game or bot.

If one of these is called, a batch file was imported directly instead of being bound.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "GameState",
    "choose",
    "critic",
    "index_of",
    "legal",
    "moves_of",
    "notice",
    "observe",
    "play",
    "redeal",
    "reset",
    "search",
    "set_up",
    "step",
    "twin_of",
    "used",
]


def _unbound(*_: Any) -> NoReturn:
    """A kernel of a game or bot, in whose place `bind` puts the real one."""
    raise RuntimeError(
        "batch kernels are bound to a game by ludory.envs.engine.binding.bind; do not import them directly"
    )


reset: Any = _unbound
step: Any = _unbound
legal: Any = _unbound
observe: Any = _unbound
redeal: Any = _unbound
used: Any = _unbound
critic: Any = _unbound
choose: Any = _unbound
notice: Any = _unbound
set_up: Any = _unbound
search: Any = _unbound
play: Any = _unbound
moves_of: Any = _unbound
index_of: Any = _unbound
twin_of: Any = _unbound
GameState: Any = _unbound
