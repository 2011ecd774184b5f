"""Feedback streams of a live client, `feedback_stream.jsonl`, read as sequences with the 19 features `live19`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.data.formats.json_fields import FieldError, boolean, finite, items, mapping, text
from ludory.envs.arena.codec import HEADS, Action, encode, head_sizes
from ludory.reading import shown

from .checked_lines import Flaws, json_lines
from .manifest import TERMINATED, TRUNCATED, WORDS, LiveRun, value_of, words_of
from .sequence import STEPS, TrajectorySequence, unknown_heads

NAME = "feedback_stream.jsonl"
SOURCE = "live_feedback"
FEATURES = "live19"
"""Name of the features: there are as many as in `seed19`, but they mean other things."""
STEP_REWARD = 0.05
"""Reward of a step whose action was carried out; the negative of it if it was not."""
FEWEST_STEPS = 2

MOVE_KEY = re.compile(r"\bKey([WASD])\b", re.IGNORECASE)
MOVE_WORDS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
MOVE_KEYS = {"A": (-1, 0), "D": (1, 0), "W": (0, -1), "S": (0, 1)}
ABILITY = re.compile(r"\b(Digit1|Digit2|Digit3|KeyR)\b", re.IGNORECASE)
ABILITIES = {"digit1": 1, "digit2": 2, "digit3": 3, "keyr": 4}
FIRE, FIRE_KEY = ("attack", "fire"), "mouseright"
INTERACT = ("interact", "loot", "chest", "cofre")
MONO_PERIOD = 1000.0
"""Feature 0 is the clock modulo this many seconds, as a fraction of it."""


class Feedback(NamedTuple):
    """What a stream holds."""

    sequence: TrajectorySequence | None
    """None: fewer than 2 steps."""
    ignored: int
    """Lines that are neither control nor step."""


class _End(NamedTuple):
    """Content of `session_end`."""

    word: str
    """Why the run stopped: one of the known words, or empty."""
    died: bool


def read_feedback(
    file: str | Path, flaws: Flaws, run: LiveRun | None = None, bins: str | int | Sequence[int] = "seed"
) -> Feedback:
    """Read the sequence of a stream. If `flaws` lists instead of stopping, the steps before the first flaw are kept, cut there.

    The outcome is that of the run's record. Where that is 0 or missing, it is that of `session_end`, where a death counts as -1.
    It is added to the reward of the last step. A stream that ends by a time limit, or without `session_end`, is `truncated`.

    `extras` holds `source`, `features`, `path`, `sizes` of the heads, `terminal_outcome`, `end` (the word) and `linked`; under
    `steps` the action's `text`.

    Args:
        file: to read.
        flaws: receives what is wrong.
        run: the record of the run in a manifest.
        bins: see `head_sizes`.

    Raises:
        DataError: a flaw, unless `flaws` lists.
    """
    sizes, steps, ignored, end = head_sizes(bins), [], 0, None
    for line in json_lines(file, flaws, packed=False):
        event = line.content
        try:
            # an event is control, an action is a step; all other lines are passed over
            if event.get("event"):
                if text(event["event"], "event") == "session_end":
                    end = _end(event, flaws, str(file), line.number)
            elif event.get("action"):
                steps.append((encode(read_action(event), sizes), read_features(event), is_ok(event), event["action"]))
            else:
                ignored += 1
        except FieldError as bad:
            flaws.add_field(file, line.number, bad)
            # what follows a wrong line may not belong to the steps before it
            break
    if len(steps) < FEWEST_STEPS:
        return Feedback(None, ignored)
    heads, features, done, texts = zip(*steps, strict=True)
    actions, length = np.stack(heads), len(steps)
    rewards = np.where(done, STEP_REWARD, -STEP_REWARD)
    outcome = _outcome(run, end)
    rewards[-1] += outcome
    last = np.arange(length) == length - 1
    ended = _has_ended(run, end)
    return Feedback(
        TrajectorySequence(
            obs=np.stack(features),
            actions={name: actions[:, head].copy() for head, name in enumerate(HEADS)},
            # nobody recorded how likely the action was
            rewards=rewards.astype(np.float32),
            dones=last.astype(np.float32),
            behavior_logp=np.full(length, np.nan, np.float32),
            terminated=last & ended,
            truncated=last & (not ended),
            behavior_logp_heads=unknown_heads(length),
            extras={
                "source": SOURCE,
                "features": FEATURES,
                "path": str(file),
                "sizes": sizes,
                "terminal_outcome": outcome,
                "end": end.word if end else "no session_end",
                "linked": run is not None,
                STEPS: {"text": list(texts)},
            },
        ),
        ignored,
    )


def _end(event: Mapping[str, Any], flaws: Flaws, path: str, line: int) -> _End:
    """Read `session_end`; an unknown word is an outcome of 0."""
    death = event.get("death")
    died = death is not None and boolean(mapping(death, "death").get("active", False), "death.active")
    reason = event.get("run_stop_reason")
    said = "" if reason is None else text(reason, "run_stop_reason").strip()
    # some clients write a sentence around the word
    words = [said.lower()] if said.lower() in WORDS else words_of([said])
    if said and (len(words) != 1 or words[0] not in WORDS):
        flaws.add(path, line, "run_stop_reason", shown(said), f"one of {', '.join(WORDS)} (counted as 0 with skip_bad)")
        words = []
    return _End(words[0] if words else "", died)


def _outcome(run: LiveRun | None, end: _End | None) -> float:
    said = [run.outcome if run else 0.0]
    if end is not None:
        said += [value_of(end.word), -1.0 if end.died else 0.0]
    return next((one for one in said if one), 0.0)


def _has_ended(run: LiveRun | None, end: _End | None) -> bool:
    """Whether the game ended, not only its recording."""
    if end is None or end.word in TRUNCATED:
        return False
    return end.word in TERMINATED or end.died or (run is not None and run.word in TERMINATED)


def read_action(event: Mapping[str, Any]) -> Action:
    """What the player did, by the keys held and the words of `action`.

    Raises:
        FieldError: `action`, `active_keys` or `ability_last` has another type.
    """
    said, keys = text(event["action"], "action"), active_keys(event)
    move_x, move_y = _move(said, keys)
    lower = said.lower()
    fire = any(one in lower for one in FIRE) or any(key.lower() == FIRE_KEY for key in keys)
    return Action(
        # the aim is not recorded: firing counts as straight ahead
        move_x,
        move_y,
        aim_x=1.0 if fire else 0.0,
        aim_y=0.0,
        fire=fire,
        ability_id=_ability(said, keys, event.get("ability_last")),
        interact=any(one in lower for one in INTERACT),
    )


def active_keys(event: Mapping[str, Any]) -> list[str]:
    """The keys held, stripped of blanks; none where the event does not list them."""
    given = event.get("active_keys")
    keys = [] if given is None else items(given, "active_keys")
    return [text(key, f"active_keys[{number}]").strip() for number, key in enumerate(keys)]


def _move(action: str, keys: Sequence[str]) -> tuple[float, float]:
    """Direction of movement. Opposite directions cancel; words count only if no key is held."""
    pressed = {one.upper() for one in MOVE_KEY.findall(action)}
    # keys in the text and keys held are one set, so that none counts twice
    pressed |= {key[-1].upper() for key in keys if MOVE_KEY.fullmatch(key)}
    steps = [MOVE_KEYS[one] for one in pressed]
    if not steps:
        steps = [MOVE_WORDS[one] for one in set(re.findall("[a-z]+", action.lower())) & set(MOVE_WORDS)]
    return float(sum(x for x, _ in steps)), float(sum(y for _, y in steps))


def _ability(action: str, keys: Sequence[str], last: Any) -> int | None:
    """The first ability found in the last one used, the keys held, and the action's text."""
    said = "" if last is None else text(last, "ability_last").strip()
    in_text = ABILITY.search(action)
    for one in (said, *keys, in_text[0] if in_text else ""):
        if one.lower() in ABILITIES:
            return ABILITIES[one.lower()]
    return None


def read_features(event: Mapping[str, Any]) -> NDArray[np.float32]:
    """The features `live19`, (19,): the client's own state, without positions or bodies. Missing fields read as 0.

    Raises:
        FieldError: a field is not a number, or is NaN or infinite.
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
        # positions and bodies, which a live client does not tell
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
    """Whether the client reports that the action was carried out."""
    value = event.get("action_ok")
    return False if value is None else boolean(value, "action_ok")


def _probe(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = event.get(name)
    return {} if value is None else mapping(value, name)


def _number(content: Mapping[str, Any], name: str, parent: str = "") -> float:
    value, field = content.get(name), f"{parent}.{name}" if parent else name
    if value is None:
        return 0.0
    if isinstance(value, str):
        raise FieldError(field, shown(value), "a finite number, true or false")
    return float(value) if isinstance(value, bool) else finite(value, field)
