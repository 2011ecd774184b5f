"""PPO: proximal policy optimisation (arXiv 1707.06347), masked, on batched engines."""

from .config import PPOConfig
from .ppo import PPO

__all__ = ["PPO", "PPOConfig"]
