"""`Rollout`: what a sampler returns to a learner, T decisions of B lanes, time-major."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludory.agents.networks.layers.packed_linear import unpack
from ludory.algorithms.losses.returns import Advantages, Steps, close_holes, gae, join_holes


class Rollout(NamedTuple):
    """T decisions of B columns. Bits stay bits until a minibatch is used."""

    observations: Tensor  # [T, B, bytes] uint8 bits, or [T, B, size] float32
    masks: Tensor  # [T, B, ceil(A / 8)] uint8 bits
    actions: Tensor  # [T, B, H] int64
    log_probs: Tensor  # [T, B, H] float32, of the behaviour policy
    values: Tensor  # [T, B] float32
    next_values: Tensor  # [T, B] float32, of the true successor
    rewards: Tensor  # [T, B] float32
    terminated: Tensor  # [T, B] bool
    truncated: Tensor  # [T, B] bool
    seats: Tensor  # [T, B] int64, the seat that decided
    starts: Tensor  # [T, B] bool, the seat's first row of its game
    valid: Tensor | None = None  # [T, B] bool, False on padding; None: all are decisions
    memory: Tensor | None = None  # (B, size) at the start, or (B, P, size) where a column holds several seats
    teacher_logits: Tensor | None = None  # [T, B, A]
    used: Tensor | None = None  # [T, B, H] bool, heads whose value mattered; None: all did
    critic: Tensor | None = None  # [T, B, bytes] uint8 bits or [T, B, size] float32, what a privileged value saw
    previous: Tensor | None = None  # [T, B, P] int64, last move of each seat, the deciding one first
    decided: Tensor | None = None  # [T, B] bool, False where the seat waited; None: every valid row is a decision

    def steps(self) -> Steps:
        """The input of the functions in `returns`; `close_holes` joins the decisions of seats that wait."""
        return Steps(self.rewards, self.values, self.next_values, self.terminated, self.truncated, self.valid)

    def gae(self, *, gamma: float, lam: float, discount_per: str = "decision") -> Advantages:
        """Advantages and returns [T, B] by `returns.gae`, with holes closed by `returns.close_holes`."""
        steps, index = close_holes(self.steps(), self.decided, gamma=gamma, discount_per=discount_per)
        return Advantages(*map(index.scatter, gae(steps, gamma=index.gamma, lam=lam)))

    @property
    def learnt(self) -> Tensor | None:
        """[T, B] bool, the rows to learn from: valid ones in which the seat decided; None: all."""
        return acting_rows(self.valid, self.decided)

    def faults(self) -> dict[str, float]:
        """Metrics where seats wait: `unclaimed_rewards` points to a fault of the game."""
        return {} if self.decided is None else {"rollout/unclaimed_rewards": float(self.unclaimed_rewards())}

    def unclaimed_rewards(self) -> int:
        """Number of rewards other than 0 before a seat's first decision of a game, which no decision receives."""
        if self.decided is None:
            return 0
        valid = torch.ones_like(self.decided) if self.valid is None else self.valid
        waits, ended = valid & ~self.decided, self.terminated | self.truncated
        begins = self.starts | torch.cat([torch.zeros_like(ended[:1]), ended[:-1]])
        row = torch.arange(len(waits), device=waits.device).unsqueeze(1).expand_as(waits)
        # A column that begins inside a game may belong to a decision of the rollout before.
        decision = torch.where((valid & self.decided) | ((row == 0) & ~begins), row, -1).cummax(0).values
        beginning = torch.where(begins, row, -1).cummax(0).values
        return int((waits & (self.rewards != 0) & (decision < beginning)).sum())


def acting_rows(valid: Tensor | None, decided: Tensor | None) -> Tensor | None:
    """Valid rows in which the seat decided, each None where it holds for all rows; None: all rows."""
    if valid is None or decided is None:
        return decided if valid is None else valid
    return valid & decided


def pack_bits(mask: Tensor) -> Tensor:
    """Bits (n, ceil(A / 8)) of a bool mask (n, A), big-endian as `numpy.packbits` has them."""
    if mask.device.type == "cpu":
        return torch.from_numpy(np.packbits(mask.numpy(), axis=1))
    padded = torch.nn.functional.pad(mask, (0, -mask.shape[1] % 8)).unflatten(1, (-1, 8))
    weights = torch.tensor([128, 64, 32, 16, 8, 4, 2, 1], device=mask.device)
    packed: Tensor = (padded * weights).sum(-1).to(torch.uint8)
    return packed


class Minibatch(NamedTuple):
    """m decisions in any order, or sequences [L, S]."""

    observations: Tensor  # [..., bytes] or [..., size]
    masks: Tensor  # [..., A] bool
    actions: Tensor  # [..., H]
    log_probs: Tensor  # [..., H]
    values: Tensor  # [...]
    advantages: Tensor  # [...]
    returns: Tensor  # [...]


