"""Streams of a live client's feedback, `feedback_stream.jsonl`, read as sequences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ludory.envs.arena.codec import HEADS, encode, head_sizes
from ludory.reading import shown

from . import fields
from .flaw import FieldError, Flaws
from .lines import json_lines
from .live_event import is_ok, read_action, read_features
from .manifest import LiveRun
from .outcome import TERMINATED, TRUNCATED, WORDS, value_of, words_of
from .sequence import STEPS, TrajectorySequence, unknown_heads

NAME = "feedback_stream.jsonl"
SOURCE = "live_feedback"
FEATURES = "live19"
"""Name of the features: they share their number with `seed19` and nothing else."""
STEP_REWARD = 0.05
"""Of a step whose action was carried out; its negative of one that was not."""
FEWEST_STEPS = 2


class Feedback(NamedTuple):
    """What a stream holds."""

    sequence: TrajectorySequence | None
    """None: fewer than 2 steps."""
    ignored: int
    """Lines that are neither control nor step."""


class _End(NamedTuple):
    """What `session_end` says."""

    word: str
    """Why the run stopped, one of the known words; empty where that is not said."""
    died: bool


def read_feedback(file: str | Path, flaws: Flaws, run: LiveRun | None = None, bins: Any = "seed") -> Feedback:
    """The sequence of a stream. With `flaws` that list instead of stopping, what stands before the first flaw is kept, cut there.

    The outcome is that of the run's record; where that is 0 or there is none, that of `session_end`; then a death is -1. It is
    added to the reward of the last step. A stream whose end is a time limit, or without `session_end`, is `truncated`.

    `extras`: `source`, `features`, `path`, `sizes` of the heads, `terminal_outcome`, `end` (the word), `linked`, and under `steps` the action's `text`.

    Args:
        file: to read.
        flaws: told of what is wrong.
        run: the record of the run in a manifest.
        bins: see `head_sizes`.

    Raises:
        DataError: a flaw, if `flaws` stop.
    """
    sizes, steps, ignored, end = head_sizes(bins), [], 0, None
    for line in json_lines(file, flaws, packed=False):
        event = line.content
        try:
            if event.get("event"):
                if fields.word(event["event"], "event") == "session_end":
                    end = _end(event, flaws, str(file), line.number)
            elif event.get("action"):
                steps.append((encode(read_action(event), sizes), read_features(event), is_ok(event), event["action"]))
            else:
                ignored += 1
        except FieldError as bad:
            flaws.add(file, line.number, bad.field, bad.got, bad.wanted)
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
    """What `session_end` says; an unknown word is an outcome of 0."""
    death = event.get("death")
    died = death is not None and fields.answer(fields.mapping(death, "death").get("active", False), "death.active")
    reason = event.get("run_stop_reason")
    text = "" if reason is None else fields.word(reason, "run_stop_reason").strip()
    words = [text.lower()] if text.lower() in WORDS else words_of([text])
    if text and (len(words) != 1 or words[0] not in WORDS):
        flaws.add(path, line, "run_stop_reason", shown(text), f"one of {', '.join(WORDS)} (counted as 0 with skip_bad)")
        words = []
    return _End(words[0] if words else "", died)


def _outcome(run: LiveRun | None, end: _End | None) -> float:
    said = [run.outcome if run else 0.0]
    if end is not None:
        said += [value_of(end.word), -1.0 if end.died else 0.0]
    return next((one for one in said if one), 0.0)


def _has_ended(run: LiveRun | None, end: _End | None) -> bool:
    """Whether the game ended, and not only the recording of it."""
    if end is None or end.word in TRUNCATED:
        return False
    return end.word in TERMINATED or end.died or (run is not None and run.word in TERMINATED)
