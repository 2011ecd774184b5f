"""A small model that answers in the right form with random moves: stands in for a model that can follow instructions."""

from __future__ import annotations

import numpy as np
import torch

from ludory.agents.language.model import LanguageModel
from ludory.agents.language.small_model import make_small_model
from ludory.envs import TextEnv

MOVES = ("Up", "Down", "Left", "Right")


def form_model(
    steps: int = 30, hidden: int = 96, layers: int = 3, seed: int = 0, conversations: bool = False
) -> LanguageModel:
    """The small model after a few steps on replies with one or two random moves in Sokoban, preset "compact".

    conversations: also on second and third turns of conversations that are shown as a whole; replies then end with an end token.
    """
    model = make_small_model("words", hidden, layers, seed=seed, positions=1024 if conversations else None)
    env = TextEnv("Sokoban-v0", 64, preset="compact", seed=0)
    prompts = [model.template.begin(turn.messages) for turn in env.reset(0)]
    rng = np.random.default_rng(seed)
    if conversations:
        prompts = _conversations(model, rng)
    optimiser = torch.optim.AdamW(model.model.parameters(), lr=3e-3)
    for _ in range(steps):
        rows = []
        for prompt in prompts[:32]:
            rows.append((prompt, model.encode(_reply(rng)) + [model.tokenizer.eos_token_id] * conversations))
        longest = max(len(prompt) + len(reply) for prompt, reply in rows)
        ids = torch.zeros(len(rows), longest, dtype=torch.int64)
        labels = torch.full_like(ids, -100)
        for k, (prompt, reply) in enumerate(rows):
            end = len(prompt) + len(reply)
            ids[k, :end] = torch.tensor(prompt + reply)
            labels[k, len(prompt) : end] = torch.tensor(reply)
        loss = model.model(input_ids=ids, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model


def _reply(rng: np.random.Generator) -> str:
    return f"<think> </think> <answer> {' '.join(rng.choice(MOVES, rng.integers(1, 3)))} </answer>"


def _conversations(model: LanguageModel, rng: np.random.Generator) -> list[list[int]]:
    env = TextEnv("Sokoban-v0", 11, preset="compact", history="full", seed=0)
    turns, prompts = env.reset(0), []
    for _ in range(3):
        prompts += [model.template.begin(turn.messages) for turn in turns]
        turns = env.step([_reply(rng) for _ in turns])
    return prompts
