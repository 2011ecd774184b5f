"""A learning algorithm of your own: a class with two methods, which any package can bring.

python examples/reinforce.py

Saving, resuming, logging, callbacks and the command line come with the base class. An entry point in the `pyproject.toml` of your
package registers the algorithm, so that `ludory train my-reinforce` and `make_algorithm("my-reinforce", ...)` find it:

    [project.entry-points."ludory.algorithms"]
    "my-reinforce-v1" = "my_package:Reinforce"

`ludory new algorithm NAME` writes such a package, with a config, an optimiser that is saved, and a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch.nn.functional import mse_loss

import ludory
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.sampling.rollout import minibatches


class Reinforce(Algorithm):
    """REINFORCE with a learnt baseline (Williams, 1992)."""

    id = "my-reinforce-v1"

    def setup(self) -> None:
        """Make the optimiser; `self.policy` is the network."""
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-2)

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """Play 16 decisions in every game, then follow the gradient once; returns numbers to log."""
        rollout, games = self.sampler.collect(self.policy, 16, self.generator, on_step)
        if rollout is None:  # a callback asked to stop
            return None
        advantages, returns = rollout.gae(gamma=1.0, lam=1.0)
        width = self.game.facts.num_actions
        (batch,) = minibatches(rollout, advantages, returns, width, returns.numel(), self.generator)
        output = self.policy(batch.observations)
        log_prob = self.policy.distribution(output.logits, batch.masks).log_prob(batch.actions).sum(-1)
        loss = mse_loss(output.values, batch.returns) - (log_prob * batch.advantages).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"rollout/ep_rew_mean": float(games.returns.mean()), "train/loss": loss.item()}


def main(timesteps: int = 60_000) -> tuple[float, float]:
    """Train on a tiny Hanabi, and return the mean scores of random play and of what was learnt."""
    model = Reinforce("mlp(hidden=(32,))", "HanabiTiny2P-v0", num_envs=32, seed=1).learn(timesteps)
    agents = {"random": "random", "learnt": model.as_agent()}
    scores = {who: float(ludory.evaluate(agent, game=model.game, seed=2).mean) for who, agent in agents.items()}
    print(
        f"mean score of 1,000 games: {scores['random']:.2f} at random, {scores['learnt']:.2f} after {timesteps:,} moves"
    )
    return scores["random"], scores["learnt"]


if __name__ == "__main__":
    main()
