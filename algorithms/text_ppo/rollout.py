"""`collect`: a language model plays the episodes of a `TextEnv`, and what it read and wrote becomes a `TokenBatch`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents.language.episode import TokenEpisode
from ludory.agents.language.generators import Generator, Sampling
from ludory.agents.language.model import LanguageModel
from ludory.envs.text.text_env import TextEnv

from .batch import TokenBatch, batch_of_episodes


def collect(
    model: LanguageModel,
    generator: Generator,
    env: TextEnv,
    sampling: Sampling,
    seed: int,
    *,
    env_seed: int | None = None,
    first_row: int = 0,
    keep_records: bool = True,
) -> TokenBatch:
    """Play all episodes of an environment once.

    Replies depend on the weights, the prompts and `seed`, not on the size of the batch. Every running episode gets its reply in the same
    call of the generator, which reads equal prompts, as those of a group in its first turn, only once.

    Args:
        model: tokenizer and template.
        generator: samples with the model's weights.
        env: a `TextEnv`.
        sampling: how tokens are drawn.
        seed: of the draws.
        env_seed: passed to `env.reset`.
        first_row: number of the first episode in a larger batch, of which these are the draws.
        keep_records: keep `TextEnv.records` in the batch.

    Raises:
        OptionError: a prompt is longer than the model reads.
    """
    turns = env.reset(env_seed) if env_seed is not None else env.reset()
    history: Any = "full" if env.preset.history == "full" else "none"
    episodes = [TokenEpisode(model, history) for _ in range(len(env.group))]
    for turn in turns:
        episodes[turn.row].begin(turn.messages)
    while turns:
        rows = [turn.row for turn in turns]
        seeds = reply_seeds(seed, first_row + np.array(rows), np.array([turn.turn for turn in turns]))
        replies = generator.generate([episodes[row].ids for row in rows], sampling, seeds.tolist())
        turns = env.step([model.decode(reply.ids) for reply in replies])
        for row, reply in zip(rows, replies, strict=True):
            episodes[row].add_reply(reply, env.records[row][-1].verdict)
        for turn in turns:
            new = turn.messages[-1:] if history == "full" else turn.messages
            episodes[turn.row].add_environment(new)
    return batch_of_episodes(episodes, env, keep_records)


def reply_seeds(seed: int, rows: NDArray[np.int64], turns: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,): a seed for the reply of each row in each turn, well mixed, so that neighbouring rows do not draw alike."""
    mixed = np.full(len(rows), seed % 2**64, np.uint64)
    with np.errstate(over="ignore"):
        for part in (np.zeros_like(rows), rows, turns):  # the seed alone first, so that seed + row does not decide
            mixed = _mix(mixed + np.uint64(0x9E3779B97F4A7C15) + part.astype(np.uint64))
    return (mixed >> np.uint64(1)).astype(np.int64)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (doi:10.1145/2714064.2660195)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
