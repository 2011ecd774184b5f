"""Score a network on states that it has not learnt from."""

from __future__ import annotations

from typing import Any

import torch

from ludory.agents.networks.domino import DominoTransformer

from .data import OracleData, stored_batches
from .tally import PLAYERS, Tally, added, no_tally, scores, tally

ROWS = 2048


@torch.no_grad()
def score_network(network: DominoTransformer, data: OracleData) -> Tally:
    """The tally of all states."""
    network.eval()
    device, counted = next(network.parameters()).device, no_tally()
    for batch in stored_batches(data, ROWS, network.tokens_version):
        there = type(batch)(*(part.to(device) for part in batch))
        said = network(there.tokens, there.mask, there.player)
        counted = added(counted, tally(said.q, said.value, there))
    return counted


def as_json(counted: Tally) -> dict[str, Any]:
    """Scores of everything, by decision and by declaration, for each of `PLAYERS`."""
    return {
        player: {
            "overall": scores(counted, number)[0],
            "by_decision": {k: one for k, one in enumerate(scores(counted, number, "decision")) if one},
            "by_declaration": {k: one for k, one in enumerate(scores(counted, number, "declaration")) if one},
        }
        for number, player in enumerate(PLAYERS)
    }
