"""Handlers of lines by kind, and names in lines.

A handler gets the tracker and the line split at "|": `parts[1]` is the kind. It raises IndexError, KeyError or ValueError if the line is
malformed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..vocab import to_id

if TYPE_CHECKING:
    from .tracker import Tracker

Handler = Callable[["Tracker", list[str]], None]
HANDLERS: dict[str, Handler] = {}

_effects: dict[str, str] = {}


def effect(name: str) -> str:
    """Id of an effect without its kind: "move: Stealth Rock" is `stealthrock`."""
    found = _effects.get(name)
    if found is None:
        kind, colon, rest = name.partition(":")
        found = to_id(rest if colon and kind in ("move", "ability", "item") else name)
        if len(_effects) < 10_000:
            _effects[name] = found
    return found


def line(*kinds: str) -> Callable[[Handler], Handler]:
    """Register a handler of some kinds of lines."""

    def register(handler: Handler) -> Handler:
        for kind in kinds:
            HANDLERS[kind] = handler
        return handler

    return register


@line(
    "", "t:", "j", "J", "l", "L", "n", "N", "c", "c:", "chat", "raw", "html", "uhtml", "uhtmlchange", "inactive", "inactiveoff", "title",
    "rated", "rule", "gametype", "gen", "tier", "start", "clearpoke", "request", "init", "deinit", "debug", "message", "bigerror", "error",
    "seed", "custom", "showteam", "updatepoke", "swap", "teamsizes", "expire", "warning", "askreg", "hidelines", "unlink", "choice",
    "-message", "-hint", "-crit", "-supereffective", "-resisted", "-hitcount", "-ohko", "-notarget", "-nothing",
    "-combine", "-waiting", "-center", "-zbroken", "-candynamax", "-singlemove", "-mega-primal", "timer", "upkeep:", "noinit", "version",
)  # fmt: skip
def nothing(tracker: Tracker, parts: list[str]) -> None:
    """Lines that change nothing that is tracked: chat, joins, timers, rules, animations."""
