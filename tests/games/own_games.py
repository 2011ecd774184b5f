"""The games that Ludory itself registers, as far as tests go through all of them."""

from __future__ import annotations

from ludory.plugins import games

LIKE_OTHERS = ("Arena-v0", "Arena3P-v0", "Arena5P-v0", "Arena6P-v0", "Arena7P-v0")
"""Arenas whose kernels are those of 2, 4 and 8 players; each would be compiled anew, for half a minute."""
OWN = [
    id
    for id in games.ids()
    if games.get(id).distribution == "ludory" and id not in LIKE_OTHERS and not id.startswith("Pokemon")
]
