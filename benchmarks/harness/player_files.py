"""`player_files`: tells whether players are still who they were when games were played that lie on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from ludory.agents import texas42
from ludory.data.recording.record import checkpoint_hashes

DIGITS = 12


def player_files(specs: Sequence[str]) -> str:
    """A hash of what players of Texas 42 are made of beside their code: checkpoints that are named, and tables that come with Ludory."""
    found = checkpoint_hashes(specs)
    for file in sorted(Path(texas42.__path__[0]).glob("*.json")):
        found[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:DIGITS]
