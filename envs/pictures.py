"""Text pictures of games: colours as ANSI escape codes, how to do without them, and how to show one."""

from __future__ import annotations

import os
import re
import sys

from .game import Game, State

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def paint(text: str, codes: str) -> str:
    """`text` between the escape codes `codes` (such as "1;31") and a reset."""
    return f"\x1b[{codes}m{text}\x1b[0m"


def plain(text: str) -> str:
    """`text` without escape codes."""
    return _ESCAPE.sub("", text)


def as_wanted(text: str) -> str:
    """`text`, without colours where the environment variable NO_COLOR is set (no-color.org)."""
    return plain(text) if os.environ.get("NO_COLOR") else text


def show(text: str) -> None:
    """Print, without colours where NO_COLOR is set or the output is not a terminal."""
    print(as_wanted(text) if sys.stdout.isatty() else plain(text), flush=True)


def text_picture(game: Game, state: State, i: int, seat: int | None) -> str:
    """Game `i` as `seat` sees it (None: everything); of a game that draws no text, its public facts."""
    if game.text is not None:
        return game.text(state, i, seat)
    return "\n".join(f"{key}: {value}" for key, value in game.info(state, i).items()) or "(this game draws no text)"