def minibatches(
    rollout: Rollout, advantages: Tensor, returns: Tensor, num_actions: int, size: int, generator: torch.Generator
) -> Iterator[Minibatch]:
    """All decisions once, shuffled, in batches of `size` (the last one may be smaller)."""
    flat, learnt = [part.flatten(0, 1) for part in (*rollout[:5], advantages, returns)], rollout.learnt
    if learnt is not None:
        flat = [part[learnt.flatten()] for part in flat]
    for rows in torch.randperm(len(flat[0]), generator=generator, device=flat[0].device).split(size):
        observations, masks, *rest = (part[rows] for part in flat)
        yield Minibatch(observations, unpack(masks, num_actions).bool(), *rest)


class SeatIndex(NamedTuple):
    """Where the decisions of every (column, seat) lie in [T, B]; column = column * P + seat."""

    rows: Tensor  # [L, B * P] int64, t * B + b; 0 on padding
    valid: Tensor  # [L, B * P] bool

    def gather(self, part: Tensor) -> Tensor:
        """[L, B * P, ...] of [T, B, ...]; padding holds the first row."""
        return part.flatten(0, 1)[self.rows]


def seat_index(seats: Tensor, players: int) -> SeatIndex:
    """The decisions [T, B] of columns in which seats take turns, seat by seat."""
    columns = seats.shape[1]
    mine = seats.unsqueeze(-1) == torch.arange(players, device=seats.device)  # [T, B, P]
    rank = mine.cumsum(0) - 1
    longest = int(rank[-1].max()) + 1
    if seats.is_cuda:
        longest += -longest % 8  # few lengths, so that a compiled network is compiled few times
    rows = torch.zeros(longest, columns, players, dtype=torch.int64, device=seats.device)
    valid = torch.zeros(longest, columns, players, dtype=torch.bool, device=seats.device)
    t, b, s = mine.nonzero(as_tuple=True)
    at = rank[t, b, s]
    rows[at, b, s], valid[at, b, s] = t * columns + b, True
    return SeatIndex(rows.flatten(1), valid.flatten(1))


def by_seat(rollout: Rollout, players: int, *others: Tensor) -> tuple[Rollout, list[Tensor]]:
    """One column per (column, seat) that decided, for networks with memory; `others` [T, B] are arranged alike.

    Rewards, values and ends are those of the decisions' rows: compute returns before.
    """
    index = seat_index(rollout.seats, players)
    keep = index.valid.any(0)
    index = SeatIndex(index.rows[:, keep], index.valid[:, keep])
    memory = None if rollout.memory is None else rollout.memory.flatten(0, 1)[keep]
    arranged = _gathered(rollout, index)._replace(valid=index.valid, memory=memory)
    return arranged, [index.gather(part) for part in others]


def _gathered(rollout: Rollout, index: SeatIndex) -> Rollout:
    """The columns of each decision, seat by seat; without `valid` and `memory`."""
    parts = rollout._replace(valid=None, memory=None)
    return Rollout(*(None if part is None else index.gather(part) for part in parts))  # type: ignore[arg-type]


def own_rewards(rollout: Rollout, rewards: Tensor, cut_values: Tensor, players: int) -> Rollout:
    """One column per (column, seat) of a game in which every seat has its own reward.

    A decision's reward is the sum of its seat's rewards up to its next decision; it is terminated (or truncated) if the game ends
    before that. A seat's last decision of a column, whose successor is not known yet, is not `valid`: it only provides the value
    for its predecessor.

    Args:
        rollout: `rewards`, `next_values` are not read.
        rewards: [T, B, P] of every move.
        cut_values: [T, B, P] value of the final observation for every seat where truncated.
        players: P.
    """
    mine = rollout.seats.unsqueeze(-1) == torch.arange(players, device=rewards.device)

    def of_all(part: Tensor) -> Tensor:  # [T, B] -> [T, B * P]
        return part.repeat_interleave(players, 1)

    cut = rollout.truncated & ~rollout.terminated
    steps = Steps(
        rewards.flatten(1).float(),
        of_all(rollout.values),
        cut_values.flatten(1),
        of_all(rollout.terminated),
        of_all(cut),
    )
    # While others move, a seat waits.
    joined, _ = join_holes(steps, mine.flatten(1))
    index = seat_index(rollout.seats, players)

    def of_seat(part: Tensor) -> Tensor:  # [T, B * P] -> [L, B * P], each column its seat's
        column = torch.arange(index.rows.shape[1], device=part.device)
        return part[index.rows // rollout.seats.shape[1], column]

    terminated, truncated = of_seat(joined.terminated), of_seat(joined.truncated)
    values = index.gather(rollout.values)
    following = torch.cat([values[1:], values[-1:]])
    followed = torch.cat([index.valid[1:], torch.zeros_like(index.valid[:1])]) | terminated | truncated
    return _gathered(rollout, index)._replace(
        next_values=torch.where(truncated, of_seat(joined.next_values), following),
        rewards=of_seat(joined.rewards),
        terminated=terminated,
        truncated=truncated,
        valid=index.valid & followed,
        memory=None if rollout.memory is None else rollout.memory.flatten(0, 1),
    )
