"""Who plays with a person where nobody is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ludory.envs.game import Game

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


def baseline_of(game: Game) -> str:
    """The rule bot or quick search that an agent of a game is compared with; "random" where there is none."""
    found = DEFAULT_PARTNERS.get(game.facts.name, "random")
    if found == "mcts":
        return "mcts(simulations=100)"  # hundreds of games should take seconds
    return "random" if found.endswith("/cfr") else found  # nobody beats an equilibrium
