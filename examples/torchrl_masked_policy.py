"""TorchRL learns a game: its actor, its GAE and its PPO loss on a batch of games with legal masks.

pip install 'ludory[torchrl]'; python examples/torchrl_masked_policy.py
"""

from __future__ import annotations

import torch
from tensordict.nn import ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential, TensorDictModule
from torch import nn
from torchrl.envs.utils import ExplorationType, set_exploration_type
from torchrl.modules import MaskedCategorical, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from ludory.envs.views import make_torchrl


class Bits(nn.Sequential):
    """Two layers over observations, which are bits."""

    def __init__(self, size: int, outputs: int) -> None:
        super().__init__(nn.Linear(size, 64), nn.Tanh(), nn.Linear(64, outputs))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Outputs (..., outputs) of uint8 observations (..., size)."""
        return super().forward(observation.float())


def main(iterations: int = 30, num_envs: int = 64, steps: int = 16) -> tuple[float, float]:
    """Learn a tiny Hanabi; returns rewards per decision in the first and in the last iteration."""
    torch.manual_seed(0)
    env = make_torchrl("HanabiTiny2P-v0", num_envs, illegal="raise")
    env.set_seed(0)
    facts = env.games.facts
    logits = TensorDictModule(Bits(facts.observation.size, facts.num_actions), ["observation"], ["logits"])
    choice = ProbabilisticTensorDictModule(
        {"logits": "logits", "mask": "action_mask"},
        ["action"],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    actor = ProbabilisticTensorDictSequential(logits, choice)
    critic = ValueOperator(Bits(facts.observation.size, 1), in_keys=["observation"])
    advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
    objective = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
    optimizer = torch.optim.Adam(objective.parameters(), lr=3e-3)
    rewards, state = [], env.reset()
    for _ in range(iterations):
        with torch.no_grad(), set_exploration_type(ExplorationType.RANDOM):
            played = env.rollout(steps, actor, auto_reset=False, tensordict=state, break_when_any_done=False)
            state = env.step_mdp(played[:, -1])
            state = env.maybe_reset(state)
            advantage(played)
        rewards.append(played["next", "reward"].mean().item())
        for _ in range(4):
            losses = objective(played.reshape(-1))
            loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"reward per decision: {rewards[0]:.3f} at first, {rewards[-1]:.3f} after {iterations} iterations")
    return rewards[0], rewards[-1]


if __name__ == "__main__":
    main()
