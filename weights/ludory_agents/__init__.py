"""Weights of the agents that ship with Ludory, a file each; their cards, and the code that plays them, are in `ludory.agents.pretrained`."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
"""Where the files lie."""
