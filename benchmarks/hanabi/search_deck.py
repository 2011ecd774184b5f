"""One deck of `ludory bench hanabi-search`: its score and its cost."""

from __future__ import annotations

import time
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ludory.agents.agent import Agent
from ludory.agents.make import make_agent
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game
from ludory.envs.seats.table import Table

SINGLE, JOINT, INDEPENDENT, ALONE = "single", "joint", "independent", "blueprint"
SEARCHER = 1
"""Seat that searches when only one does."""


class DeckTask(NamedTuple):
    """A deck to play; budget: rollouts a decision, 0 for the blueprint alone."""

    contender: str
    budget: int
    deck: int


class SearchSetting(NamedTuple):
    """The setting of all decks of a run."""

    game: str
    blueprint: str
    decks_seed: int
    options: str
    """Further arguments of `sparta`, each after a comma."""
    observation: str = "card_knowledge"
    """Of the game."""


def spec(setting: SearchSetting, contender: str, budget: int) -> str:
    """The searching agent by name."""
    both = {JOINT: ", joint=True", INDEPENDENT: ", unsound=True"}.get(contender, "")
    return f"sparta({setting.blueprint}, rollouts={budget}{both}{setting.options})"


def play_deck(setting: SearchSetting, task: DeckTask) -> dict[str, Any]:
    """Play a deck; returns its line of results."""
    game, agents = _seated(setting, task.contender, task.budget)
    for seat, agent in enumerate(agents):
        if agent not in agents[:seat]:
            agent.seed(int(np.random.SeedSequence([setting.decks_seed, task.deck, seat]).generate_state(1)[0]))
    table = Table(make_engine(game, 1, seed=setting.decks_seed, first_game=task.deck), agents)
    started = time.process_time()
    table.start()
    table.run()
    seconds = time.process_time() - started
    found = [
        decision
        for seat, agent in enumerate(agents)
        if hasattr(agent, "decisions")
        for decision in agent.decisions(table.memories[seat], 0)
    ]
    info = game.look.info(table.engine.state, 0)
    return {
        **task._asdict(),
        "score": float(table.rewards[0, 0]),
        "stacks": int(info["stacks"]),
        "end": info["end"],
        "moves": int(info["turn"]),
        "cpu_seconds": seconds,
        "rollouts": sum(decision.rollouts for decision in found),
        "searches": len(found),
        "changed": sum(decision.action != decision.blueprint_action for decision in found),
    }


@cache
def _seated(setting: SearchSetting, contender: str, budget: int) -> tuple[Game, list[Agent]]:
    game = make_game(setting.game, observation=setting.observation)
    bot = make_agent(setting.blueprint, game)
    if contender == ALONE:
        return game, [bot] * game.facts.players
    searcher = make_agent(spec(setting, contender, budget), game)
    if contender in (JOINT, INDEPENDENT):
        return game, [searcher] * game.facts.players
    return game, [searcher if seat == SEARCHER else bot for seat in range(game.facts.players)]
