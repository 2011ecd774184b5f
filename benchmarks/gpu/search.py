"""Parts `search` and `language`: seconds of a move with rollouts on the card, and tokens per second of a small model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median
from time import perf_counter
from typing import Literal, get_args

import numpy as np
import torch

from ludory.agents.agent import Agent
from ludory.agents.language.generators import Sampling, make_generator
from ludory.agents.language.small_model import make_small_model
from ludory.agents.make import make_agent
from ludory.agents.search.sparta import make as make_sparta
from ludory.algorithms.make import make_algorithm
from ludory.envs.engine.protocol import on_host
from ludory.envs.make import make_engine, make_game
from ludory.envs.text.text_env import TextEnv

from .part import CampaignPart, NamedWork, Row

Backend = Literal["hf", "static"]
BUDGETS = {False: (10_000, 100_000), True: (40,)}
"""Rollouts of a move."""
MOVES = {False: 12, True: 2}
"""Moves of a game that are searched."""


def search(part: CampaignPart) -> Iterator[NamedWork]:
    """A row for every blueprint and budget, on the CPU and on the card: the moves must be the same, the seconds are compared."""
    for budget in BUDGETS[part.small]:
        yield NamedWork(f"sparta over a rule bot, {budget:,} rollouts", partial(_over_bot, part, budget))
    yield NamedWork("sparta over a GRU", partial(_over_network, part))


def _over_bot(part: CampaignPart, budget: int) -> Row:
    game = "Hanabi2P-v0" if not part.small else "HanabiTiny2P-v0"
    bot = "hanabi/smartbot" if not part.small else "hanabi/iggi"
    where = {"cpu": ""} if part.device == "cpu" else {"cpu": "", part.device: f", device={part.device!r}"}
    found = {
        device: _moves(part, make_agent(f"sparta({bot}, rollouts={budget}{more})", game), make_agent(bot, game), game)
        for device, more in where.items()
    }
    moves = [actions for actions, _ in found.values()]
    bad = [] if all(actions == moves[0] for actions in moves) else [f"other moves: {moves}"]
    return {f"seconds_{device}": seconds for device, (_, seconds) in found.items()} | {"differences": bad}


def _moves(part: CampaignPart, searcher: Agent, partner: Agent, game: str) -> tuple[list[int], float]:
    """Moves of the searcher in a game with its blueprint, and the median of their seconds."""
    engine, only = make_engine(game, 1, seed=9), np.array([0])
    engine.reset()
    seats = [searcher, partner]
    memories = [agent.initial_memory(1) for agent in seats]
    actions: list[int] = []
    spent: list[float] = []
    while len(actions) < MOVES[part.small] and (seat := int(engine.to_move[0])) >= 0:
        began = perf_counter()
        action = on_host(seats[seat].choose(engine, seat, only, memories[seat]))
        if seat == 0:
            spent.append(perf_counter() - began)
            actions.append(int(action[0]))
        for place, agent in enumerate(seats):
            agent.notice(engine, place, only, action, memories[place])
        engine.step(action)
    return actions, median(spent[1:] or spent)


def _over_network(part: CampaignPart) -> Row:
    """A network plays the rollouts of a batch where it lives."""
    game = make_game("Hanabi2P-v0" if not part.small else "HanabiTiny2P-v0")
    size = 512 if not part.small else 16
    policy = f"gru(hidden=({size},), memory_size={size})"
    model = make_algorithm("ppo", env=game, policy=policy, device=part.device, num_envs=4, seed=1)
    budget = 400 if not part.small else 20
    _, seconds = _moves(part, make_sparta(game, model.as_agent(), rollouts=budget), model.as_agent(), game.id)
    return {f"seconds_{part.device}": seconds, "rollouts": budget}


def language(part: CampaignPart) -> Iterator[NamedWork]:
    """A row per backend: sampled tokens per second of a model with random weights."""
    for backend in get_args(Backend):
        yield NamedWork(backend, partial(_tokens, part, backend))


def _tokens(part: CampaignPart, backend: Backend) -> Row:
    hidden, layers, heads = (96, 3, 4) if part.small else (768, 12, 12)
    model = make_small_model("words", hidden, layers, heads)
    model.model.to(part.device)
    env = TextEnv("Sokoban-v0", 8 if part.small else 256, seed=1, preset="compact")
    prompts = [model.template.begin(turn.messages) for turn in env.reset()]
    generator, sampling = make_generator(model, backend), Sampling(max_new_tokens=4 if part.small else 64, stop=())
    rates = []
    for turn in range(2 if part.small else 4):
        began = perf_counter()
        replies = generator.generate(prompts, sampling, list(range(turn * len(prompts), (turn + 1) * len(prompts))))
        if part.device != "cpu":
            torch.cuda.synchronize()
        rates.append(sum(len(reply.ids) for reply in replies) / (perf_counter() - began))
    return {"tokens_per_second": median(rates[1:]), "replies_at_once": len(prompts)}
