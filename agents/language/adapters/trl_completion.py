"""The tokens of an episode as TRL wants them: a prompt, and a completion with the game's texts between the replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ludory.agents.language.episode import TokenEpisode
from ludory.agents.language.generators import Generation
from ludory.agents.language.model import LanguageModel
from ludory.agents.language.templates import Message
from ludory.envs import TextEnv

T = TypeVar("T")


class Completion:
    """The tokens of one episode, at most `limit` behind its prompt."""

    def __init__(self, model: LanguageModel, limit: int) -> None:
        self.episode, self.start, self._limit, self._context = TokenEpisode(model), 0, limit, model.longest
        self.score: float | None = None
        """None: the episode goes on."""
        self.reply = Generation([], [], "end")
        """The last one."""

    def begin(self, messages: Sequence[Message]) -> None:
        """Start with the prompt."""
        self.episode.begin(messages)
        self.start = len(self.episode.ids)

    def take(self, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        """Take a sampled reply, cut at the limit."""
        left = self._limit - (len(self.episode.ids) - self.start)
        self.reply = Generation(list(ids)[:left], list(logprobs)[:left], "end")

    def kept(self, values: list[T]) -> list[T]:
        """What belongs to the completion, of values for all tokens."""
        return values[self.start : self.start + self._limit]

    @property
    def full(self) -> bool:
        """There is no room for another reply."""
        length = len(self.episode.ids)
        return length - self.start >= self._limit or (
            self._context is not None and length + self._limit > self._context
        )


def step(env: TextEnv, own: list[Completion], model: LanguageModel) -> None:
    """Give the replies to the rows of an environment that go on."""
    if not len(env.running):
        return
    open_rows = {row for row in env.running.tolist() if own[row].score is None}
    # a row that is over its limit has its score already; empty replies bring it to its end
    texts = [model.decode(own[row].reply.ids) if row in open_rows else "" for row in env.running.tolist()]
    turns = {turn.row: turn for turn in env.step(texts)}
    for row in open_rows:
        own[row].episode.add_reply(own[row].reply, env.records[row][-1].verdict)
        if row in turns:
            own[row].episode.add_environment(turns[row].messages[-1:])
        if row not in turns or own[row].full:
            own[row].score = float(env.scores[row])
