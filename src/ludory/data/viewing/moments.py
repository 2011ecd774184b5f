"""Moments of a game worth jumping to, read from its public facts and returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

CLOSER = 1e-9


def moment(
    before: Mapping[str, Any], after: Mapping[str, Any], returns: Sequence[float], grown: Sequence[float], shared: bool
) -> str:
    """What a move changed that one wants to see again; "" if nothing.

    A life is lost, a contract is set or named, a seat is out, or another seat leads.

    Args:
        before: `Look.info` before the move.
        after: the same after it.
        returns: of the seats before the move.
        grown: after it.
        shared: whether the seats share their returns.
    """
    told = []
    lives = before.get("lives"), after.get("lives")
    if isinstance(lives[0], int) and isinstance(lives[1], int) and lives[1] < lives[0]:
        told.append("a life is lost")
    if before.get("declaration") is None and after.get("declaration") is not None:
        told.append(f"seat {after.get('bidder')} plays {after['declaration']} for {after.get('bid')}")
    was_alive, is_alive = before.get("alive"), after.get("alive")
    if isinstance(was_alive, list) and isinstance(is_alive, list):
        out = [seat for seat, (was, still) in enumerate(zip(was_alive, is_alive, strict=True)) if was and not still]
        told += [f"seat {seat} is out" for seat in out]
    if not shared and len(returns) > 1:
        first, now = _leader(returns), _leader(grown)
        if now is not None and now != first:
            told.append(f"seat {now} leads")
    points = before.get("points"), after.get("points")
    if isinstance(points[0], list) and isinstance(points[1], list):
        first, now = _leader(points[0]), _leader(points[1])
        if now is not None and now != first:
            told.append(f"team {now} leads in points")
    return "; ".join(told)


def _leader(values: Sequence[float]) -> int | None:
    """Index of the largest value; None if several have it."""
    best = max(values)
    leaders = [seat for seat, value in enumerate(values) if value > best - CLOSER]
    return leaders[0] if len(leaders) == 1 else None
