"""PPO in JAX over JaxMARL's Hanabi, sampling and learning in one compiled function, as the baselines of that library have it (IPPO).

Both seats are rows of the batch at every step; the one that waits plays the move that does nothing. A decision is a step of a game.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

GAMMA, LAM, CLIP, VF_COEF, ENT_COEF, LEARNING_RATE, MAX_GRAD_NORM = 0.99, 0.95, 0.2, 0.5, 0.01, 5e-4, 0.5


def start(games: str, steps: str, batch: str, epochs: str, hidden: str) -> tuple[dict[str, str], Callable[[bool], int]]:
    """A learner of `games` games and rollouts of `steps`: `epochs` passes in minibatches of about `batch` decisions.

    hidden: widths of the layers, such as 512-512.
    """
    jax, optax = importlib.import_module("jax"), importlib.import_module("optax")
    env = importlib.import_module("jaxmarl").make("hanabi")
    widths = [int(width) for width in hidden.split("-")]
    iterate, carry = _learner(jax, optax, env, int(games), int(steps), int(batch), int(epochs), widths)
    kept = [carry]

    def play(observe: bool) -> int:
        kept[0], loss, _ = iterate(kept[0])
        if not bool(loss.block_until_ready() == loss):
            raise ArithmeticError("the loss is not a number")
        return int(games) * int(steps)

    for _ in range(2):  # the second call is compiled again, for what the first one made
        play(True)
    return {name: version(name) for name in ("jax", "jaxmarl")} | {"device": str(jax.devices()[0])}, play


def _learner(
    jax: Any, optax: Any, env: Any, games: int, steps: int, batch: int, epochs: int, widths: list[int]
) -> tuple[Callable[[Any], tuple[Any, Any, Any]], Any]:
    """The compiled iteration, which gives its loss and the points per ended game, and what it begins with."""
    jnp, lax, agents = jax.numpy, jax.lax, env.agents
    seats = len(agents)
    minibatches = max(1, games * steps // batch)
    optimiser = optax.chain(optax.clip_by_global_norm(MAX_GRAD_NORM), optax.adam(LEARNING_RATE, eps=1e-5))

    def rows(by_agent: Any) -> Any:  # {agent: [N, ...]} -> [seats * N, ...]
        return jnp.concatenate([by_agent[agent] for agent in agents])

    def network(weights: Any, seen: Any) -> tuple[Any, Any]:
        for matrix, bias in weights[:-1]:
            seen = jax.nn.relu(seen @ matrix + bias)
        matrix, bias = weights[-1]
        out = seen @ matrix + bias
        return out[..., :-1], out[..., -1]

    def log_probs_of(weights: Any, seen: Any, legal: Any) -> tuple[Any, Any]:
        logits, values = network(weights, seen)
        return jax.nn.log_softmax(jnp.where(legal > 0, logits, -1e9)), values

    def chosen(log_probs: Any, actions: Any) -> Any:
        return jnp.take_along_axis(log_probs, actions[..., None], -1)[..., 0]

    def collect(carry: Any, _: Any) -> tuple[Any, Any]:
        weights, optimiser_state, states, seen, key = carry
        key, pick, after = jax.random.split(key, 3)
        legal = rows(jax.vmap(env.get_legal_moves)(states))
        log_probs, values = log_probs_of(weights, seen, legal)
        actions = jax.random.categorical(pick, log_probs)
        moves = dict(zip(agents, actions.reshape(seats, games), strict=True))
        found = jax.vmap(env.step)(jax.random.split(after, games), states, moves)
        observations, states, rewards, dones = found[:4]
        over = jnp.tile(dones["__all__"], seats)
        kept = (seen, legal, actions, chosen(log_probs, actions), values, rows(rewards), over)
        return (weights, optimiser_state, states, rows(observations), key), kept

    def advantages_of(values: Any, rewards: Any, over: Any, last: Any) -> Any:
        def back(carry: Any, step: Any) -> tuple[Any, Any]:
            advantage, following = carry
            value, reward, ended = step
            goes_on = 1.0 - ended
            delta = reward + GAMMA * following * goes_on - value
            advantage = delta + GAMMA * LAM * goes_on * advantage
            return (advantage, value), advantage

        return lax.scan(back, (jnp.zeros_like(last), last), (values, rewards, over), reverse=True)[1]

    def loss_of(weights: Any, part: Any) -> Any:
        seen, legal, actions, before, advantages, returns = part
        log_probs, values = log_probs_of(weights, seen, legal)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        ratio = jnp.exp(chosen(log_probs, actions) - before)
        gain = jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantages).mean()
        entropy = -(jnp.exp(log_probs) * jnp.where(legal > 0, log_probs, 0.0)).sum(-1).mean()
        return -gain + VF_COEF * jnp.square(values - returns).mean() - ENT_COEF * entropy

    def learn(carry: Any, part: Any) -> tuple[Any, Any]:
        weights, state = carry
        loss, gradient = jax.value_and_grad(loss_of)(weights, part)
        change, state = optimiser.update(gradient, state, weights)
        return (optax.apply_updates(weights, change), state), loss

    def one_pass(carry: Any, key: Any, columns: Any) -> tuple[Any, Any]:
        order = jax.random.permutation(key, columns[0].shape[0])[: columns[0].shape[0] // minibatches * minibatches]
        parts = [column[order].reshape(minibatches, -1, *column.shape[1:]) for column in columns]
        carry, losses = lax.scan(learn, carry, parts)
        return carry, losses

    def iterate(carry: Any) -> tuple[Any, Any, Any]:
        carry, found = lax.scan(collect, carry, None, length=steps)
        weights, optimiser_state, states, last_seen, key = carry
        seen, legal, actions, log_probs, values, rewards, over = found
        advantages = advantages_of(values, rewards, over, network(weights, last_seen)[1])
        columns = [
            column.reshape(-1, *column.shape[2:])
            for column in (seen, legal, actions, log_probs, advantages, advantages + values)
        ]
        key, *keys = jax.random.split(key, epochs + 1)
        learnt, losses = lax.scan(
            lambda before, drawn: one_pass(before, drawn, columns), (weights, optimiser_state), jnp.stack(keys)
        )
        points = rewards.sum() / jnp.maximum(over.sum(), 1)
        return (*learnt, states, last_seen, key), losses.mean(), points

    key, drawn = jax.random.split(jax.random.PRNGKey(0))
    observations, states = jax.jit(jax.vmap(env.reset))(jax.random.split(drawn, games))
    sizes = [rows(observations).shape[-1], *widths, env.action_space(agents[0]).n + 1]
    scale = jax.nn.initializers.orthogonal(2**0.5)
    weights = [
        (scale(drawn, (size, after)), jnp.zeros(after))
        for drawn, size, after in zip(jax.random.split(key, len(sizes) - 1), sizes[:-1], sizes[1:], strict=True)
    ]
    return jax.jit(iterate), (weights, optimiser.init(weights), states, rows(observations), key)
