"""`Decisions` and `Sequences`: recorded games as learners receive them, as torch tensors on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .checks import seat_order
from .columns import WEIGHT, Columns, game_starts

Arrays = tuple[NDArray[Any], ...]
"""The fields of `Decisions` as NumPy arrays; the first axis is the row."""

ALL_LEGAL = 255


class Decisions(NamedTuple):
    """m decisions with H heads, which have A values in total."""

    observations: Tensor
    """(m, bytes) uint8, bits in the order of `numpy.packbits`, or (m, size) float32."""
    masks: Tensor
    """(m, ceil(A / 8)) uint8, legal values as bits."""
    actions: Tensor
    """(m, H) int64"""
    log_probs: Tensor
    """(m, H) float32: log-probability of each head's value under the behaviour policy, NaN where unknown."""
    rewards: Tensor
    """(m,) float32, of the deciding seat from this decision to its next one or to the end of the game."""
    returns: Tensor
    """(m,) float32: undiscounted sum of the seat's rewards from here on."""
    terminated: Tensor
    """(m,) bool: this is the seat's last decision, and the game ended by its rules."""
    truncated: Tensor
    """(m,) bool: this is the seat's last decision, and the game was cut off."""
    seats: Tensor
    """(m,) int64"""
    games: Tensor
    """(m,) int64: id of the game."""
    steps: Tensor
    """(m,) int64: number of the move in the game."""
    weights: Tensor
    """(m,) float32: sample weight, 1 if none is stored."""
    extras: Tensor
    """(m, E) float32: the requested extra columns side by side, placed as in `TrajectoryDataset.layout`."""


class Sequences(NamedTuple):
    """S whole sequences, each of one seat in one game; shorter ones are padded at the end.

    In the padding all actions are legal (so that log-probabilities are finite), `games` and `seats` continue, and everything else is 0.
    """

    decisions: Decisions
    """Every field [L, S, ...]."""
    valid: Tensor
    """[L, S] bool"""


def decision_arrays(columns: Columns, players: int, extras: Sequence[str] = (), discount: float = 1.0) -> Arrays:
    """The columns of whole games in the order of the fields of `Decisions`, with returns and the named extra columns (m, size)."""
    weights, returns = columns.extras.get(WEIGHT.name), _returns(columns, players)
    return (
        columns.observations,
        columns.masks,
        columns.actions,
        columns.log_probs,
        columns.rewards,
        returns if discount == 1 else discounted(columns.games, columns.steps, returns, discount),
        columns.terminated,
        columns.truncated,
        columns.seats,
        columns.games,
        columns.steps,
        np.ones(len(columns.games), np.float32) if weights is None else weights,
        np.concatenate(
            [np.zeros((len(columns.games), 0), np.float32), *(columns.extras[name] for name in extras)], axis=1
        ),
    )


def discounted(
    games: NDArray[np.int64], steps: NDArray[np.int64], returns: NDArray[np.float32], discount: float
) -> NDArray[np.float32]:
    """Returns (m,) of shared rewards, in which a reward k moves later counts discount^k, from undiscounted returns (m,) of whole games."""
    found, last = np.empty(len(returns), np.float32), np.append(games[1:] != games[:-1], True)
    to_come = 0.0
    for row in reversed(range(len(returns))):
        if last[row]:
            to_come = float(returns[row])
        else:
            earned = float(returns[row]) - float(returns[row + 1])
            to_come = earned + discount ** int(steps[row + 1] - steps[row]) * to_come
        found[row] = to_come
    return found


def last_moves(columns: Columns, players: int, none: int) -> NDArray[np.int64]:
    """(m, P) the last action of every seat before each decision of whole games; `none` stands for no action yet."""
    rows = np.arange(len(columns.games))
    first = game_starts(columns.games)[game_numbers(columns.games)]
    moves = np.full((len(rows), players), none, np.int64)
    for seat in range(players):
        latest = np.maximum.accumulate(np.where(columns.seats == seat, rows, -1))
        before = np.append(-1, latest[:-1])
        known = before >= first
        moves[known, seat] = columns.actions[before[known], 0]
    return moves


def game_numbers(games: NDArray[np.int64]) -> NDArray[np.int64]:
    """(m,) number of each row's game, counted in the order of `games`."""
    starts = game_starts(games)
    return np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(games))))


def _returns(columns: Columns, players: int) -> NDArray[np.float32]:
    """Rewards summed from each decision to the end of its sequence."""
    order, first = seat_order(columns, players, game_numbers(columns.games))
    to_come = np.cumsum(columns.rewards[order][::-1].astype(np.float64))[::-1]  # over all sequences that follow, too
    starts = np.flatnonzero(first)
    behind = np.append(to_come, 0)[np.append(starts[1:], len(order))]
    returns = np.empty(len(order), np.float32)
    returns[order] = to_come - np.repeat(behind, np.diff(np.append(starts, len(order))))
    return returns


def as_decisions(arrays: Arrays) -> Decisions:
    """Arrays as tensors that share memory with them."""
    return Decisions(*map(torch.from_numpy, arrays))


def as_sequences(arrays: Arrays, players: int) -> Sequences:
    """Whole games with consecutive rows as padded sequences, ordered by game as given, then by seat."""
    fields = Decisions._fields
    games, seats = arrays[fields.index("games")], arrays[fields.index("seats")]
    key = game_numbers(games) * players + seats
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.append(True, key[order][1:] != key[order][:-1]))
    lengths = np.diff(np.append(starts, len(order)))
    offsets = np.arange(lengths.max())[:, None]  # [L, 1]
    valid = offsets < lengths  # [L, S]
    rows = order[np.where(valid, starts + offsets, starts)]
    padded = [_padded(name, values[rows], ~valid) for name, values in zip(fields, arrays, strict=True)]
    return Sequences(as_decisions(tuple(padded)), torch.from_numpy(valid))


def _padded(name: str, values: NDArray[Any], padding: NDArray[np.bool_]) -> NDArray[Any]:
    if name not in ("games", "seats"):
        values[padding] = ALL_LEGAL if name == "masks" else 0
    return values
