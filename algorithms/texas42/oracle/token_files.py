"""Tokens of labels and shards as NumPy files, for programs that learn without Ludory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ludory.agents.texas42.play.tokens import FEATURES, TOKENS, tokenise
from ludory.atomic import atomic_file
from ludory.data.formats.texas42.names import Split
from ludory.errors import OutputError

from .data import MANIFEST, OracleData

CHUNK = 50_000


def write_tokens(data: OracleData, folder: str | Path, split: Split, version: int) -> int:
    """Write tokens.npy, masks.npy, players.npy, legal.npy, qvals.npy (Team 0's side), values.npy, targets.npy (first best tile), decisions.npy,
    decls.npy and manifest.json to `folder`/`split`; returns the number of states.

    Raises:
        OutputError: there are tokens already, or the folder cannot be written to.
    """  # noqa: D205
    place, n = Path(folder) / split, len(data.state)
    if (place / MANIFEST).exists():
        raise OutputError(f"{place / MANIFEST} exists; name another folder with --out")
    tokens, masks = np.empty((n, TOKENS, FEATURES), np.int8), np.empty((n, TOKENS), bool)
    players = np.empty(n, np.int8)
    for start in range(0, n, CHUNK):
        rows = np.arange(start, min(start + CHUNK, n))
        part = data.rows(rows)
        tokens[rows], masks[rows], players[rows] = tokenise(part.deal, part.decl, part.state, version)
    legal = data.q != -128
    signed = np.where(legal, data.q * np.where(players % 2 == 0, 1, -1)[:, None], -999)
    arrays = {
        "tokens": tokens,
        "masks": masks,
        "players": players,
        "legal": legal,
        "qvals": data.q,
        "values": data.value,
        "targets": signed.argmax(axis=1).astype(np.int8),
        "decisions": data.decision.astype(np.int8),
        "decls": data.decl,
    }
    for name, array in arrays.items():
        with atomic_file(place / f"{name}.npy") as handle:
            np.save(handle, array)
    shapes = {name: {"dtype": str(array.dtype), "shape": array.shape} for name, array in arrays.items()}
    manifest = {"format": "ludory texas42 tokens 1", "tokens": version, "split": split, "states": n, "arrays": shapes}
    with atomic_file(place / MANIFEST, "w") as handle:
        handle.write(json.dumps(manifest, indent=2) + "\n")
    return n
