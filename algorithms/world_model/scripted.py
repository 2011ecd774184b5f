"""Replies that a script writes: uniform moves or a solver's, with the true states; and a model that learns their form from them.

A model from scratch that has learnt the form of replies from random states and random moves stands in for an instruct model: it writes
replies that can be parsed, and plays like random.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludory.agents import Agent, make_agent
from ludory.agents.language.generators import Generation, Sampling
from ludory.agents.language.model import LanguageModel
from ludory.agents.language.small_model import make_small_model
from ludory.algorithms import LightAdamW
from ludory.algorithms.text_ppo.batch import TokenBatch
from ludory.algorithms.text_ppo.rollout import collect
from ludory.envs import TextEnv, on_host
from ludory.errors import OptionError

from .config import SFTConfig, TextConfig
from .rows import TokenRow, batch_of, row_of, table_of
from .sft import token_losses

SOLVERS = {
    "Sokoban": "sokoban/solver",
    "Boxoban": "sokoban/solver",
    "FrozenLake": "frozen_lake/optimum",
    "Sudoku": "sudoku/solver",
}
"""Agent that plays best, by the beginning of a game's id."""
THOUGHT = "I try these moves."
LEAST_NUMBERS = 10
"""The words of a small model have at least the numbers 0 to 10."""


class Reply(NamedTuple):
    """What a model read and wrote in one turn of one episode."""

    episode: int
    turn: int
    """From 0."""
    prompt: list[int]
    ids: list[int]
    spans: list[int]


def text_env(text: TextConfig, episodes: int, **options: Any) -> TextEnv:
    """The `TextEnv` of a configuration."""
    return TextEnv(text.env, episodes, **{**text.env_options(), **options})


def new_model(
    text: TextConfig, seed: int, hidden: int = 96, layers: int = 3, heads: int = 4, **options: Any
) -> LanguageModel:
    """A small model with random weights and the words of the game, whose texts must be compact; options: of `make_small_model`."""
    env = text_env(text, 1)
    env.close()
    largest = max(LEAST_NUMBERS, env.preset.actions_per_episode)
    return make_small_model("words", hidden, layers, heads, seed, game=env.game, largest=largest, **options)


def replies_of(batch: TokenBatch) -> Iterator[Reply]:
    """All replies of a batch, in the order of episodes and turns."""
    for number, episode in enumerate(batch.episode.tolist()):
        first, last = int(batch.starts[number]), int(batch.starts[number + 1])
        spans, turns = batch.spans[first:last], batch.turns[first:last]
        for turn in np.unique(turns[spans > 0]).tolist():
            wrote = np.flatnonzero((turns == turn) & (spans > 0))
            start, end = int(wrote[0]), int(wrote[-1]) + 1
            ids = batch.ids[first:last]
            yield Reply(episode, turn, ids[:start].tolist(), ids[start:end].tolist(), spans[start:end].tolist())


