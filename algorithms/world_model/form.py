"""Form only: a model from scratch learns how replies look, from random states and random moves. It stands in for an instruct model, and plays like random."""

from __future__ import annotations

import numpy as np
import torch

from ludory.agents.language.generators import Sampling
from ludory.agents.language.model import LanguageModel
from ludory.algorithms.text_ppo.rollout import collect

from .config import SFTConfig, TextConfig
from .generate import replies_of, text_env
from .rows import Row, batch_of, row_of, table_of
from .scripted import ScriptedGenerator
from .sft import token_losses


def form_rows(model: LanguageModel, text: TextConfig, episodes: int, prompt_mode: str, seed: int) -> list[Row]:
    """Rows of scripted episodes whose moves are random, and whose states are those of other moments of other episodes."""
    env = text_env(text, episodes, prompt_mode=prompt_mode, seed=1_000_000_007 + seed)
    batch = collect(model, ScriptedGenerator(env, model, seed=seed, untrue=True), env, Sampling(), seed, keep_records=False)
    env.close()
    return [row_of(reply.prompt, reply.ids, reply.spans, model) for reply in replies_of(batch)]


def learn_form(
    model: LanguageModel,
    text: TextConfig,
    prompt_modes: tuple[str, ...] = ("base", "world_model"),
    steps: int = 400,
    batch_size: int = 64,
    learning_rate: float = 2e-3,
    episodes: int = 1024,
    seed: int = 0,
) -> float:
    """Train `model` in place on replies of both prompt modes; returns the mean loss of the last 20 steps."""
    rows = [row for mode in prompt_modes for row in form_rows(model, text, episodes, mode, seed)]
    table, pad = table_of(SFTConfig()), model.tokenizer.pad_token_id or 0
    optimizer = torch.optim.AdamW(model.model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.01)
    draw, losses = np.random.default_rng(seed), []
    model.model.train()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * min(1.0, (step + 1) / 20, 1.1 - step / steps)
        chosen = batch_of([rows[place] for place in draw.integers(0, len(rows), batch_size)], table, pad)
        loss = token_losses(model.model, chosen).mean
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
    model.model.eval()
    return float(np.mean(losses[-20:]))
