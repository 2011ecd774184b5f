"""Score a network on states that it has not learnt from."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ludory.agents.networks.policies.domino import DominoTransformer

from .data import OracleData, stored_batches
from .tally import PLAYERS, OracleTally, added, no_tally, scores, tally

ROWS = 2048


@torch.no_grad()
def score_network(network: DominoTransformer, data: OracleData) -> OracleTally:
    """The tally of all states."""
    network.eval()
    device, counted = next(network.parameters()).device, no_tally()
    for batch in stored_batches(data, ROWS, network.tokens_version):
        there = type(batch)(*(part.to(device) for part in batch))
        said = network(there.tokens, there.mask, there.player)
        counted = added(counted, tally(said.q, said.value, there))
    return counted


@torch.no_grad()
def regrets(network: DominoTransformer, data: OracleData) -> NDArray[np.float64]:
    """(n,) points that the network's choice in each state loses against the best."""
    network.eval()
    device, found = next(network.parameters()).device, []
    for batch in stored_batches(data, ROWS, network.tokens_version):
        said = network(batch.tokens.to(device), batch.mask.to(device), batch.player.to(device)).q.float().cpu()
        chosen = torch.where(batch.legal, said, -torch.inf).argmax(-1, keepdim=True)
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
