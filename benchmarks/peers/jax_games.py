"""Batched games of JAX libraries, on the device that JAX chose: `pgx connect_four GAMES` or `jaxmarl hanabi GAMES`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

STEPS = 32
"""Moves that one call of the compiled loop plays."""


def start(package: str, name: str, games: str) -> tuple[dict[str, str], Callable[[bool], int]]:
    """A batch of `games` games with random legal moves; games that end start again."""
    jax = importlib.import_module("jax")
    first, move = (_pgx if package == "pgx" else _jaxmarl)(jax, name)
    count = int(games)

    def loop(states: Any, key: Any) -> Any:
        def one(carry: Any, _: Any) -> tuple[Any, Any]:
            states, key = carry
            key, drawn = jax.random.split(key)
            states, seen = jax.vmap(move)(states, jax.random.split(drawn, count))
            return (states, key), sum(jax.numpy.sum(part) for part in jax.tree_util.tree_leaves(seen))

        return jax.lax.scan(one, (states, key), None, length=STEPS)

    compiled = jax.jit(loop)
    key = jax.random.PRNGKey(0)
    states = jax.jit(jax.vmap(first))(jax.random.split(key, count))
    kept = [states, key]

    def play(observe: bool) -> int:
        (kept[0], kept[1]), seen = compiled(kept[0], kept[1])
        seen.block_until_ready()
        return STEPS * count

    play(True)
    return {name: version(name) for name in ("jax", package)} | {"device": str(jax.devices()[0])}, play


def _pgx(jax: Any, name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    pgx = importlib.import_module("pgx")
    env = pgx.make(name)
    step = importlib.import_module("pgx.experimental").auto_reset(env.step, env.init)

    def move(state: Any, key: Any) -> tuple[Any, Any]:
        pick, after = jax.random.split(key)
        action = jax.random.categorical(pick, jax.numpy.where(state.legal_action_mask, 0.0, -1e9))
        state = step(state, action, after)
        return state, (state.observation, state.legal_action_mask)

    return env.init, move


def _jaxmarl(jax: Any, name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    env = importlib.import_module("jaxmarl").make(name)

    def first(key: Any) -> Any:
        return env.reset(key)[1]

    def move(state: Any, key: Any) -> tuple[Any, Any]:
        legal = env.get_legal_moves(state)
        keys = dict(zip(env.agents, jax.random.split(key, len(env.agents)), strict=True))
        actions = {
            agent: jax.random.categorical(keys[agent], jax.numpy.where(legal[agent] > 0, 0.0, -1e9)) for agent in legal
        }
        seen, state, *_ = env.step(key, state, actions)
        return state, (seen, legal)

    return first, move
