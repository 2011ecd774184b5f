"""Records of battles that failed, which `ludory pokemon resimulate` plays again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ludory.atomic import atomic_file
from ludory.cache_folder import cache_directory

from .formats import SlotOrder, battle_format
from .requests import seat_request

KEPT_FILES = 200
"""Files of failures that are kept; older ones are deleted."""
STACK_LINES = 20
"""Lines of an error that a record has."""
_ACTION = "action"


class FailedBattle(NamedTuple):
    """A battle up to its failure."""

    format: str
    start: Mapping[str, Any]
    """The entry of the worker's `reset`, without the number."""
    choices: Sequence[tuple[int, str]]
    """(seat, choice) in order: choice strings of the simulator, or numbers of actions as `action_text` writes them."""

    def input_log(self) -> list[str]:
        """Seeds, teams and choices, in the form of the simulator's input logs."""
        seed = {"formatid": self.format, "seed": self.start["seed"]}
        sides = [f">player {side} {_json({'name': side, **self.start[side]})}" for side in ("p1", "p2")]
        return [f">start {_json(seed)}", *sides, *(f">p{seat + 1} {choice}" for seat, choice in self.choices)]


def action_text(action: int, slot_order: SlotOrder) -> str:
    """An action where its choice string is not known, as engines without trackers remember it."""
    return f"{_ACTION} {action} {slot_order}"


def choice_of_text(text: str, request: Mapping[str, Any], order: Sequence[int], format: str) -> str:
    """The choice string of a remembered choice: `text` itself, unless `action_text` wrote it."""
    word, *rest = text.split(" ")
    if word != _ACTION or len(rest) != 2:
        return text
    slot_order: SlotOrder = "alpha" if rest[1] == "alpha" else "request"
    choices = seat_request(request, order, battle_format(format).gen, slot_order=slot_order).choices
    action = int(rest[0]) if rest[0].isdecimal() else len(choices)
    return (choices[action] if action < len(choices) else None) or text


def failure_folder() -> Path:
    """Where records of failures are kept."""
    return cache_directory("pokemon") / "crashes"


def save_failure(battles: Sequence[FailedBattle], error: str, input_log: Sequence[str] = ()) -> Path:
    """Write battles that failed together, one record a line.

    Args:
        battles: at least one.
        error: what happened; its first 20 lines are kept.
        input_log: of the simulator, if it could tell the one of the only battle.

    Returns:
        The file.
    """
    names = [f"{battle.format}-{str(battle.start['seed']).replace(',', '-')}" for battle in battles]
    more = f"-and-{len(battles) - 1}-more" if len(battles) > 1 else ""
    file = failure_folder() / f"{names[0]}{more}.jsonl"
    stack = "\n".join(error.splitlines()[:STACK_LINES])
    with atomic_file(file, "w") as handle:
        for name, battle in zip(names, battles, strict=True):
            log = list(input_log) or battle.input_log()
            record = {"id": name, "formatid": battle.format, "log": [], "inputLog": log, "error": stack}
            handle.write(_json(record) + "\n")
    files = sorted(file.parent.glob("*.jsonl"), key=lambda found: found.stat().st_mtime)
    for old in files[:-KEPT_FILES]:
        old.unlink(missing_ok=True)
    return file


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
