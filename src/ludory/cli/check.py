"""`ludory check`: test that a game keeps the contract that every view relies on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ludory.arguments import Positional
from ludory.arguments.urls import as_typed
from ludory.errors import OptionError
from ludory.plugins import games

from .common.options import GameOptions, Maybe
from .common.parser import parse


@dataclass(frozen=True, kw_only=True)
class _Options(GameOptions):
    """Test that a game keeps the contract: views agree, seeds repeat, nothing leaks.

    `ludory check data PATH...` sums up files of data instead, `ludory check rooms A B` compares two sets of rooms.

    Example: ludory check HanabiSmall2P-v0 --games 20
    """

    game: Positional[str]
    """Id of a game, or --game ID; `ludory list games` shows all."""
    games: Maybe[int] = None
    """Games to play for each property."""
    seed: Maybe[int] = None
    """Seed of these games."""
    plain: bool = False
    """Run the rules as plain Python, in which debuggers stop; nothing is compiled, nor compared with compiled code."""


def run(argv: list[str]) -> int:
    """Check one game and print every property; exit code 1 if one fails."""
    chosen = parse(_Options, argv, "check")

    from ludory.testing import ConformanceError, check_game

    if Path(chosen.game).exists() and chosen.game not in games:
        raise OptionError(
            f"{chosen.game}: is a file, not the id of a game; type: ludory check data {as_typed(chosen.game)}"
        )
    game = chosen.make(chosen.game)
    given = {name: value for name in ("games", "seed") if (value := getattr(chosen, name)) is not None}
    try:
        check_game(game, report=_print_property, compiled=not chosen.plain, **given)
    except ConformanceError as error:
        print(f"{game.id} does not keep the contract: {error}")
        return 1
    print(f"{game.id} keeps the contract")
    return 0


def _print_property(name: str, ok: bool, message: str) -> None:
    print(f"  {'ok' if ok else 'FAILED':6}  {name}{f': {message}' if message else ''}", flush=True)
