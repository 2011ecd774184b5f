"""Counts and scores of a network's choices by decision and declaration, and tables of them beside plain play."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Group
from rich.table import Table
from torch import Tensor

from ludory.agents.texas42.networks.open_hands import OpenHandNetwork
from ludory.algorithms import figures_table
from ludory.envs.texas42.tiles import DECLARATIONS as NAMES

from .data import OracleBatch, OracleData, stored_batches
from .loss import is_best

PLAYERS = ("network", "random", "greedy")
"""What is set side by side; random is anything legal, in expectation."""
BLUNDER = 10
"""Points; a greater regret is a blunder."""
DECISIONS, DECLARATIONS, GAPS = 28, 10, 85
# fmt: off
REACHED = (
    5.92e-08, 2.38e-07, 4.82e-07, 9.66e-07, 4.22e-06, 1.4e-05, 3.46e-05,
    9e-05, 0.000223, 0.000611, 0.00155, 0.00429, 0.00494, 0.0109,
    0.0267, 0.0648, 0.026, 0.0452, 0.0992, 0.206, 0.0167,
    0.0216, 0.0369, 0.0605, 0.0, 0.0, 0.0, 0.0,
)
# fmt: on
"""Share of the states before the end that a deal can reach in which so many tiles are played and the mover has a choice: mean over
the deals of seeds 900..928, declaration seed % 10. Their sum is 0.626; in the others nothing can be lost."""
ROWS = 2048
"""States of a batch when a network is scored."""
COUNTED = ("n", "q_error", "value_error", "accuracy", "ceiling")


class OracleTally(NamedTuple):
    """Sums; tallies of parts add up to that of the whole, part by part."""

    gaps: Tensor
    """[3, 28, 10, 85] float64: players, decision, declaration, regret in points: number of states."""
    sums: Tensor
    """[5, 28, 10] float64: states; sums of the mean error of q over legal tiles, of the error of the value, of hits of the first best tile, of
    1 / number of best tiles."""


def no_tally() -> OracleTally:
    """Zeros."""
    gaps = torch.zeros(len(PLAYERS), DECISIONS, DECLARATIONS, GAPS, dtype=torch.float64)
    return OracleTally(gaps, torch.zeros(len(COUNTED), DECISIONS, DECLARATIONS, dtype=torch.float64))


@torch.no_grad()
def tally(q: Tensor, value: Tensor, batch: OracleBatch) -> OracleTally:
    """What is counted of a batch; q (m, 7) in points or logits, value (m,) in parts of 42."""
    legal, exact = batch.legal, torch.where(batch.legal, batch.q, -torch.inf)
    regret = (
        (exact.amax(-1, keepdim=True) - torch.where(legal, batch.q, 0.0)).round().long().clamp(0, GAPS - 1)
    )  # (m, 7)
    chosen = torch.where(legal, q.float(), -torch.inf).argmax(-1, keepdim=True)
    place = batch.decision * DECLARATIONS + batch.decl
    number, shape = legal.sum(-1), (DECISIONS, DECLARATIONS)

    def histogram(gaps: Tensor, where: Tensor, weights: Tensor) -> Tensor:
        flat = torch.bincount(
            where * GAPS + gaps, weights.double().cpu().to(gaps.device), DECISIONS * DECLARATIONS * GAPS
        )
        return flat.reshape(*shape, GAPS)

    ones = torch.ones(len(place), device=place.device)
    anything = histogram(
        regret[legal], place[:, None].expand_as(legal)[legal], (1 / number)[:, None].expand_as(legal)[legal]
    )
    greedy = histogram(regret.gather(1, batch.greedy[:, None])[:, 0], place, ones)
    gaps = torch.stack([histogram(regret.gather(1, chosen)[:, 0], place, ones), anything, greedy])
    best = is_best(batch.q, legal)
    errors = torch.where(legal, (q.float() - batch.q).abs(), 0.0).sum(-1) / number
    hits = chosen[:, 0] == best.int().argmax(-1)
    columns = ones, errors, (42 * value.float() - batch.value).abs(), hits, 1 / best.sum(-1)
    sums = [torch.bincount(place, column.double(), DECISIONS * DECLARATIONS).reshape(shape) for column in columns]
    return OracleTally(gaps.cpu(), torch.stack(sums).cpu())


def added(one: OracleTally, other: OracleTally) -> OracleTally:
    """The tally of both parts."""
    return OracleTally(one.gaps + other.gaps, one.sums + other.sums)


def scores(counted: OracleTally, player: int = 0, by: str = "all") -> list[dict[str, float]]:
    """Scores by name: of everything (one), or "decision" (28) or "declaration" (10).

    q_gap: mean regret in points, with q_gap_p99 and q_gap_max; q_gap_states (not by decision): the same weighted as the states that deals can
    reach, `REACHED`, so that it compares with networks that were scored on states drawn uniformly from shards, and so zero_regret_states and q_mae_states (of states with a choice); zero_regret, blunder: shares; for the network also q_mae, value_mae (points),
    accuracy (the first best tile) and tie_ceiling (the best accuracy of who cannot tell ties). Where several decisions are put together, each counts
    the same in all but these, however many states there are of it. {} where there is nothing.
    """
    if by == "declaration":
        groups = [(counted.gaps[player, :, k], counted.sums[:, :, k]) for k in range(DECLARATIONS)]
    else:
        gaps, sums = counted.gaps[player].sum(1), counted.sums.sum(2)  # [28, 85], [5, 28]
        groups = [(gaps, sums)] if by == "all" else [(gaps[k : k + 1], sums[:, k : k + 1]) for k in range(DECISIONS)]
    return [_scores(*group, network=player == 0) for group in groups]


def _scores(gaps: Tensor, sums: Tensor, network: bool) -> dict[str, float]:
    """Of gaps [D, 85] and sums [5, D]."""
    there = sums[0] > 0
    if not there.any():
        return {}
    shares = (gaps[there] / sums[0, there, None]).mean(0)  # [85], in all 1
    # means of means: every number of tiles played counts the same
    means = (sums[:, there] / sums[0, there]).mean(1)
    points = torch.arange(GAPS, dtype=torch.float64)
    found = {
        "states": float(sums[0].sum()),
        "q_gap": float(shares @ points),
        "q_gap_p99": float((shares.cumsum(0) < 0.99 - 1e-12).sum()),
        "q_gap_max": float(points[shares > 0].max()),
        "zero_regret": float(shares[0]),
        "blunder": float(shares[BLUNDER + 1 :].sum()),
    }
    if len(gaps) == DECISIONS:
        # states without a choice lose nothing and are not counted here: they keep their share
        reached = torch.tensor(REACHED, dtype=torch.float64)
        means_by_decision = gaps[there] @ points / sums[0, there]
        each = reached[there] / reached[there].sum()
        found["q_gap_states"] = float(each @ means_by_decision * reached.sum())
        found["zero_regret_states"] = float(
            1 - reached.sum() + each @ (gaps[there, 0] / sums[0, there]) * reached.sum()
        )
        if network:
            found["q_mae_states"] = float(each @ (sums[1, there] / sums[0, there]))
    if network:
        found |= dict(zip(("q_mae", "value_mae", "accuracy", "tie_ceiling"), means[1:].tolist(), strict=True))
    return found


@torch.no_grad()
def score_network(network: OpenHandNetwork, data: OracleData) -> OracleTally:
    """The tally of all states."""
    network.eval()
    device, counted = next(network.parameters()).device, no_tally()
    for batch in stored_batches(data, ROWS, network.tokens_version):
        there = type(batch)(*(part.to(device) for part in batch))
        output = network(there.tokens, there.mask, there.player)
        counted = added(counted, tally(output.q, output.value, there))
    return counted


@torch.no_grad()
def regrets(network: OpenHandNetwork, data: OracleData) -> NDArray[np.float64]:
    """(n,) points that the network's choice in each state loses against the best."""
    network.eval()
    device, found = next(network.parameters()).device, []
    for batch in stored_batches(data, ROWS, network.tokens_version):
        output = network(batch.tokens.to(device), batch.mask.to(device), batch.player.to(device)).q.float().cpu()
        chosen = torch.where(batch.legal, output, -torch.inf).argmax(-1, keepdim=True)
        # a network may not choose an illegal tile, whatever it says of it
        best = torch.where(batch.legal, batch.q, -torch.inf).amax(-1)
        found.append((best - batch.q.gather(1, chosen)[:, 0]).double().numpy())
    return np.concatenate(found)


