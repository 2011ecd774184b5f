"""What each token of a reply is: a tag, a thought, the answer, an observation or a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PROMPT, OTHER, THINK, ANSWER, OBSERVATION, PREDICTION = range(6)
"""Kinds of tokens: not sampled; tags, white space and end; thought; answer; content of observations; content of predictions."""
SPAN_NAMES = ("prompt", "other", "think", "answer", "observation", "prediction")

Span = tuple[int, int]
"""First character and the one behind the last."""
_INNER = ((OBSERVATION, "<observation>", "</observation>"), (PREDICTION, "<prediction>", "</prediction>"))


class ReplySpans(Protocol):
    """Where the parts of a reply lie, as a verdict has them: spans of the content between the tags."""

    @property
    def think(self) -> Span | None:
        """The thought."""

    @property
    def answer(self) -> Span | None:
        """The answer."""

    @property
    def observations(self) -> Sequence[Span]:
        """All observations."""

    @property
    def predictions(self) -> Sequence[Span]:
        """All predictions."""


def token_spans(offsets: Sequence[Span], verdict: ReplySpans, length: int) -> NDArray[np.int8]:
    """(n,): the kind of each sampled token of one reply.

    A token belongs to the part in which it starts. A token over a border is therefore of the earlier part. Tags of observations and
    predictions within the thought are `OTHER`, as all tags are.

    Args:
        offsets: of the tokens, as `LanguageModel.decode_with_offsets` returns them; n pairs.
        verdict: of the reply.
        length: of the reply, in characters.
    """
    import numpy as np

    kinds = np.full(length + 1, OTHER, np.int8)  # one more: tokens that write nothing, such as an end token
    for kind, span in ((THINK, verdict.think), (ANSWER, verdict.answer)):
        if span is not None:
            kinds[span[0] : span[1]] = kind
    # the tags too, then the content over them
    for (kind, opening, closing), spans in zip(_INNER, (verdict.observations, verdict.predictions), strict=True):
        for start, end in spans:
            kinds[max(start - len(opening), 0) : end + len(closing)] = OTHER
            kinds[start:end] = kind
    kinds[length] = OTHER
    starts = np.fromiter((start for start, _ in offsets), np.int64, len(offsets))
    return kinds[np.minimum(starts, length)]
