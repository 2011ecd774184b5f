"""Advantages of tokens: GAE over what the model wrote, GAE on two levels, and the baselines of groups (GRPO and its relatives).

A token sequence is a column of `ludory.algorithms.losses.returns`; text that the model did not write is a hole in it. Returns run from
one sampled token to the next: a hole neither discounts nor ends the trace.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from ludory.algorithms import Advantages, Steps, gae
from ludory.algorithms.losses.returns import ClosedIndex, affine_scan, close_holes

GroupBaseline = Literal["grpo", "dr_grpo", "rloo"]
GROUP_BASELINES: tuple[str, ...] = get_args(GroupBaseline)
EPSILON = 1e-6
"""Added to standard deviations of groups."""


class TokenColumns(NamedTuple):
    """Episodes side by side, [T, B] tokens of B episodes, in the order in which they were written and read."""

    rewards: Tensor
    """float; the reward of a turn lies on its last token."""
    values: Tensor
    """float, V of the state in which the token is chosen."""
    turns: Tensor
    """int64, the turn that a token belongs to; never falls within an episode."""
    decided: Tensor
    """bool, the tokens to learn from: those that the model sampled."""
    valid: Tensor
    """bool, False on the padding after the end of an episode."""

    def steps(self) -> Steps:
        """Steps of `returns`: every token is a row, and the last one of an episode ends it."""
        following = torch.cat([self.valid[1:], torch.zeros_like(self.valid[:1])])
        after = torch.cat([self.values[1:], torch.zeros_like(self.values[:1])])
        last = self.valid & ~following
        return Steps(self.rewards, self.values, after, last, torch.zeros_like(last), self.valid)


class _Closed(NamedTuple):
    """Columns of sampled tokens alone, and the numbers of their turns."""

    steps: Steps
    closing: ClosedIndex
    turn: Tensor  # [T, B] int64: 0 for the first turn with a sampled token, 1 for the next one, ...
    last: Tensor  # [T, B] bool: last token of its turn
    played: Tensor  # [B] int64: number of turns with a sampled token


def token_gae(columns: TokenColumns, *, gamma: float = 1.0, lam: float = 1.0) -> Advantages:
    """GAE over the decided tokens; elsewhere advantages are 0 and returns equal the values.

    Raises:
        ValueError: as `ludory.algorithms.losses.returns.gae`.
    """
    steps, index = close_holes(columns.steps(), columns.decided, gamma=gamma)
    found = gae(steps, gamma=gamma, lam=lam)
    return Advantages(*(index.scatter(part) for part in found))


def bilevel_gae(
    columns: TokenColumns,
    *,
    gamma_turn: float = 0.95,
    lam_turn: float = 1.0,
    gamma: float = 1.0,
    lam: float = 1.0,
) -> Advantages:
    """GAE over turns, and within each turn over tokens (arXiv:2510.16907).

    V_k is the value of the first token of turn k, and A_k = R_k + gamma_turn V_{k+1} - V_k + gamma_turn lam_turn A_{k+1}. Within turn k
    tokens have no reward, and the last one has the advantage A_k.

    Raises:
        ValueError: as `ludory.algorithms.losses.returns.gae`.
    """
    closed = _closed(columns)
    steps = closed.steps
    assert steps.valid is not None
    first = torch.cat([steps.valid[:1], closed.last[:-1] & steps.valid[1:]])
    of_turns = _turn_advantages(closed, first, gamma_turn, lam_turn)
    delta = gamma * steps.next_values - steps.values
    return _within_turns(closed, delta, of_turns, gamma * lam)


def bilevel_gae_ragen(
    columns: TokenColumns, *, gamma_turn: float = 0.95, lam_turn: float = 1.0, gamma: float = 1.0, lam: float = 1.0
) -> Advantages:
    """As `bilevel_gae` in the form of RAGEN: V_k is the value of the last token of turn k, and the inner GAE is paid the turn's return there.

    Raises:
        ValueError: as `ludory.algorithms.losses.returns.gae`.
    """
    closed = _closed(columns)
    of_turns = _turn_advantages(closed, closed.last, gamma_turn, lam_turn)
    # The last token's delta is the turn's return minus its own value, which is the turn's advantage again.
    delta = gamma * closed.steps.next_values - closed.steps.values
    return _within_turns(closed, delta, of_turns, gamma * lam)


def group_advantages(scores: Tensor, groups: Tensor, kind: GroupBaseline) -> Tensor:
    """What each score exceeds its group by.

    Args:
        scores: [B] float, such as the return of every episode.
        groups: [B] int64.
        kind: "grpo": minus the group's mean, divided by its sample standard deviation + 1e-6 (arXiv:2402.03300); "dr_grpo": minus the
            mean (arXiv:2503.20783); "rloo": minus the mean of the other members (arXiv:2402.14740).

    Returns:
        [B]; 0 for the only member of a group.

    Raises:
        ValueError: an unknown kind.
    """
    if kind not in GROUP_BASELINES:
        raise ValueError(f"kind={kind!r}: must be one of {', '.join(GROUP_BASELINES)}")
    members, mean, std = group_moments(scores, groups)
    above = torch.where(members > 1, scores - mean, 0)
    if kind == "grpo":
        return above / (std + EPSILON)
    return above * members / (members - 1).clamp(min=1) if kind == "rloo" else above


def turn_group_advantages(turn_rewards: Tensor, played: Tensor, groups: Tensor, kind: GroupBaseline = "grpo") -> Tensor:
    """Group baselines of every turn: the reward to go, compared with that of the members that played this turn too.

    Args:
        turn_rewards: [K, B] float.
        played: [K, B] bool.
        groups: [B] int64.
        kind: as `group_advantages`.

    Returns:
        [K, B]; 0 where a turn was not played.
    """
    paid = torch.where(played, turn_rewards, 0)
    to_go = paid.flip(0).cumsum(0).flip(0)
    turn = torch.arange(len(played), device=played.device).unsqueeze(1).expand_as(played)
    crowd = groups * len(played) + turn  # one group per turn
    advantages = torch.zeros_like(to_go)
    advantages[played] = group_advantages(to_go[played], crowd[played], kind)
    return advantages


def group_moments(scores: Tensor, groups: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Number of members, mean, and sample standard deviation of every score's group, [B]; alone: standard deviation 0."""
    _, index = groups.unique(return_inverse=True)
    members = torch.bincount(index).to(scores.dtype)
    mean = torch.zeros_like(members).index_add(0, index, scores) / members
    squares = torch.zeros_like(members).index_add(0, index, (scores - mean[index]).square())
    std = (squares / (members - 1).clamp(min=1)).sqrt()
    return members[index], mean[index], std[index]


