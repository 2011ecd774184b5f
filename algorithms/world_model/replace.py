"""`replace_states`: a reply whose written states are the true ones; everything else stays as it was sampled, token by token.

arXiv:2510.15047, section 3.1: the content of the observation becomes the true state before the turn, that of the prediction the
true state after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from ludory.agents.language.spans import OBSERVATION, PREDICTION

REASONS = ("other_moment", "other_count", "round_trip")
"""Why the states of a reply cannot be replaced."""
_CLOSING = {OBSERVATION: "</observation>", PREDICTION: "</prediction>"}


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
        if kind not in _CLOSING:
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

    White space around a state stays as it was written. New contents are encoded by themselves, and the text of the new tokens is
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
    texts, reason = _true_texts(runs, [codes.decode(list(ids[run.start : run.end])) for run in runs], before, after, prediction)
    if reason:
        return unchanged._replace(reason=reason)
    new_ids: list[int] = []
    new_spans: list[int] = []
    intended, place, shown = "", 0, 0
    for run, true in zip(runs, texts, strict=True):
        first, last = len(codes.decode(list(ids[: run.start]))), len(codes.decode(list(ids[: run.end])))
        content = _around(unchanged.text[first:last], unchanged.text[last:], true, _CLOSING[run.kind])
        tokens = codes.encode(content)
        new_ids += [*ids[place : run.start], *tokens]
        new_spans += [*spans[place : run.start], *[run.kind] * len(tokens)]
        intended += unchanged.text[shown:first] + content
        place, shown = run.end, last
    new_ids += ids[place:]
    new_spans += spans[place:]
    intended += unchanged.text[shown:]
    if codes.decode(new_ids) != intended:
        return unchanged._replace(reason="round_trip")
    return Replaced(new_ids, new_spans, intended)


def _true_texts(
    runs: Sequence[Run], written: Sequence[str], before: str, after: str | Sequence[str], prediction: str
) -> tuple[list[str], str]:
    """The true text of every run, or the reason why there is none; `written`: the text of every run."""
    kinds = [run.kind for run in runs]
    first = kinds.index(PREDICTION) if PREDICTION in kinds else len(kinds)
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


def _around(content: str, rest: str, true: str, closing: str) -> str:
    """`true` with the white space of `content` around it, and with the start of the closing tag if the last token holds it."""
    tail = next(
        (closing[:size] for size in range(len(closing), 0, -1) if _splits(content, rest, closing, size)),
        "",
    )
    body = content[: len(content) - len(tail)]
    lead = body[: len(body) - len(body.lstrip())]
    trail = body[len(body.rstrip()) :] if body.strip() else ""
    return lead + true + trail + tail


def _splits(content: str, rest: str, closing: str, size: int) -> bool:
    return content.endswith(closing[:size]) and rest.startswith(closing[size:])
