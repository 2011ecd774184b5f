"""What is known of a batch's tokens before the update: log-probabilities, advantages and returns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludory.algorithms import Advantages

from .advantages import bilevel_gae, bilevel_gae_ragen, group_advantages, token_gae, turn_group_advantages
from .batch import TokenBatch
from .config import TextPPOConfig
from .loss import TokenOutputs


class BatchTargets(NamedTuple):
    """What is known of all tokens of a batch before the update, (N,) each, on the CPU."""

    decided: Tensor
    advantages: Tensor
    returns: Tensor
    old: TokenOutputs
    reference: Tensor | None
    importance: Tensor | None


def batch_advantages(
    config: TextPPOConfig,
    batch: TokenBatch,
    scores: Tensor,
    old: TokenOutputs,
    decided: Tensor,
    reference: Tensor | None,
) -> Advantages:
    """Advantages and returns (N,) of all tokens, by the estimator that `config.advantage` names.

    Args:
        config: options of the training.
        batch: episodes, N tokens.
        scores: (E,) what the episodes are worth, normalised.
        old: of the network that played.
        decided: (N,) tokens that are learnt from.
        reference: (N,) log-probabilities of the reference, whose KL is part of the reward with `kl_in="reward"`.
    """
    groups = torch.from_numpy(batch.groups)
    if not config.has_critic:
        episode = torch.from_numpy(batch.token_episode)
        if config.advantage == "turn_grpo":
            rewards, played = _turns_of(batch)
            of_turns = turn_group_advantages(rewards, played, groups)
            # tokens of the environment have turn -1
            found = of_turns[torch.from_numpy(batch.turns).clamp(min=0), episode]
        else:
            found = group_advantages(scores, groups, config.advantage)[episode]  # type: ignore[arg-type]  # one of these
        found = torch.where(decided, found, 0)
        return Advantages(found, torch.zeros_like(found))
    rewards = torch.from_numpy(batch.token_rewards(config.reward_at, scores.numpy()))
    if reference is not None and config.kl_in == "reward":
        rewards = rewards - config.kl * torch.where(decided, (old.log_probs - reference).double(), 0)
    assert old.values is not None
    # tokens of an episode side by side: in text an episode may be several lists
    columns, place = batch.columns(rewards, old.values.double(), decided)
    traces = {"gamma": config.gamma, "lam": config.lam}
    if config.advantage == "gae":
        of_columns = token_gae(columns, **traces)
    else:
        form = bilevel_gae if config.advantage == "bilevel" else bilevel_gae_ragen
        of_columns = form(columns, gamma_turn=config.gamma_turn, lam_turn=config.lam_turn, **traces)
    return Advantages(*(part[place] for part in of_columns))


def _turns_of(batch: TokenBatch) -> tuple[Tensor, Tensor]:
    """Rewards [K, E] of turns, the score's rest on the last one, and which turns were played."""
    count = np.zeros(batch.num_episodes, np.int64)
    # unbuffered, since many tokens have the same episode
    np.maximum.at(count, batch.token_episode, batch.turns + 1)
    rewards = batch.turn_rewards.T.copy()
    played = np.arange(len(rewards))[:, None] < count
    rest = batch.scores - np.where(played, rewards, 0).sum(0)
    rewards[np.maximum(count - 1, 0), np.arange(len(count))] += rest
    return torch.from_numpy(rewards), torch.from_numpy(played)


def explained_variance(values: Tensor, returns: Tensor) -> float:
    """Share of the returns' variance that the values explain; 0 if the returns are all equal."""
    spread = float(returns.double().var(correction=0)) if len(returns) else 0.0
    return 1 - float((returns - values).double().var(correction=0)) / spread if spread > 0 else 0.0