def normalised_scores(scores: Tensor, groups: Tensor, method: str, over: str) -> Tensor:
    """Scores of episodes on a common scale, before they become rewards.

    Args:
        scores: [B].
        groups: [B] int64.
        method: "identity"; "mean_std": mean 0 and standard deviation 1, and 0 where all are equal; "asym_clip": the same, cut to [-1, 3].
        over: "state": within each group; "batch": over all.

    Raises:
        ValueError: an unknown method or `over`.
    """
    if method not in ("identity", "mean_std", "asym_clip") or over not in ("state", "batch"):
        raise ValueError(
            f"method={method!r}, over={over!r}: method is identity, mean_std or asym_clip, over is state or batch"
        )
    if method == "identity":
        return scores
    _, mean, std = group_moments(scores, groups if over == "state" else torch.zeros_like(groups))
    scaled = torch.where(std > EPSILON, (scores - mean) / (std + EPSILON), 0)
    return scaled.clamp(-1, 3) if method == "asym_clip" else scaled


def _closed(columns: TokenColumns) -> _Closed:
    steps, index = close_holes(columns.steps(), columns.decided)
    valid = columns.valid & columns.decided if steps.valid is None else steps.valid
    turns = index.gather(columns.turns)
    changes = torch.ones_like(valid)
    changes[:-1] = ~valid[1:] | (turns[1:] != turns[:-1])
    last = valid & changes
    number = last.long().cumsum(0)
    return _Closed(steps._replace(valid=valid), index, (number - last.long()) * valid, last, number[-1])


def _turn_advantages(closed: _Closed, valued: Tensor, gamma: float, lam: float) -> Tensor:
    """[K, B]: GAE over turns; the value of a turn is that of its token that is `valued`."""
    steps = closed.steps
    assert steps.valid is not None
    longest = max(1, int(closed.played.max()))
    empty = steps.rewards.new_zeros(longest, steps.rewards.shape[1])
    rewards = empty.scatter_add(0, closed.turn, torch.where(steps.valid, steps.rewards, 0))
    values = empty.scatter_add(0, closed.turn, torch.where(valued, steps.values, 0))
    row = torch.arange(longest, device=empty.device).unsqueeze(1)
    played = row < closed.played
    ends = row == closed.played - 1
    after = torch.cat([values[1:], torch.zeros_like(values[:1])])
    turns = Steps(rewards, values, after, ends, torch.zeros_like(ends), played)
    return gae(turns, gamma=gamma, lam=lam).advantages


def _within_turns(closed: _Closed, delta: Tensor, of_turns: Tensor, pace: float) -> Advantages:
    """Trace `delta` from token to token within each turn; the last token has the turn's advantage."""
    steps = closed.steps
    assert steps.valid is not None
    inner = steps.valid & ~closed.last
    start = torch.where(closed.last, of_turns.gather(0, closed.turn), torch.where(inner, delta, 0))
    advantages = affine_scan(start, pace * inner.to(start.dtype))
    return Advantages(closed.closing.scatter(advantages), closed.closing.scatter(advantages + steps.values))
