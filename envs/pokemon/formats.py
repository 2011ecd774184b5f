"""Battle formats of the pinned simulator, and what the actions of a generation mean.

An action is a number: 0-3 a move of the menu, 4-9 a switch to a fixed team slot, then groups of four, a move with a gimmick. Fixed
slots are the order of the team at the start of a battle, before any preview or switch, so that a number means the same Pokémon all game.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple

from ludory.errors import OptionError

MOVES = 4
"""Actions 0..3: the moves of the menu."""
SLOTS = 6
"""Actions 4..9: the fixed team slots."""
FIRST_GIMMICK = MOVES + SLOTS
"""Action 10: the first move with a gimmick."""
RULES = "pokemon-showdown 0.11.11"
"""The simulator whose rules count."""
V8_RULES = "@pkmn/sim 0.10.11"
"""The simulator of backend="v8": the same rules in another package, with other texts and other random teams in most generations."""

Gimmick = Literal["native", "never"]
SlotOrder = Literal["request", "alpha"]

_GROUPS: Mapping[int, tuple[tuple[str, ...], ...]] = {
    6: (("mega", "ultra"),),
    7: (("mega", "ultra"), ("zmove",)),
    8: (("dynamax",),),
    9: (("terastallize",),),
}
_EXAMPLES = "gen1randombattle, gen9randombattle, gen9battlefactory, gen1ou, gen9ou"


class BattleFormat(NamedTuple):
    """A singles format."""

    id: str
    gen: int
    preview: bool
    """Both sides see the teams' species first and choose a lead."""
    needs_teams: bool
    """Players bring teams; otherwise the simulator generates them."""


@lru_cache(maxsize=1)
def formats() -> Mapping[str, BattleFormat]:
    """All singles formats of the pinned simulator, by id."""
    text = files("ludory.envs.pokemon").joinpath("js/formats.json").read_text(encoding="utf-8")
    listed = json.loads(text)
    return {id: BattleFormat(id, gen, bool(preview), bool(teams)) for id, gen, preview, teams in listed["singles"]}


@lru_cache(maxsize=1)
def _others() -> frozenset[str]:
    text = files("ludory.envs.pokemon").joinpath("js/formats.json").read_text(encoding="utf-8")
    return frozenset(json.loads(text)["others"])


def battle_format(id: str) -> BattleFormat:
    """The format called `id`, such as "gen9randombattle"; spaces, case and punctuation do not count.

    Raises:
        OptionError: the simulator has no such format, or it is not for singles; names the nearest ones.
    """
    if not isinstance(id, str):
        raise OptionError(f"format={id!r}: must be the id of a format, such as {_EXAMPLES}")
    plain = "".join(letter for letter in id.lower() if letter.isascii() and letter.isalnum())
    if plain in formats():
        return formats()[plain]
    near = get_close_matches(plain, formats(), 3, 0.5)
    hint = f"did you mean {', '.join(near)}?" if near else f"type one such as {_EXAMPLES}"
    if plain in _others():
        raise OptionError(f"format={id!r} is not played one against one with one active Pokémon each; {hint}")
    raise OptionError(f"format={id!r}: {RULES} has no such format; {hint}")


@lru_cache(maxsize=1)
def missing_in_v8() -> frozenset[str]:
    """Singles formats of the pinned simulator that the one of backend="v8" does not have, or has no teams for."""
    text = files("ludory.envs.pokemon").joinpath("js/v8/formats.json").read_text(encoding="utf-8")
    return frozenset(json.loads(text)["missing"])


def rules_of(backend: str) -> str:
    """The simulator whose rules a backend plays by."""
    return V8_RULES if backend == "v8" else RULES


def gimmick_groups(gen: int) -> tuple[tuple[str, ...], ...]:
    """The gimmicks of each group of four actions after 9, by the word that a choice string ends with."""
    return _GROUPS.get(gen, ())


def num_actions(gen: int, gimmick: Gimmick = "native") -> int:
    """Number of actions: 10, and four for each group of gimmicks."""
    return FIRST_GIMMICK + (MOVES * len(gimmick_groups(gen)) if gimmick == "native" else 0)


def action_names(gen: int, gimmick: Gimmick = "native") -> tuple[str, ...]:
    """A name for each action: "move 1", "switch to slot 3", "move 2 with terastallize"."""
    moves = [f"move {k + 1}" for k in range(MOVES)]
    switches = [f"switch to slot {slot + 1}" for slot in range(SLOTS)]
    groups = gimmick_groups(gen) if gimmick == "native" else ()
    return (*moves, *switches, *(f"{move} with {'/'.join(group)}" for group in groups for move in moves))