class ScriptedGenerator:
    """A `Generator` whose replies to the running rows of a `TextEnv` are written by a script.

    Args:
        env: whose turns are answered; `generate` is called with one prompt per running row, in order.
        model: tokenizer.
        solver: probability of a solver's action; other actions are uniform over the legal ones.
        seed: of actions and of their number, uniform in 1..`actions_per_turn` where nothing is solved.
        untrue: states are of other moments and actions: the form alone is right.
    """

    def __init__(
        self, env: TextEnv, model: LanguageModel, solver: float = 0.0, seed: int = 0, untrue: bool = False
    ) -> None:
        self._env, self._model, self._chance, self._untrue = env, model, solver, untrue
        self._rng = np.random.default_rng(seed)
        self._solver: Agent | None = solver_of(env) if solver else None

    def generate(self, prompts: list[list[int]], sampling: Sampling, seeds: list[int]) -> list[Generation]:
        """One reply per running row."""
        replies = self.replies()
        if len(prompts) != len(replies):
            raise OptionError(
                f"got {len(prompts)} prompts for {len(replies)} running rows; answer the turns of the environment"
            )
        ids = [self._model.encode(reply) for reply in replies]
        return [Generation(one, [0.0] * len(one), "stop") for one in ids]

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        """A script has no weights."""

    def sleep(self) -> None:
        """A script has no device memory."""

    def wake(self) -> None:
        """A script is always ready."""

    def replies(self) -> list[str]:
        """The replies to the turns last returned, one per running row."""
        env, codec, rows = self._env, self._env.game.language, self._env.running
        assert codec is not None
        plans, after = self._played(rows)
        before = codec.write(env.engine.state, rows.tolist(), 0, env.belief_style)
        if self._untrue:
            before, after = ([texts[place] for place in self._rng.permutation(len(texts))] for texts in (before, after))
        states = zip(before, after, strict=True) if env.prompt_mode == "world_model" else [None] * len(rows)
        return [self._reply(pair, plan) for pair, plan in zip(states, plans, strict=True)]

    def _reply(self, states: tuple[str, str] | None, plan: Sequence[Any]) -> str:
        separator, names = self._env.preset.separator.strip(), [self._env.action_text(action) for action in plan]
        if self._env.preset.compact:
            inner = (
                f" <observation> {states[0]} </observation> <prediction> {states[1]} </prediction>" if states else ""
            )
            return f"<think>{inner} </think> <answer> {' '.join(names)} </answer>"
        answer = (f" {separator} " if separator else " ").join(names)
        inner = (
            f"<observation>{states[0]}</observation>{THOUGHT}<prediction>{states[1]}</prediction>"
            if states
            else THOUGHT
        )
        return f"<think>{inner}</think><answer>{answer}</answer>"

    def _played(self, rows: np.ndarray[Any, Any]) -> tuple[list[list[Any]], list[str]]:
        """A plan for each row, and the state after it."""
        # on a clone: the true state after the plan, while the environment waits for the reply
        env, engine = self._env, self._env.engine.clone()
        codec = env.game.language
        assert codec is not None
        lefts = np.array([min(env.preset.actions_per_turn, turn.actions_left) for turn in env.turns])
        lengths = lefts if self._solver is not None else self._rng.integers(1, lefts + 1)
        plans: list[list[Any]] = [[] for _ in rows]
        for step in range(int(lengths.max(initial=0))):
            over = on_host(engine.terminated | engine.truncated)
            places = np.flatnonzero((lengths > step) & ~over[rows])
            if not len(places):
                break
            actions = self._actions(engine, rows[places])
            engine.step(actions, rows[places])
            for place, action in zip(places.tolist(), actions.tolist(), strict=True):
                plans[place].append(action)
        after = codec.write(engine.state, rows.tolist(), 0, env.belief_style)
        engine.close()
        return plans, after

    def _actions(self, engine: Any, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        legal = on_host(engine.legal())[rows]
        counts = legal.sum(1)
        # a uniform place among the legal ones, found by counting them
        places = (self._rng.random(len(rows)) * counts).astype(np.int64)
        actions = (legal.cumsum(1) > places[:, None]).argmax(1)
        if self._solver is not None:
            solved = self._rng.random(len(rows)) < self._chance
            best = np.asarray(
                on_host(
                    self._solver.choose(engine, 0, rows, self._solver.initial_memory(len(on_host(engine.terminated))))
                )
            )
            actions = np.where(solved, best.reshape(len(rows)), actions)
        return np.asarray(actions, np.int64)


def solver_of(env: TextEnv) -> Agent:
    """The agent that plays a game best.

    Raises:
        OptionError: none is known.
    """
    for beginning, name in SOLVERS.items():
        if env.game.name.startswith(beginning):
            # the best move depends on how many are left
            horizon = f"(horizon={env.most_actions})" if beginning == "FrozenLake" else ""
            return make_agent(name + horizon, env.game)
    raise OptionError(f"policy 'solver': no solver of {env.game.name} is known; the games are {', '.join(SOLVERS)}")


def form_rows(model: LanguageModel, text: TextConfig, episodes: int, prompt_mode: str, seed: int) -> list[TokenRow]:
    """Rows of scripted episodes whose moves are random, and whose states are those of other moments of other episodes."""
    # a seed far from those of the stages
    env = text_env(text, episodes, prompt_mode=prompt_mode, seed=1_000_000_007 + seed)
    batch = collect(
        model, ScriptedGenerator(env, model, seed=seed, untrue=True), env, Sampling(), seed, keep_records=False
    )
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
    optimizer = LightAdamW(model.model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.01)
    draw, losses = np.random.default_rng(seed), []
    model.model.train()
    for step in range(steps):
        for group in optimizer.param_groups:
            # up over 20 steps, level, then down in a line to a tenth
            group["lr"] = learning_rate * min(1.0, (step + 1) / 20, 1.1 - step / steps)
        chosen = batch_of([rows[place] for place in draw.integers(0, len(rows), batch_size)], table, pad)
        loss = token_losses(model.model, chosen).mean
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
    model.model.eval()
    return float(np.mean(losses[-20:]))
