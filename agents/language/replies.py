"""Who replies to prompts in words: a model in this process, or a server (`endpoint.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from .extras import Backend
from .generators import Sampling, make_generator
from .model import LanguageModel

Messages = list[dict[str, str]]
"""A prompt: messages with `role` and `content`."""


class Replies(Protocol):
    """Replies to prompts; that of a prompt depends on it and on its seed, not on the others."""

    def opened(self, messages: Messages) -> bool:
        """Whether the reply to such a prompt begins inside its thought."""

    def answer(self, prompts: Sequence[Messages], seeds: Sequence[int]) -> list[str]:
        """One reply per prompt."""

    def counts(self) -> Mapping[str, float]:
        """What was spent so far, by name."""


class ModelReplies:
    """Replies of a model in this process.

    Args:
        model: to ask.
        sampling: how replies are drawn.
        backend: see `make_generator`.
    """

    def __init__(self, model: LanguageModel, sampling: Sampling, backend: Backend = "auto") -> None:
        sampling.check()
        self._model, self._sampling, self._generator = model, sampling, make_generator(model, backend)

    def opened(self, messages: Messages) -> bool:
        """Whether the template opens the thought, as those of some models do for every reply."""
        return self._model.template.text(messages).rstrip().endswith("<think>")

    def answer(self, prompts: Sequence[Messages], seeds: Sequence[int]) -> list[str]:
        """One reply per prompt."""
        ids = [self._model.template.begin(messages) for messages in prompts]
        return [self._model.decode(one.ids) for one in self._generator.generate(ids, self._sampling, list(seeds))]

    def counts(self) -> Mapping[str, float]:
        """Nothing is paid for."""
        return {}
