"""Arena: the last one standing wins. 2 to 8 seats, all move at once. A small game of Ludory's own design, in integers."""

from __future__ import annotations

from functools import partial
from typing import Any

from ludory.envs import Analysis, Array, Game, GameFacts, Head, Kernels, Look, Rules, State, read_options

from .constants import FULL_HP, LONGEST_GAME, TICKS, TICKS_PER_DECISION
from .legality import legal, used
from .observe.full import critic_spec, observe_critic
from .observe.observation import OBSERVE, observation_spec
from .pictures.svg import ABILITIES, draw_svg
from .pictures.text import draw_text
from .pictures.wording import last_move, told_move
from .redeal import redeal
from .rules import reset, step
from .start import start_fields
from .state import fields
from .variants import ArenaOptions
from .words import codec

__all__ = ["ArenaOptions", "make_game"]

SWITCHES = {"fire": ("hold fire", "fire"), "ability": ABILITIES, "interact": ("leave crates", "open crate")}


def make_game(**options: Any) -> Game:
    """Make the arena with keyword options, see `ArenaOptions`.

    Raises:
        OptionError: unknown option, or a value that is not allowed.
    """
    chosen = read_options("Arena", ArenaOptions, options)
    facts = GameFacts(
        name="Arena",
        players=chosen.players,
        turns="simultaneous",
        reward="zero_sum",
        hidden_information=True,
        chance=True,
        heads=heads(chosen),
        observation=observation_spec(chosen),
        longest_game=LONGEST_GAME,
        min_return=-1,
        max_return=1,
        critic=critic_spec(chosen),
    )
    return Game(
        facts,
        Rules(
            fields=fields(chosen),
            kernels=Kernels(reset, step, legal, OBSERVE[chosen.observation], redeal, used, observe_critic),
            start=partial(start_fields, chosen),
        ),
        look=Look(
            action_name=partial(action_name, chosen),
            info=public_info,
            text=draw_text,
            svg=partial(draw_svg, bins=(chosen.move_bins, chosen.aim_bins)),
            last_move=last_move,
            told_move=told_move,
            pace=TICKS / TICKS_PER_DECISION,
        ),
        language=codec(chosen),
        analysis=Analysis(progress=progress),
        options=options,
        family="arena",
    )


def progress(state: State) -> Array:
    """(N, P) float: damage dealt minus damage taken, including that of the zone; 1 is the hit points of a whole body."""
    return (state.dealt - state.taken) / FULL_HP


def heads(options: ArenaOptions) -> tuple[Head, ...]:
    """The seven action heads."""
    move, aim = options.move_bins, options.aim_bins
    sizes = {"move_x": move, "move_y": move, "aim_x": aim, "aim_y": aim, "fire": 2, "ability": 5, "interact": 2}
    return tuple(Head(name, size) for name, size in sizes.items())


def action_name(options: ArenaOptions, head: int, value: int) -> str:
    """A value of a head in words: "move_x -0.5", "fire", "shield", "open crate"."""
    name, size = heads(options)[head]
    if name in SWITCHES:
        return SWITCHES[name][value]
    return f"{name} {2 * value / (size - 1) - 1:+.4g}" if 2 * value != size - 1 else f"{name} 0"


def public_info(state: State, i: int) -> dict[str, Any]:
    """Public facts of game i: time, living seats, places (0: not settled yet), kills and damage (0 until the end)."""
    over = bool(state.terminated[i])
    return {
        "seconds": int(state.t[i]) / TICKS,
        "alive": [bool(alive) for alive in state.alive[i].tolist()],
        "place": [place / 2 for place in state.place[i].tolist()],
        "kills": [kills * over for kills in state.kills[i].tolist()],
        "damage_dealt": [damage * over / 100 for damage in state.dealt[i].tolist()],
        "damage_taken": [damage * over / 100 for damage in state.taken[i].tolist()],
    }
