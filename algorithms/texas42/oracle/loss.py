"""The two losses; values are from the mover's side."""

from __future__ import annotations

import torch
from torch import Tensor

from .config import LossMode

HARD, SOFT = 0.3, 0.7
"""Shares of the best moves and of the soft target in the policy's loss."""


def oracle_loss(
    q: Tensor,
    value: Tensor,
    exact_q: Tensor,
    exact_value: Tensor,
    legal: Tensor,
    mode: LossMode = "qvalue",
    temperature: float = 3.0,
    value_coef: float = 0.5,
    odds: Tensor | None = None,
) -> Tensor:
    """(m,) loss of each state.

    qvalue: squared error of q / 42, mean over legal tiles; of a network that tells odds, their cross-entropy to what each tile is worth,
    and nothing else. policy: cross-entropy to the best tiles (0.3), all of which are equally right, and to softmax(q / temperature) (0.7).
    Without odds: value_coef times the squared error of the value / 42.

    Args:
        q: (m, 7) points, or logits.
        value: (m,) in parts of 42.
        exact_q: (m, 7) points.
        exact_value: (m,) points.
        legal: (m, 7) bool.
        mode: as `loss_mode` of `Texas42OracleConfig`.
        temperature: as there.
        value_coef: as there.
        odds: (m, 7, 85), as `OpenOdds.odds`.
    """
    if odds is not None and mode == "qvalue":
        return _cross_entropy_of_odds(odds, exact_q, legal)
    of_value = (value - exact_value / 42).square()
    of_tiles = _squared(q, exact_q, legal) if mode == "qvalue" else _cross_entropy(q, exact_q, legal, temperature)
    return of_tiles + value_coef * of_value


def _cross_entropy_of_odds(odds: Tensor, exact: Tensor, legal: Tensor) -> Tensor:
    right = odds.gather(2, (exact.long() + odds.shape[2] // 2)[..., None]).squeeze(2)
    return -torch.where(legal, right, 0.0).sum(-1) / legal.sum(-1)


def _squared(q: Tensor, exact: Tensor, legal: Tensor) -> Tensor:
    errors = torch.where(legal, (q - exact) / 42, 0.0).square()
    return errors.sum(-1) / legal.sum(-1)


def _cross_entropy(logits: Tensor, exact: Tensor, legal: Tensor, temperature: float) -> Tensor:
    log_probs = torch.where(legal, logits, -torch.inf).log_softmax(-1).masked_fill(~legal, 0.0)
    hard = is_best(exact, legal).float()
    hard = hard / hard.sum(-1, keepdim=True)
    soft = torch.where(legal, exact / temperature, -torch.inf).softmax(-1)
    return -((HARD * hard + SOFT * soft) * log_probs).sum(-1)


def is_best(exact: Tensor, legal: Tensor) -> Tensor:
    """(m, 7) bool: the legal tiles that are worth most."""
    values = torch.where(legal, exact, -torch.inf)
    return values == values.amax(-1, keepdim=True)
