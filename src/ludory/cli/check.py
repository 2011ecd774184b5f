"""`ludory check`: prove that a game keeps the contract that every view relies on."""

from __future__ import annotations

import argparse

from ludory.errors import OptionError
from ludory.plugins.spec import parse_value

from . import check_data


def run(argv: list[str]) -> int:
    """Check one game and print every property, or sum up files of data; exit code 1 if one does not hold."""
    if argv[:1] == ["data"]:
        return check_data.run(argv[1:])
    parser = argparse.ArgumentParser(
        "ludory check",
        description="Prove that a game keeps the contract: views agree, seeds repeat, nothing leaks. `ludory check data PATH...` sums up files of data.",
    )
    parser.add_argument("id", help="e.g. HanabiSmall2P-v0; `ludory list games` shows all")
    parser.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE", help="option of the game, may be repeated"
    )
    parser.add_argument("--games", type=int, help="games to play for each property")
    parser.add_argument("--seed", type=int, help="of those games")
    chosen = parser.parse_args(argv)

    from ludory.envs.make import make_game
    from ludory.testing import ConformanceError, check_game

    game = make_game(chosen.id, **parse_options(chosen.option))
    numbers = {name: value for name in ("games", "seed") if (value := getattr(chosen, name)) is not None}
    try:
        check_game(game, report=_print_property, **numbers)
    except ConformanceError as error:
        print(f"{game.id} does not keep the contract: {error}")
        return 1
    print(f"{game.id} keeps the contract")
    return 0


def parse_options(texts: list[str]) -> dict[str, object]:
    """{"players": 3} for ["players=3"].

    Raises:
        OptionError: a text has no "=".
    """
    options = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise OptionError(f"option {text!r}: must be KEY=VALUE, e.g. players=3")
        options[key] = parse_value(value)
    return options


def _print_property(name: str, ok: bool, message: str) -> None:
    print(f"  {'ok' if ok else 'FAILED':6}  {name}{f': {message}' if message else ''}", flush=True)
