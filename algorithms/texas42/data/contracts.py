"""Play plausible contracts with hidden hands, and fit to them how likely a hand makes its bid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ludory.agents.texas42.bidding.fitted_make_probability import Calibration, Model, open_logit
from ludory.agents.texas42.bidding.hand_cues import inputs
from ludory.agents.texas42.bidding.make_probability import BIDS
from ludory.agents.texas42.play.choice import Averager
from ludory.agents.texas42.play.rollout import deals_around, play_out
from ludory.agents.texas42.solver.solver import Solver, positions
from ludory.data.formats.texas42.contracts import CONTRACTS, OPEN, ContractsName, PlayedContracts, write_contracts
from ludory.envs.texas42.tiles import CALLED, DOUBLE_TILES, DOUBLES, FOLLOW, STRAIGHT

RIDGE = 1e-3
"""Of the squared weights."""
SPREAD = 1.0
"""Of the noise with which declarations are chosen, so that the fit also sees poor ones."""


def make_contracts(file: str | Path, name: ContractsName) -> int:
    """Play the contracts of a file and write them; returns their number.

    Raises:
        OutputError: the file cannot be written.
    """
    contracts = play_contracts(range(name.first_seed, name.first_seed + CONTRACTS), name.worlds)
    write_contracts(file, name, contracts)
    return CONTRACTS


def play_contracts(seeds: range, worlds: int) -> PlayedContracts:
    """A contract of each seed: a random deal, a declaration that seat 0 might choose, played by `texas42/pimc` for points."""
    solver = Solver()
    drawn = [_draw(seed) for seed in seeds]
    dealt, decl = np.array([one for one, _ in drawn], np.int32), np.array([one for _, one in drawn], np.int8)
    played = play_out(Averager(solver, worlds, "mean"), dealt, decl, key=seeds.start)
    exact = [
        (42 + solver.value(positions(deals_around(int(hands[0]), OPEN, seed), int(one), 0)).astype(np.int64)) // 2
        for seed, hands, one in zip(seeds, dealt, decl, strict=True)
    ]
    return PlayedContracts(np.array(seeds), dealt, decl, played.points.astype(np.int8), np.array(exact, np.int8))


def _draw(seed: int) -> tuple[list[int], int]:
    """Masks of four hands, and a declaration."""
    draw = np.random.default_rng([seed, 42])
    tiles = draw.permutation(28).reshape(4, 7)
    dealt = [int((1 << hand).sum()) for hand in tiles]
    scores = [_appeal(dealt[0], decl) + SPREAD * draw.gumbel() for decl in STRAIGHT]
    return dealt, STRAIGHT[int(np.argmax(scores))]


def _appeal(hand: int, decl: int) -> float:
    """A rough measure of a declaration: trumps and doubles."""
    doubles = (hand & DOUBLE_TILES).bit_count()
    if decl >= DOUBLES:
        return 1.25 * doubles if decl == DOUBLES else doubles + 0.8
    trumps = hand & int(FOLLOW[decl, CALLED])
    own = (trumps & DOUBLE_TILES).bit_count()
    return trumps.bit_count() + 0.8 * own + 0.6 * (doubles - own)


def fit_calibration(contracts: PlayedContracts, worlds: int) -> Calibration:
    """Both models, by maximum likelihood with a small ridge."""
    given = np.array(
        [inputs(int(hands[0]), int(decl)) for hands, decl in zip(contracts.dealt, contracts.decl, strict=True)]
    )
    made = contracts.points[:, None] >= np.array(BIDS)
    opened = (contracts.open_points[:, :, None] >= np.array(BIDS)).sum(axis=1)
    logits = open_logit(opened, contracts.open_points.shape[1])
    plain, mapped = (fit(given, made, extra) for extra in (np.zeros_like(logits), logits))
    return Calibration(plain, mapped, len(made), contracts.open_points.shape[1], f"texas42/pimc(worlds={worlds})")


def fit(given: NDArray[np.float64], made: NDArray[np.bool_], extra: NDArray[np.float64]) -> Model:
    """Weights (INPUTS,), thresholds (13,) and slope of the likeliest model of `made` (n, 13); extra: (n, 13), all 0 for a slope of 0."""
    x, y, z = torch.from_numpy(given), torch.from_numpy(made.astype(np.float64)), torch.from_numpy(extra)
    weights = torch.zeros(given.shape[1], dtype=torch.float64, requires_grad=True)
    first = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    steps = torch.full((len(BIDS) - 1,), -2.0, dtype=torch.float64, requires_grad=True)
    slope = torch.full((1,), -2.0, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, first, steps, slope], max_iter=150, line_search_fn="strong_wolfe")

    def thresholds() -> torch.Tensor:
        falls = torch.nn.functional.softplus(steps)
        return first - torch.cat([torch.zeros(1, dtype=torch.float64), falls.cumsum(0)])

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logit = (x @ weights)[:, None] + thresholds() + torch.nn.functional.softplus(slope) * z
        found = torch.nn.functional.binary_cross_entropy_with_logits(logit, y) + RIDGE * (weights**2).mean()
        found.backward()
        return found

    optimizer.step(loss)
    with torch.no_grad():
        gentle = float(torch.nn.functional.softplus(slope)) if extra.any() else 0.0
        return Model(weights.numpy().copy(), thresholds().numpy().copy(), gentle)
