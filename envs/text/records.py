"""What a `TextEnv` says and remembers: the turns that it asks, and the records of those that were played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .prompts import Message
from .reply import Action, Verdict


class TextTurn(NamedTuple):
    """What one row is asked."""

    row: int
    turn: int
    """From 1."""
    messages: list[Message]
    """The whole conversation that the model reads; the last message is new. With history "full", those of a turn are the beginning of those
    of the next one, which continue with the reply."""
    text: str
    """The new user message."""
    actions_left: int


class TurnRecord(NamedTuple):
    """What happened in one turn of one row. States are written in the style of beliefs."""

    turn: int
    prompt: str
    """The new user message."""
    reply: str
    verdict: Verdict
    state_before: str
    states_between: tuple[str, ...]
    """After each executed action."""
    state_after: str
    """After all executed actions."""
    actions: tuple[Action, ...]
    """Those that were executed."""
    rewards: tuple[float, ...]
    """Of each executed action."""
    reward: float
    """Of the turn as learners see it: the sum of `rewards`, and the penalty where the preset counts it in turns."""
    penalty: float
    """0, or a negative number: what this turn added to the episode's score for its form."""
    done: bool
    """The episode ended with this turn."""
    success: bool
    illegal: str = ""
    """Name of the action that was not legal, at which the turn stopped."""


def plain_record(record: TurnRecord) -> dict[str, Any]:
    """A record as values that JSON can hold."""
    return {**record._asdict(), "verdict": record.verdict._asdict()}


def record_of(entry: Mapping[str, Any]) -> TurnRecord:
    """The record of `plain_record`, also after a way through JSON."""
    verdict = {name: _tuples(value) for name, value in entry["verdict"].items()}
    plain = {name: _tuples(value) for name, value in entry.items() if name != "verdict"}
    return TurnRecord(verdict=Verdict(**verdict), **plain)


def _tuples(value: Any) -> Any:
    """Lists, which JSON makes of tuples, as tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value
