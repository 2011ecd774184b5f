"""`TokenEpisode`: the tokens of one episode as they were sampled, never decoded and encoded again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ludory.errors import ConformanceError, OptionError

from .generators import Generation
from .model import LanguageModel
from .spans import PROMPT, ReplySpans, token_spans
from .templates import Message


class TokenPiece:
    """One list of tokens that a model read or wrote in a row, with what each token is."""

    __slots__ = ("ids", "logprobs", "spans", "turns")

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.spans: list[int] = []
        """Kind of each token, see `spans`."""
        self.turns: list[int] = []
        """Turn of each token, counted over the episode: of text that was not sampled, the turn of the reply before it, -1 before the first."""
        self.logprobs: list[float] = []
        """Of the sampler; 0 for text that was not sampled."""


class TokenEpisode:
    """The conversation of one episode in tokens. Call `begin`, then `add_reply` and `add_environment` in turns.

    Args:
        language_model: whose tokens these are.
        history: "full": one list that grows; "none": a list per turn, each with a prompt of its own.
    """

    def __init__(self, language_model: LanguageModel, history: Literal["full", "none"] = "full") -> None:
        if history not in ("full", "none"):
            raise OptionError(
                f"history={history!r}: must be full or none (a window of turns is none: each turn has its own list)"
            )
        self._model, self._history = language_model, history
        self.pieces: list[TokenPiece] = []
        """All lists; one with history "full", one per turn with "none"."""
        self._turn, self._mark, self._replied = -1, (0, hash(())), True

    @property
    def ids(self) -> list[int]:
        """Ids of the current list: what the model is asked to continue."""
        return self.pieces[-1].ids

    @property
    def spans(self) -> list[int]:
        """Kind of each token of the current list."""
        return self.pieces[-1].spans

    @property
    def turns(self) -> list[int]:
        """Turn of each token of the current list, -1 before the first."""
        return self.pieces[-1].turns

    @property
    def logprobs(self) -> list[float]:
        """Log-probability of each token of the current list, 0 for text that was not sampled."""
        return self.pieces[-1].logprobs

    def begin(self, messages: Sequence[Message]) -> None:
        """Start a list with the first messages, up to where the model answers."""
        self.pieces.append(TokenPiece())
        self._mark = (0, hash(()))
        self._append(self._model.template.begin(messages))
        self._replied = False

    def add_environment(self, messages: Sequence[Message]) -> None:
        """Append the new messages of a turn; with history "none", start a new list with them.

        Args:
            messages: with history "full" those since the last reply, otherwise all that the model reads.
        """
        if not self._replied or not self.pieces:
            raise OptionError(
                "a turn was added before the reply to the last one; call begin, add_reply, add_environment in this order"
            )
        if self._history == "none":
            return self.begin(messages)
        last = self.ids[-1]
        self._append(self._model.template.following(messages, last if last in self._model.ends else None))
        self._replied = False
        return None

    def add_reply(self, generation: Generation, verdict: ReplySpans) -> None:
        """Append a sampled reply; `verdict` is of the text `LanguageModel.decode(generation.ids)`."""
        if self._replied:
            raise OptionError("a reply without a turn before it; call begin or add_environment first")
        self._check()
        self._turn += 1
        text, offsets = self._model.decode_with_offsets(generation.ids)
        piece = self.pieces[-1]
        piece.ids += generation.ids
        piece.spans += token_spans(offsets, verdict, len(text)).tolist()
        piece.turns += [self._turn] * len(generation.ids)
        piece.logprobs += generation.logprobs
        self._mark, self._replied = (len(piece.ids), hash(tuple(piece.ids))), True

    def _append(self, ids: list[int]) -> None:
        self._check()
        piece = self.pieces[-1]
        piece.ids += ids
        piece.spans += [PROMPT] * len(ids)
        piece.turns += [self._turn] * len(ids)
        piece.logprobs += [0.0] * len(ids)
        self._mark = (len(piece.ids), hash(tuple(piece.ids)))

    def _check(self) -> None:
        """The tokens up to the last turn are still those that were there."""
        length, wanted = self._mark
        if len(self.ids) != length or hash(tuple(self.ids)) != wanted:
            raise ConformanceError(
                f"tokens of an episode were changed before turn {self._turn + 1}; copy `ids` before editing them"
            )
