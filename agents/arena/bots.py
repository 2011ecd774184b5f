"""The arena's scripted styles as agents: `arena/random`, `arena/rusher`, `arena/sniper`, ..."""

from __future__ import annotations

from collections.abc import Callable

from ludory.agents import BotKernels, KernelAgent
from ludory.envs import Game
from ludory.envs.arena.rules import step
from ludory.errors import OptionError

from . import dodgers, styles

STYLES: dict[str, Callable[..., None]] = {
    "rusher": styles.choose_rusher,
    "sniper": styles.choose_sniper,
    "turtle": styles.choose_turtle,
    "looter": styles.choose_looter,
    "miner": styles.choose_miner,
    "zone": styles.choose_zone,
    "duelist": dodgers.choose_duelist,
    "raider": dodgers.choose_raider,
}
"""Kernel of each style by name; none of them draws."""


def make_style(game: Game, style: str) -> KernelAgent:
    """A scripted style: deterministic, and the same in every seat.

    Raises:
        OptionError: the game is not the arena, or the style is invalid.
    """
    if style not in STYLES:
        raise OptionError(f"style={style!r}: must be one of {', '.join(STYLES)}")
    _check(f"arena/{style}", game)
    return KernelAgent(f"arena/{style}", BotKernels(STYLES[style]))


def make_random(game: Game, seed: int | None = None) -> KernelAgent:
    """Every head uniform over its legal values, in compiled code.

    Args:
        game: an arena.
        seed: of the draws; None: a fresh one from the operating system.

    Raises:
        OptionError: the game is not the arena.
    """
    _check("arena/random", game)
    return KernelAgent(
        "arena/random", BotKernels(styles.choose_random, memory_size=styles.MEMORY, draws=True), seed=seed
    )


def _check(name: str, game: Game) -> None:
    if not game.has_kernel("step", step):
        raise OptionError(f"{name} plays the arena only, got {game.id or game.facts.name}; try Arena2P-v0")
