"""Which tokens of a reply are trained: masks by span, and the ablation that hides states behind one token.

Files store spans, not masks: labels are made when rows are read, so one file serves every mask.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.agents.language.spans import ANSWER, OBSERVATION, OTHER, PREDICTION, PROMPT, SPAN_NAMES, THINK
from ludory.errors import OptionError

from .config import TRAINED
from .replace import Codes, state_runs

IGNORED = -100
"""Label of tokens without a loss, as PyTorch and the libraries of Hugging Face have it."""
WRITTEN = {SPAN_NAMES[span]: span for span in (OTHER, THINK, ANSWER, OBSERVATION, PREDICTION)}
"""Spans that a model writes, by the names that `weights=` takes."""
PLACEHOLDER = "<masked_state>"
"""The token that stands for a whole state under `mask="placeholder"`."""


class RowTargets(NamedTuple):
    """What a row trains."""

    labels: NDArray[np.int64]
    """(n,): the token, or `IGNORED`."""
    weights: NDArray[np.float32]
    """(n,): weight of each token's loss."""


def span_weights(mask: str = "think_answer", weights: Mapping[str, float] | None = None) -> NDArray[np.float32]:
    """(6,): weight of the loss by span; prompts and environment text always have 0.

    Args:
        mask: a key of `TRAINED`.
        weights: weights by span name instead of a mask; spans that are not named have 0.

    Raises:
        OptionError: there is no such mask or span, a weight is negative or not finite, or nothing would be trained.
    """
    table = np.zeros(6, np.float32)
    if weights is None:
        if mask not in TRAINED:
            raise OptionError(f"mask={mask!r}: must be one of {', '.join(TRAINED)}; or give weights={{span: weight}}")
        table[list(TRAINED[mask])] = 1
        if mask == "states":
            print(
                "ludory: mask='states' does not train the tags around states, and replies lose their form; "
                "mask='states_tags' keeps it",
                file=sys.stderr,
            )
        return table
    for name, weight in weights.items():
        if name not in WRITTEN:
            raise OptionError(f"weights: no span is called {name!r}; must be among {', '.join(WRITTEN)}")
        if not math.isfinite(weight) or weight < 0:
            raise OptionError(f"weights: {name}={weight!r} must be a finite number of at least 0")
        table[WRITTEN[name]] = weight
    if not table.any():
        raise OptionError(f"weights={dict(weights)!r} train nothing; give one of {', '.join(WRITTEN)} a weight above 0")
    return table


def targets(ids: ArrayLike, spans: ArrayLike, table: NDArray[np.float32]) -> RowTargets:
    """Labels and weights of one row; ids, spans: (n,); table: of `span_weights`."""
    weights = table[np.asarray(spans, np.int64)]
    return RowTargets(np.where(weights > 0, np.asarray(ids, np.int64), IGNORED), weights)


def hide_states(
    ids: Sequence[int], spans: Sequence[int], codes: Codes, placeholder: int
) -> tuple[list[int], list[int]]:
    """A row in which one token stands for each state of the reply, tags included; it is not trained.

    A tag belongs to the state with the tokens that it is made of. Text that shares a token with it goes too.

    Args:
        ids: (n,) tokens of prompt and reply.
        spans: (n,) span of each.
        codes: the tokenizer.
        placeholder: the token.
    """
    shown_ids: list[int] = []
    shown_spans: list[int] = []
    place = 0
    for run in state_runs(spans):
        name = "observation" if run.kind == OBSERVATION else "prediction"
        # tags have no span of their own: they are found by decoding backwards and forwards from the state
        opened, closed = range(run.start - 1, place - 1, -1), range(run.end + 1, len(ids) + 1)
        start = next((at for at in opened if f"<{name}>" in codes.decode(list(ids[at : run.start]))), run.start)
        end = next((at for at in closed if f"</{name}>" in codes.decode(list(ids[run.start : at]))), run.end)
        shown_ids += [*ids[place:start], placeholder]
        # the placeholder counts as prompt, which no mask trains
        shown_spans += [*spans[place:start], PROMPT]
        place = end
    return [*shown_ids, *ids[place:]], [*shown_spans, *spans[place:]]
