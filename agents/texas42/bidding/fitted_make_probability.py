"""`calibrated`: P(make) from counts of a bidder's hand, fitted to contracts played with hidden hands.

logit P(points >= b) = threshold_b + weights . cues + slope * logit of the share made with all hands open. The slope is 0 in the plain
model, which needs no solver and takes microseconds; `mapped` is the model with a slope. Thresholds, and so P(make), fall with the bid.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.solver.solver import Solver
from ludory.envs.texas42.tiles import STRAIGHT
from ludory.errors import DataError
from ludory.reading import read_json, shown

from .hand_cues import INPUTS, inputs
from .make_probability import BIDS, Chances, double_dummy

FILE = Path(__file__).with_name("calibration.json")
FORMAT = "ludory texas42 calibration 1"


class Model(NamedTuple):
    """A fitted model."""

    weights: NDArray[np.float64]
    """(INPUTS,)"""
    thresholds: NDArray[np.float64]
    """(13,) by bid, falling."""
    slope: float

    def p(self, given: NDArray[np.float64], open_logit: NDArray[np.float64] | float = 0.0) -> NDArray[np.float64]:
        """(n, 13) P(make) from inputs (n, INPUTS) and logits (n, 13) of the share made with all hands open."""
        logit = (given @ self.weights)[:, None] + self.thresholds + self.slope * open_logit
        return np.asarray(1 / (1 + np.exp(-logit)))


class Calibration(NamedTuple):
    """Both models, and the data they were fitted to."""

    plain: Model
    mapped: Model
    contracts: int
    open_deals: int
    """Deals with open hands per share that `mapped` was fitted with; it is applied with the same number."""
    player: str


def open_logit(made: NDArray[Any], count: int) -> NDArray[np.float64]:
    """Logit of a share, smoothed by half a success and half a failure."""
    share = (made + 0.5) / (count + 1)
    return np.asarray(np.log(share / (1 - share)))


def calibrated(hand: int, decls: Sequence[int] = STRAIGHT, model: Calibration | None = None) -> Chances:
    """P(make) by the plain model; without intervals (low = high = p)."""
    model = model or shipped()
    p = model.plain.p(np.array([inputs(hand, decl) for decl in decls]))
    return _chances("calibrated", model, hand, decls, p)


def mapped(
    hand: int, key: int, decls: Sequence[int] = STRAIGHT, model: Calibration | None = None, solver: Solver | None = None
) -> Chances:
    """P(make) by the model that also uses exact values of deals around the hand."""
    model = model or shipped()
    exact = double_dummy(hand, model.open_deals, key, decls, solver)
    logits = open_logit(exact.p * model.open_deals, model.open_deals)
    p = model.mapped.p(np.array([inputs(hand, decl) for decl in decls]), logits)
    return _chances("mapped", model, hand, decls, p)


def _chances(mode: str, model: Calibration, hand: int, decls: Sequence[int], p: NDArray[np.float64]) -> Chances:
    player = f"fitted to {model.contracts} contracts of {model.player}"
    return Chances(mode, player, hand, tuple(decls), p, p, p, np.zeros((len(decls), 0), np.int8))


@cache
def shipped() -> Calibration:
    """The calibration shipped with Ludory."""
    return read_calibration(FILE)


def read_calibration(file: str | Path) -> Calibration:
    """Read a file written by `ludory texas42 calibrate`.

    Raises:
        DataError: not a calibration, or its thresholds do not fall.
    """
    try:
        content = read_json(file)
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r}, must be {FORMAT!r}")
        plain, mapping = _model(content["plain"]), _model(content["mapped"])
        for name in ("contracts", "open_deals"):
            if type(content[name]) is not int or not 1 <= content[name] <= 1 << 31:
                raise ValueError(f"{name} {shown(content[name])}, must be an integer of at least 1")
        if type(content["player"]) is not str:
            raise ValueError(f"player {shown(content['player'])}, must be a name")
        return Calibration(plain, mapping, content["contracts"], content["open_deals"], content["player"])
    except (OSError, ValueError, OverflowError, KeyError, TypeError) as error:
        raise DataError(
            f"{file}: no calibration ({error}); make one with `ludory texas42 calibrate --out FILE`"
        ) from error


def _model(content: dict[str, Any]) -> Model:
    weights, thresholds = (np.array(content[name], np.float64) for name in ("weights", "thresholds"))
    # thresholds that fall, so that P(make) falls with the bid
    if weights.shape != (INPUTS,) or thresholds.shape != (len(BIDS),) or (np.diff(thresholds) > 0).any():
        raise ValueError(
            f"{len(weights)} weights, thresholds {thresholds.tolist()}: must be {INPUTS}, and 13 that fall"
        )
    if not (np.isfinite(weights).all() and np.isfinite(thresholds).all()):
        raise ValueError("weights or thresholds that are not finite")
    if not 0 <= content["slope"] <= 1000:
        raise ValueError(f"slope {shown(content['slope'])}: must lie in 0..1000")
    return Model(weights, thresholds, float(content["slope"]))


def calibration_json(model: Calibration) -> str:
    """The text that `read_calibration` reads."""

    def plain(one: Model) -> dict[str, Any]:
        return {
            "weights": [round(float(x), 5) for x in one.weights],
            "thresholds": [round(float(x), 5) for x in one.thresholds],
            "slope": round(one.slope, 5),
        }

    content = {"format": FORMAT, "contracts": model.contracts, "open_deals": model.open_deals, "player": model.player}
    return json.dumps(content | {"plain": plain(model.plain), "mapped": plain(model.mapped)}, indent=1) + "\n"
