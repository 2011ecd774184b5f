"""PPO in one file, from the engine up: the batched engine, legal masks and PyTorch, without `ludory.algorithms`.

python examples/ppo_one_file.py

After CleanRL's ppo.py. One network plays all seats of a cooperative game: each row of the batch is one game, and the seat to move
decides. Every seat receives the same reward, so a game is one sequence of decisions of one policy.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

import ludory
from ludory.agents.agent import Agent


@dataclass(frozen=True)
class Args:
    """Options of a run."""

    game: str = "HanabiTiny2P-v0"
    """A sequential game with a shared reward and one head."""
    total_timesteps: int = 200_000
    """Decisions in all games together."""
    num_envs: int = 64
    """Games played side by side."""
    num_steps: int = 32
    """Decisions per game and iteration."""
    learning_rate: float = 1e-3
    """Of Adam; falls to 0 linearly."""
    gamma: float = 0.99
    """Discount."""
    gae_lambda: float = 0.95
    """Lambda of generalised advantage estimation."""
    num_minibatches: int = 8
    """Gradient steps per epoch."""
    update_epochs: int = 4
    """Passes over a rollout."""
    clip_coef: float = 0.2
    """How far the probability ratio may move from 1."""
    ent_coef: float = 0.01
    """Weight of the entropy bonus."""
    vf_coef: float = 0.5
    """Weight of the value loss."""
    max_grad_norm: float = 0.5
    """Maximum gradient norm."""
    seed: int = 1
    """Of games, weights and draws."""


class Network(nn.Module):
    """Logits (m, A), -inf where illegal, and values (m,)."""

    def __init__(self, size: int, actions: int, width: int = 128) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(size, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.actor, self.critic = nn.Linear(width, actions), nn.Linear(width, 1)
        nn.init.orthogonal_(self.actor.weight, 0.01)

    def forward(self, observation: Tensor, mask: Tensor) -> tuple[Categorical, Tensor]:
        """The distribution over legal actions, and the value."""
        hidden = self.body(observation)
        return Categorical(logits=self.actor(hidden).masked_fill(~mask, -torch.inf)), self.critic(hidden).squeeze(-1)


def masked_entropy(policy: Categorical) -> Tensor:
    """Entropy (m,); an illegal action counts 0, where 0 * -inf would be NaN."""
    return -(policy.probs * policy.logits.clamp(min=torch.finfo(torch.float32).min)).sum(-1)


class NetworkAgent(Agent):
    """The network at a table: the most probable legal action."""

    name = "ppo in one file"

    def __init__(self, network: Network) -> None:
        self.network = network

    @torch.no_grad()
    def act(self, observation, mask, memory):  # type: ignore[no-untyped-def]
        """Actions (m,)."""
        policy, _ = self.network(torch.from_numpy(observation).float(), torch.from_numpy(mask))
        return policy.logits.argmax(-1).numpy(), memory


def train(args: Args) -> Network:
    """PPO (arXiv 1707.06347). Arrays of a rollout are [T, B]: T decisions of B games."""
    torch.set_num_threads(1)  # a network this small is slower on several
    torch.manual_seed(args.seed)
    engine = ludory.make_engine(args.game, num_games=args.num_envs, seed=args.seed)
    size, actions = engine.facts.observation.size, engine.facts.num_actions
    network = Network(size, actions)
    optimizer = torch.optim.Adam(network.parameters(), lr=args.learning_rate, eps=1e-5)

    T, B = args.num_steps, args.num_envs
    observations, masks = torch.zeros(T, B, size), torch.zeros(T, B, actions, dtype=torch.bool)
    taken, log_probs = torch.zeros(T, B, dtype=torch.int64), torch.zeros(T, B)
    rewards, values, ended = torch.zeros(T, B), torch.zeros(T, B), torch.zeros(T, B)

    engine.reset()
    scores, running = [], np.zeros(B)
    iterations, started = args.total_timesteps // (T * B), time.time()
    for iteration in range(iterations):
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - iteration / iterations)

        # Play. The engine refuses illegal actions and never resets by itself: ended games are started anew here.
        for t in range(T):
            observations[t] = torch.from_numpy(engine.observe()).float()
            masks[t] = torch.from_numpy(engine.legal())
            with torch.no_grad():
                policy, values[t] = network(observations[t], masks[t])
                taken[t] = policy.sample()
                log_probs[t] = policy.log_prob(taken[t])
            engine.step(taken[t].numpy())
            reward, over = engine.rewards[:, 0], engine.terminated | engine.truncated
            rewards[t], ended[t] = torch.from_numpy(reward), torch.from_numpy(over).float()
            running += reward
            if over.any():
                rows = np.flatnonzero(over)
                scores.extend(running[rows])
                running[rows] = 0
                engine.reset(rows)

        # Advantages, from the last decision to the first; nothing flows over the end of a game.
        with torch.no_grad():
            _, following = network(torch.from_numpy(engine.observe()).float(), torch.from_numpy(engine.legal()))
            advantages, advantage = torch.zeros(T, B), torch.zeros(B)
            for t in reversed(range(T)):
                goes_on = 1 - ended[t]
                error = rewards[t] + args.gamma * goes_on * following - values[t]
                advantage = error + args.gamma * args.gae_lambda * goes_on * advantage
                advantages[t], following = advantage, values[t]
            returns = advantages + values

        # Learn from shuffled minibatches.
        flat = [x.flatten(0, 1) for x in (observations, masks, taken, log_probs, advantages, returns)]
        for _ in range(args.update_epochs):
            for rows in torch.randperm(T * B).chunk(args.num_minibatches):
                seen, legal, action, old_log_prob, gain, target = (x[rows] for x in flat)
                policy, value = network(seen, legal)
                ratio = (policy.log_prob(action) - old_log_prob).exp()
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                policy_loss = -torch.min(ratio * gain, clipped * gain).mean()
                value_loss = 0.5 * (value - target).square().mean()
                loss = policy_loss + args.vf_coef * value_loss - args.ent_coef * masked_entropy(policy).mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), args.max_grad_norm)
                optimizer.step()

        if (iteration + 1) % 10 == 0:
            steps = (iteration + 1) * T * B
            print(
                f"{steps:9,} decisions  {steps / (time.time() - started):8,.0f}/s  score {np.mean(scores[-1000:]):.2f}"
            )
    return network


def main(timesteps: int = 200_000) -> tuple[float, float]:
    """Train, and return the mean scores of random play and of the network."""
    args = Args(total_timesteps=timesteps)
    agents = {"random": "random", "learnt": NetworkAgent(train(args))}
    scores = {who: float(ludory.evaluate(agent, game=args.game, seed=99).mean) for who, agent in agents.items()}
    print(f"mean score of 1,000 games: {scores['random']:.2f} at random, {scores['learnt']:.2f} after training")
    return scores["random"], scores["learnt"]


if __name__ == "__main__":
    main()
