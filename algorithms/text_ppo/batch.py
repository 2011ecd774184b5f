"""`TokenBatch`: episodes in tokens, flat, with what each token is and what each turn was paid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.agents.language.episode import TokenEpisode
from ludory.envs.text.text_env import TextEnv

from .advantages import TokenColumns

PROMPT = 0
"""Kind of a token that the model did not write, as in `ludory.agents.language.spans`."""


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """E episodes in S lists of tokens, N tokens in all.

    An episode is one list, or one list per turn where the history is not kept. The lists of an episode stand together and in order.
    """

    ids: NDArray[np.int64]
    """(N,)."""
    spans: NDArray[np.int8]
    """(N,): kind of each token; 0: prompt or environment."""
    turns: NDArray[np.int64]
    """(N,): turn of each token in its episode; before the first reply -1."""
    sampler_log_probs: NDArray[np.float32]
    """(N,): of the sampler, 0 where nothing was sampled."""
    starts: NDArray[np.int64]
    """(S + 1,): list s has the tokens starts[s] to starts[s + 1]."""
    episode: NDArray[np.int64]
    """(S,): episode of each list, ascending."""
    groups: NDArray[np.int64]
    """(E,): episodes of a group played in the same room."""
    scores: NDArray[np.float64]
    """(E,): what each episode is worth."""
    turn_rewards: NDArray[np.float64]
    """(E, K): what learners see of every turn, 0 behind the last."""
    success: NDArray[np.bool_]
    """(E,)."""
    room_hashes: NDArray[np.uint64]
    """(E,)."""
    records: Sequence[Sequence[Any]] = ()
    """`TurnRecord`s of every episode, if they were kept."""

    @property
    def num_episodes(self) -> int:
        """E."""
        return len(self.groups)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(S,): number of tokens of each list."""
        return np.diff(self.starts)

    @property
    def token_list(self) -> NDArray[np.int64]:
        """(N,): the list of each token."""
        return np.repeat(np.arange(len(self.episode)), self.lengths)

    @property
    def token_episode(self) -> NDArray[np.int64]:
        """(N,): the episode of each token."""
        return np.repeat(self.episode, self.lengths)

    @property
    def sampled(self) -> NDArray[np.bool_]:
        """(N,): the tokens that the model wrote."""
        return np.not_equal(self.spans, PROMPT)

    def decided(self, response_mask: bool = True) -> NDArray[np.bool_]:
        """(N,): the tokens to learn from: sampled ones; without the mask also the environment's, after the first reply of a list."""
        if response_mask:
            return self.sampled
        seen = np.cumsum(self.sampled)
        before = np.concatenate([[0], seen])[self.starts[:-1]]
        return seen > np.repeat(before, self.lengths)

    def select(self, episodes: NDArray[np.bool_]) -> TokenBatch:
        """The episodes where `episodes` (E,) is True; groups keep their numbers."""
        lists = episodes[self.episode]
        tokens = np.repeat(lists, self.lengths)
        kept = np.flatnonzero(episodes)
        number = np.cumsum(episodes) - 1
        return TokenBatch(
            self.ids[tokens],
            self.spans[tokens],
            self.turns[tokens],
            self.sampler_log_probs[tokens],
            np.concatenate([[0], np.cumsum(self.lengths[lists])]),
            number[self.episode[lists]],
            self.groups[kept],
            self.scores[kept],
            self.turn_rewards[kept],
            self.success[kept],
            self.room_hashes[kept],
            [self.records[k] for k in kept.tolist()] if len(self.records) else (),
        )

    def token_rewards(self, reward_at: str, scores: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """(N,): rewards on tokens.

        Args:
            reward_at: "turn": each turn's reward on its last sampled token; what the score has beyond their sum is on the last one.
                "episode": the score on the last sampled token.
            scores: (E,); None: `scores`.
        """
        scores = self.scores if scores is None else scores
        rewards = np.zeros(len(self.ids))
        wrote = np.flatnonzero(self.sampled)
        of = self.token_episode[wrote]
        if not len(wrote):
            return rewards
        ends = np.append(of[1:] != of[:-1], True)
        episodes, last = of[ends], wrote[ends]
        if reward_at == "episode":
            rewards[last] = scores[episodes]
            return rewards
        turn_ends = ends | np.append(self.turns[wrote][1:] != self.turns[wrote][:-1], True)
        at = of[turn_ends], self.turns[wrote][turn_ends]
        rewards[wrote[turn_ends]] = self.turn_rewards[at]
        paid = np.bincount(at[0], weights=self.turn_rewards[at], minlength=self.num_episodes)
        rewards[last] += (scores - paid)[episodes]  # penalties of the episode, and turns without a token
        return rewards

    def columns(self, rewards: Tensor, values: Tensor, decided: Tensor) -> tuple[TokenColumns, tuple[Tensor, Tensor]]:
        """Episodes side by side.

        Args:
            rewards: (N,).
            values: (N,).
            decided: (N,) bool.

        Returns:
            Columns [T, E], and the place (row, column) of each of the N tokens in them.
        """
        column = torch.from_numpy(self.token_episode).to(rewards.device)
        counts = torch.bincount(column, minlength=self.num_episodes)
        row = torch.arange(len(self.ids), device=rewards.device) - (counts.cumsum(0) - counts)[column]
        shape = (int(counts.max()) if len(counts) else 0, self.num_episodes)

        def spread(part: Tensor) -> Tensor:
            full = part.new_zeros(shape)
            full[row, column] = part
            return full

        turns = torch.from_numpy(self.turns).to(rewards.device)
        parts = (rewards, values, turns, decided, torch.ones_like(decided))
        return TokenColumns(*map(spread, parts)), (row, column)

    def minibatches(self, count: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        """Lists (indices) of the episodes of each of `count` minibatches; the episodes of all of them are all episodes, in random order."""
        order = rng.permutation(self.num_episodes)
        for part in np.array_split(order, min(count, len(order))):
            yield np.flatnonzero(np.isin(self.episode, part))

    def packs(self, lists: NDArray[np.int64], tokens_at_once: int) -> Iterator[NDArray[np.int64]]:
        """`lists` in parts of about equal lengths, at most `tokens_at_once` tokens with padding, or a single list."""
        lengths = self.lengths[lists]
        order = lists[np.argsort(-lengths, kind="stable")]
        at = 0
        while at < len(order):
            number = max(1, tokens_at_once // int(max(1, self.starts[order[at] + 1] - self.starts[order[at]])))
            yield order[at : at + number]
            at += number

    def padded(self, lists: NDArray[np.int64], pad: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ids (b, L) of some lists, padded on the right, and the number of each token in the batch, -1 on padding."""
        lengths = self.lengths[lists]
        place = np.arange(int(lengths.max()))
        numbers = np.where(place < lengths[:, None], self.starts[lists][:, None] + place, -1)
        return np.where(numbers >= 0, self.ids[numbers], pad), numbers


def batch_of_episodes(episodes: Sequence[TokenEpisode], env: TextEnv, keep_records: bool = True) -> TokenBatch:
    """Join the `TokenEpisode`s of a finished `TextEnv`, which may play on afterwards.

    Args:
        episodes: one per row of `env`.
        env: `TextEnv` whose episodes are all over.
        keep_records: keep its records.
    """
    pieces = [(row, piece) for row, episode in enumerate(episodes) for piece in episode.pieces]

    def joined(name: str, dtype: Any) -> NDArray[Any]:
        parts = [np.asarray(getattr(piece, name), dtype) for _, piece in pieces]
        return np.concatenate(parts) if parts else np.empty(0, dtype)

    rewards = np.zeros((len(episodes), max((len(turns) for turns in env.records), default=0)))
    for row, turns in enumerate(env.records):
        rewards[row, : len(turns)] = [record.reward for record in turns]
    lengths = [len(piece.ids) for _, piece in pieces]
    return TokenBatch(
        joined("ids", np.int64),
        joined("spans", np.int8),
        joined("turns", np.int64),
        joined("logprobs", np.float32),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array([row for row, _ in pieces], np.int64),
        np.array(env.group, np.int64),
        np.array(env.scores, np.float64),
        rewards,
        np.array(env.success, bool),
        np.array(env.room_hashes, np.uint64),
        [list(turns) for turns in env.records] if keep_records else (),
    )


def joined(parts: Sequence[TokenBatch]) -> TokenBatch:
    """One batch of the episodes of several, in their order; the groups of each part are numbered after those of the parts before it."""
    first, *more = parts
    if not more:
        return first

    def concatenated(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    def after(sizes: Sequence[int]) -> list[int]:
        return [0, *np.cumsum(sizes)[:-1].tolist()]

    turns = max(part.turn_rewards.shape[1] for part in parts)
    tokens = after([len(part.ids) for part in parts])
    episodes = after([part.num_episodes for part in parts])
    groups = after([int(part.groups.max()) + 1 for part in parts])
    return TokenBatch(
        concatenated("ids"),
        concatenated("spans"),
        concatenated("turns"),
        concatenated("sampler_log_probs"),
        np.concatenate([[0], *(start + part.starts[1:] for start, part in zip(tokens, parts, strict=True))]),
        np.concatenate([start + part.episode for start, part in zip(episodes, parts, strict=True)]),
        np.concatenate([start + part.groups for start, part in zip(groups, parts, strict=True)]),
        concatenated("scores"),
        np.concatenate(
            [np.pad(part.turn_rewards, ((0, 0), (0, turns - part.turn_rewards.shape[1]))) for part in parts]
        ),
        concatenated("success"),
        concatenated("room_hashes"),
        [turns for part in parts for turns in part.records],
    )
