"""One step of a live client's feedback: which action the keys and the action's text mean, and the 19 features `live19` of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.arena.codec import Action
from ludory.reading import shown

from . import fields
from .flaw import FieldError

MOVE_KEY = re.compile(r"\bKey([WASD])\b", re.IGNORECASE)
MOVE_WORDS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
MOVE_KEYS = {"A": (-1, 0), "D": (1, 0), "W": (0, -1), "S": (0, 1)}
ABILITY = re.compile(r"\b(Digit1|Digit2|Digit3|KeyR)\b", re.IGNORECASE)
ABILITIES = {"digit1": 1, "digit2": 2, "digit3": 3, "keyr": 4}
FIRE, FIRE_KEY = ("attack", "fire"), "mouseright"
INTERACT = ("interact", "loot", "chest", "cofre")
MONO_PERIOD = 1000.0
"""Feature 0 is the clock in parts of so many seconds."""


def read_action(event: Mapping[str, Any]) -> Action:
    """What the player did: keys held and words of `action`.

    Raises:
        FieldError: `action`, `active_keys` or `ability_last` is of another type.
    """
    text, keys = fields.word(event["action"], "action"), active_keys(event)
    move_x, move_y = _move(text, keys)
    lower = text.lower()
    fire = any(one in lower for one in FIRE) or any(key.lower() == FIRE_KEY for key in keys)
    return Action(
        move_x,
        move_y,
        aim_x=1.0 if fire else 0.0,
        aim_y=0.0,
        fire=fire,
        ability_id=_ability(text, keys, event.get("ability_last")),
        interact=any(one in lower for one in INTERACT),
    )


def active_keys(event: Mapping[str, Any]) -> list[str]:
    """The keys held, without blanks; none where the event does not tell."""
    given = event.get("active_keys")
    keys = [] if given is None else fields.items(given, "active_keys")
    return [fields.word(key, f"active_keys[{number}]").strip() for number, key in enumerate(keys)]


def _move(text: str, keys: Sequence[str]) -> tuple[float, float]:
    """Opposite directions cancel; words count where no key does."""
    pressed = {one.upper() for one in MOVE_KEY.findall(text)}
    pressed |= {key[-1].upper() for key in keys if MOVE_KEY.fullmatch(key)}
    steps = [MOVE_KEYS[one] for one in pressed]
    if not steps:
        steps = [MOVE_WORDS[one] for one in set(re.findall("[a-z]+", text.lower())) & set(MOVE_WORDS)]
    return float(sum(x for x, _ in steps)), float(sum(y for _, y in steps))


def _ability(text: str, keys: Sequence[str], last: Any) -> int | None:
    """The first ability among the last one used, the keys held and the action's text."""
    said = "" if last is None else fields.word(last, "ability_last").strip()
    in_text = ABILITY.search(text)
    for one in (said, *keys, in_text[0] if in_text else ""):
        if one.lower() in ABILITIES:
            return ABILITIES[one.lower()]
    return None


def read_features(event: Mapping[str, Any]) -> NDArray[np.float32]:
    """`live19`: (19,) what the client knows of itself; nothing of it is a place or a body. What is missing reads as 0.

    Raises:
        FieldError: a field is no number, NaN or infinite.
    """
    state = event.get("bot_state")
    screen, keyboard, click, cursor = (
        _probe(event, name) for name in ("ui_state", "input_probe", "click_probe", "cursor_probe")
    )
    values = (
        _number(event, "mono") % MONO_PERIOD / MONO_PERIOD,
        float(state == "in_match"),
        float(state == "lobby"),
        _number(screen, "canvas_visible", "ui_state"),
        float(is_ok(event)),
        float(len(active_keys(event))),
        *[0.0] * 4,
        _number(keyboard, "keyDown", "input_probe"),
        _number(keyboard, "pointerMove", "input_probe"),
        _number(click, "click0", "click_probe"),
        _number(cursor, "moves", "cursor_probe"),
        _number(cursor, "visible", "cursor_probe"),
        _number(keyboard, "focusEvents", "input_probe"),
        _number(keyboard, "blurEvents", "input_probe"),
        _number(screen, "play_visible", "ui_state"),
        _number(screen, "character_visible", "ui_state"),
    )
    return np.array(values, np.float32)


def is_ok(event: Mapping[str, Any]) -> bool:
    """Whether the client says that the action was carried out."""
    value = event.get("action_ok")
    return False if value is None else fields.answer(value, "action_ok")


def _probe(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = event.get(name)
    return {} if value is None else fields.mapping(value, name)


def _number(content: Mapping[str, Any], name: str, parent: str = "") -> float:
    value, field = content.get(name), f"{parent}.{name}" if parent else name
    if value is None:
        return 0.0
    if isinstance(value, str):
        raise FieldError(field, shown(value), "a finite number, true or false")
    return float(value) if isinstance(value, bool) else fields.finite(value, field)