def as_json(counted: OracleTally) -> dict[str, Any]:
    """Scores of everything, by decision and by declaration, for each of `PLAYERS`."""
    return {
        player: {
            "overall": scores(counted, number)[0],
            "by_decision": {k: one for k, one in enumerate(scores(counted, number, "decision")) if one},
            "by_declaration": {k: one for k, one in enumerate(scores(counted, number, "declaration")) if one},
        }
        for number, player in enumerate(PLAYERS)
    }


OVERALL = (
    "q_gap",
    "q_gap_states",
    "q_gap_p99",
    "q_gap_max",
    "zero_regret",
    "zero_regret_states",
    "blunder",
    "q_mae",
    "q_mae_states",
    "value_mae",
    "accuracy",
    "tie_ceiling",
)


_COLUMNS = [*((player, "q_gap") for player in PLAYERS), *((player, "zero_regret") for player in PLAYERS)]


def epoch_table(title: str, metrics: Mapping[str, float]) -> Group:
    """Losses and scores of an epoch, then regret by decision."""
    title += f", {metrics['time/fps']:,.0f} samples/s, loss {metrics['train/loss']:.4f}, validation {metrics['val/loss']:.4f}"
    prefixes = {player: "val/" if player == "network" else f"val/{player}_" for player in PLAYERS}
    overall = {player: {name: metrics.get(prefix + name) for name in OVERALL} for player, prefix in prefixes.items()}
    by_decision = {
        str(decision): [metrics.get(f"{prefixes[player]}{name}_{decision}") for player, name in _COLUMNS]
        for decision in range(DECISIONS)
    }
    return Group(_overall(title, overall), _by("tiles played", by_decision))


def tally_tables(title: str, counted: OracleTally) -> Group:
    """Scores of everything, by decision and by declaration."""
    overall = {player: dict(scores(counted, number)[0]) for number, player in enumerate(PLAYERS)}
    tables = []
    for by, names in (("decision", [str(k) for k in range(DECISIONS)]), ("declaration", list(NAMES))):
        found = {player: scores(counted, number, by) for number, player in enumerate(PLAYERS)}
        rows = {
            names[k]: [found[player][k].get(name) for player, name in _COLUMNS] for k in range(len(found["network"]))
        }
        tables.append(_by("tiles played" if by == "decision" else "declaration", rows))
    return Group(_overall(title, overall), *tables)


def _overall(title: str, columns: Mapping[str, Mapping[str, float | None]]) -> Table:
    rows = {name.replace("_", " "): [column.get(name) for column in columns.values()] for name in OVERALL}
    return figures_table(title, columns, rows)


def _by(what: str, rows: Mapping[str, list[float | None]]) -> Table:
    columns = [f"{player}\n{name.replace('_', ' ')}" for player, name in _COLUMNS]
    return figures_table(f"by {what}", columns, rows, what)
