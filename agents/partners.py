"""Who plays with a person where nobody is named."""

from __future__ import annotations

DEFAULT_PARTNERS = {
    "Hanabi": "hanabi/iggi",
    "Arena": "arena/rusher",
    "Tic-tac-toe": "mcts",
    "Connect Four": "mcts",
    "Go ": "mcts(simulations=5000)",
    "Kuhn poker": "kuhn/cfr",
    "Leduc poker": "leduc/cfr",
    "Texas 42 play": "texas42/pimc",
    "Texas 42": "texas42/bidder",
    "pokemon": "pokemon/simple-heuristics",
}
"""Who plays with a person, by how the name of the game begins; `random` in all others."""


def default_partner(name: str) -> str:
    """The agent that takes the other seats of the game `name` if none is named."""
    return next((agent for start, agent in DEFAULT_PARTNERS.items() if name.startswith(start)), "random")
