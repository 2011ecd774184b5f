"""The grammar of a reply: what a language model wrote, which actions it asks for, and what is wrong with its form.

    reply  = [space] think [space] answer rest
    think  = "<think>" text "</think>"
    answer = "<answer>" item { separator item } "</answer>"

Tags are matched exactly, and their content may have any characters, newlines included. In prompt mode "world_model" the thought contains
`<observation>` and, after it, `<prediction>`, each with its closing tag; in "no_think" the thought may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from ludory.envs.text_codec import Decoded

Form = Literal["ok", "no_think", "no_answer", "empty_answer", "unknown_action", "bad_structure"]
FORMS: tuple[str, ...] = get_args(Form)
PromptMode = Literal["base", "world_model", "no_think"]
"""The form that a reply is asked for in."""
PROMPT_MODES: tuple[str, ...] = get_args(PromptMode)
TAGS = tuple(f"<{slash}{name}>" for name in ("think", "answer", "observation", "prediction") for slash in ("", "/"))
"""The tags of the grammar, which are removed from the items of an answer."""

Span = tuple[int, int]
"""First character, and the one behind the last."""
Action = int | tuple[int, ...]

_TURNOVER = re.compile(r"</think>\s*<answer>")
_ANY_TAG = re.compile("|".join(map(re.escape, TAGS)))
_STATE_TAG = re.compile("<(observation|prediction)>")


class Verdict(NamedTuple):
    """What a reply says. Spans are those of the content between two tags, in the reply as it was given; None: there is none."""

    form: Form
    """The first of these that holds, else "ok":

    no_think: there is no complete thought, and the prompt mode asks for one.
    no_answer: there is no complete answer.
    empty_answer: the answer has no item that is not empty.
    unknown_action: an item among those that count names no action.
    bad_structure: text outside the grammar before the answer, or the thought behind the answer; in "world_model" also: the thought does not
    have an observation and, after it, a prediction.
    """
    actions: tuple[Action, ...]
    """The actions to execute, in order."""
    dropped: int
    """Number of items among those that count that name no action."""
    overflow: int
    """Number of items behind those that count."""
    think: Span | None
    answer: Span | None
    observation: Span | None
    """The first observation."""
    prediction: Span | None
    """The first prediction."""
    observations: tuple[Span, ...]
    """All observations of the thought; without a thought, those of the text before the answer."""
    predictions: tuple[Span, ...]
    """All predictions, likewise."""


def parse_reply(
    text: str,
    decode: Callable[[str], Decoded],
    *,
    prompt_mode: PromptMode = "base",
    max_actions: int = 5,
    separator: str = "||",
    opened: bool = False,
    strict: bool = False,
) -> Verdict:
    """Parse a reply in time linear in its length. Any text has a verdict; nothing raises.

    decode: turns one item into an action, such as `TextCodec.decode`.
    max_actions: the first so many items that are not empty count; the rest are ignored.
    separator: stands between two items; white space: any run of white space.
    opened: the prompt ends in `<think>`, so the reply starts inside the thought.
    strict: execute nothing unless the form is "ok". Otherwise the items that name actions are executed, whatever the form is.
    """
    think, answer, tidy = _parts(text, opened, prompt_mode == "no_think")
    observations, predictions = _states(text, think, answer)
    actions, dropped, overflow, items = _items(text, answer, decode, max_actions, separator)
    form: Form = "ok"
    if think is None and prompt_mode != "no_think":
        form = "no_think"
    elif answer is None:
        form = "no_answer"
    elif not items:
        form = "empty_answer"
    elif dropped:
        form = "unknown_action"
    elif not tidy or (prompt_mode == "world_model" and not _foresees(observations, predictions)):
        form = "bad_structure"
    return Verdict(
        form,
        () if strict and form != "ok" else actions,
        dropped,
        overflow,
        think,
        answer,
        observations[0] if observations else None,
        predictions[0] if predictions else None,
        observations,
        predictions,
    )


def _parts(text: str, opened: bool, optional: bool) -> tuple[Span | None, Span | None, bool]:
    """Spans of thought and answer, and whether nothing but white space stands before and between them."""
    start = _start_of_thought(text, opened)
    tidy = True
    if start >= 0:
        # a thought may speak of tags: it ends where the answer begins at once
        turnover = _TURNOVER.search(text, start)
        if turnover:
            think, begin = (start, turnover.start()), turnover.end()
            end = text.find("</answer>", begin)
            return think, (begin, end) if end >= 0 else None, _starts_with_thought(text, start, opened)
        closed = text.find("</think>", start)
        if closed >= 0:
            # an answer behind the thought, else one before it
            answer = _first_answer(text, closed) or _first_answer(text, 0)
            return (start, closed), answer, False
    answer = _first_answer(text, 0)
    if optional and answer:
        tidy = not text[: answer[0] - len("<answer>")].strip()
    return None, answer, tidy


def _start_of_thought(text: str, opened: bool) -> int:
    """Where the content of the thought starts, -1 if it is not opened."""
    if opened:
        # models may repeat the tag with which the prompt ended
        repeated = re.match(r"\s*<think>", text)
        return repeated.end() if repeated else 0
    tag = text.find("<think>")
    return tag + len("<think>") if tag >= 0 else -1


def _starts_with_thought(text: str, start: int, opened: bool) -> bool:
    return opened or not text[: start - len("<think>")].strip()


def _first_answer(text: str, start: int) -> Span | None:
    tag = text.find("<answer>", start)
    begin = tag + len("<answer>")
    end = text.find("</answer>", begin) if tag >= 0 else -1
    return (begin, end) if end >= 0 else None


def _states(text: str, think: Span | None, answer: Span | None) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Observations and predictions, in order. What is inside one of them is not searched for others."""
    place, stop = think or (0, answer[0] if answer else len(text))
    found: dict[str, list[Span]] = {"observation": [], "prediction": []}
    # an unclosed tag is not looked for again, so that the time stays linear
    unclosed: set[str] = set()
    while len(unclosed) < len(found):
        tag = _STATE_TAG.search(text, place, stop)
        if tag is None:
            break
        kind, place = tag[1], tag.end()
        end = -1 if kind in unclosed else text.find(f"</{kind}>", place, stop)
        if end < 0:
            unclosed.add(kind)
        else:
            found[kind].append((place, end))
            place = end
    return tuple(found["observation"]), tuple(found["prediction"])


def _foresees(observations: tuple[Span, ...], predictions: tuple[Span, ...]) -> bool:
    return bool(observations and predictions) and observations[0] < predictions[0]


def _items(
    text: str, answer: Span | None, decode: Callable[[str], Decoded], max_actions: int, separator: str
) -> tuple[tuple[Action, ...], int, int, int]:
    """Actions of the items that count, numbers of items dropped and overflowing, and the number of items that are not empty."""
    if answer is None:
        return (), 0, 0, 0
    content = text[answer[0] : answer[1]]
    if "<" in content:
        content = _ANY_TAG.sub("", content)
    blank = not separator.strip()
    items = content.split() if blank else [item for part in content.split(separator) if (item := part.strip())]
    actions = [decoded.action for decoded in map(decode, items[:max_actions]) if decoded.action is not None]
    counted = min(len(items), max_actions)
    return tuple(actions), counted - len(actions), len(items) - counted, len(items)
