"""`replace_states`: a reply whose written states are the true ones; everything else stays as it was sampled, token by token.

arXiv:2510.15047, section 3.1: the content of the observation becomes the true state before the turn, that of the prediction the
true state after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from ludory.agents.language.spans import OBSERVATION, OTHER, PREDICTION

REASONS = ("other_moment", "other_count", "round_trip")
"""Why the states of a reply cannot be replaced."""
_NAMES = {OBSERVATION: "observation", PREDICTION: "prediction"}


class Codes(Protocol):
    """Text as tokens, and back."""

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, without any that mark its start or its end."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens."""


class Replaced(NamedTuple):
    """A corrected reply."""

    ids: list[int]
    """Tokens; those outside of state contents are the sampled ones, in their order."""
    spans: list[int]
    """Span of each token, see `ludory.agents.language.spans`."""
    text: str
    """The text of the tokens."""
    reason: str = ""
    """One of `REASONS`: the reply cannot be corrected, and is unchanged. Empty: it was."""


class Run(NamedTuple):
    """Consecutive tokens of one state: `ids[start:end]`."""

    kind: int
    """`OBSERVATION` or `PREDICTION`."""
    start: int
    end: int


def state_runs(spans: Sequence[int]) -> list[Run]:
    """The states that a reply writes, in order, from the spans (n,) of its tokens."""
    runs: list[Run] = []
    for place, kind in enumerate(spans):
        if kind not in _NAMES:
            continue
        if runs and runs[-1].kind == kind and runs[-1].end == place:
            runs[-1] = runs[-1]._replace(end=place + 1)
        else:
            runs.append(Run(int(kind), place, place + 1))
    return runs


def replace_states(
    ids: Sequence[int],
    spans: Sequence[int],
    before: str,
    after: str | Sequence[str],
    codes: Codes,
    prediction: Literal["turn", "action"] = "turn",
) -> Replaced:
    """Replace the states of one reply.

    White space around a state stays as it was written. New contents are encoded by themselves (with the rest of a tag, where a token
    lies over its border), and the text of the new tokens is
    compared with the intended text. Observations before the first prediction describe one moment, and all become `before`; so do predictions
    that repeat the first one. A reply that describes other moments too is left alone. A state that is missing stays missing.

    Args:
        ids: (n,) tokens of the reply.
        spans: (n,) span of each token.
        before: true state before the turn.
        after: true state after all executed actions; with prediction="action", the state after each of them.
        codes: the tokenizer.
        prediction: "turn": a prediction is of the state after the whole turn; "action": there is one for each executed action.
    """
    unchanged = Replaced(list(ids), list(spans), codes.decode(list(ids)))
    runs = state_runs(spans)
    texts, reason = _true_texts(
        runs, [codes.decode(list(ids[run.start : run.end])) for run in runs], before, after, prediction
    )
    if reason:
        return unchanged._replace(reason=reason)
    new_ids: list[int] = []
    new_spans: list[int] = []
    intended, place, shown = "", 0, 0
    for run, true in zip(runs, texts, strict=True):
        # the token with the start of this state may be the one with the end of the state before
        found = _content_of(run, ids, unchanged.text, codes)
        if found is None or found.start < place:
            return unchanged._replace(reason="round_trip")
        content = _in_white_space(found.content, true)
        parts = [
            (codes.encode(text), kind)
            for text, kind in ((found.head, OTHER), (content, run.kind), (found.tail, OTHER))
            if text
        ]
        # head and tail: text that shares a token with the state
        new_ids += [*ids[place : found.start], *(one for tokens, _ in parts for one in tokens)]
        new_spans += [*spans[place : found.start], *(kind for tokens, kind in parts for _ in tokens)]
        intended += unchanged.text[shown : found.first] + content + found.tail
        place, shown = run.end, found.last
    new_ids += ids[place:]
    new_spans += spans[place:]
    intended += unchanged.text[shown:]
    # tokens encoded by parts may decode to another text where they meet; then nothing is changed
    if codes.decode(new_ids) != intended:
        return unchanged._replace(reason="round_trip")
    return Replaced(new_ids, new_spans, intended)


class _Content(NamedTuple):
    """A state in the text of its reply."""

    content: str
    first: int
    """Character at which the content starts."""
    last: int
    """Character behind the tokens of the run."""
    start: int
    """First token that has text of the content; before the run if a token holds the end of the tag and the start of the content."""
    head: str
    """Text of that token before the content."""
    tail: str
    """Text of the last token behind the content."""


def _content_of(run: Run, ids: Sequence[int], text: str, codes: Codes) -> _Content | None:
    """Where the state of a run lies; None if its tags are not in the text."""
    name, before = _NAMES[run.kind], len(codes.decode(list(ids[: run.start])))
    # the tag before the run, searched from its start backwards
    opened = text.rfind(f"<{name}>", 0, before)
    first = opened + len(name) + 2
    closed = text.find(f"</{name}>", first)
    if opened < 0 or closed < 0:
        return None
    start = run.start
    # back to the token in which the content begins
    while before > first:
        start -= 1
        before = len(codes.decode(list(ids[:start])))
    last = len(codes.decode(list(ids[: run.end])))
    # a run may end behind the closing tag, which is the tail
    return _Content(text[first : min(closed, last)], first, last, start, text[before:first], text[closed:last])


def _in_white_space(content: str, true: str) -> str:
    """`true` with the white space that `content` has at its ends."""
    lead = content[: len(content) - len(content.lstrip())]
    # white space alone counts as lead, not twice
    trail = content[len(content.rstrip()) :] if content.strip() else ""
    return lead + true + trail


def _true_texts(
    runs: Sequence[Run], written: Sequence[str], before: str, after: str | Sequence[str], prediction: str
) -> tuple[list[str], str]:
    """The true text of every run, or the reason why there is none; `written`: the text of every run."""
    kinds = [run.kind for run in runs]
    first = kinds.index(PREDICTION) if PREDICTION in kinds else len(kinds)
    # an observation after a prediction is of a moment of which no true state is known
    if OBSERVATION in kinds[first:]:
        return [], "other_moment"
    predicted = written[first:]
    if not predicted:
        return [before] * first, ""
    if prediction == "action":
        states = [after] if isinstance(after, str) else list(after)
        return ([before] * first + states, "") if len(states) == len(predicted) else ([], "other_count")
    final = after if isinstance(after, str) else after[-1]
    if len({" ".join(text.split()) for text in predicted}) > 1:
        return [], "other_moment"
    return [before] * first + [final] * len(predicted), ""
