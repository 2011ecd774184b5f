"""What numbers mean beyond their shapes: compared where a network or data meets a game."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache

from ..errors import CheckpointError
from .game import Game

RULES = "rules"
"""Name of the convention whose difference is a warning only: version of rules that live in another program."""
HASH = "_sha256"
"""End of the names of conventions that are hashes of names, which no option changes."""


def check_conventions(saved: Mapping[str, str], game: Game, what: str) -> None:
    """Refuse a network that reads or chooses by other conventions than the game's; warn once of other rules.

    Args:
        saved: `Records.conventions` of the game that the network was trained on; those that are absent are not compared.
        game: to play or to go on with.
        what: the network's file or name, for messages.

    Raises:
        CheckpointError: a convention differs; the message has both values, and the option that would make them agree.
    """
    for name, asked in game.records.conventions.items():
        found = saved.get(name, asked)
        if found == asked:
            continue
        if name == RULES:
            warn_of_rules(what, found, asked)
        elif name.endswith(HASH):
            raise CheckpointError(
                f"{what}: trained with {name} {found[:12]}, {game.name} has {asked[:12]}: its ids have other names, which the file does "
                "not hold, so they cannot be remapped; train it again, or install the version that wrote it"
            )
        else:
            raise CheckpointError(
                f"{what}: trained with {name}={found!r}, {game.name} has {name}={asked!r}, so that the same action means another; "
                f"make the game with {name}={found!r}"
            )


def warn_of_rules(what: str, found: str, asked: str) -> None:
    """Warn that something comes from other rules, once for each pair of versions in a process."""
    if found != asked and _is_first(found, asked):
        warnings.warn(
            f"{what}: made with the rules of {found}, this version plays by {asked}; results of the two are not comparable",
            stacklevel=3,
        )


@cache
def _told() -> set[tuple[str, str]]:
    return set()


def _is_first(found: str, asked: str) -> bool:
    before = len(_told())
    _told().add((found, asked))
    return len(_told()) > before
