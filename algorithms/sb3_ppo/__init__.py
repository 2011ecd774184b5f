"""PPO of Stable-Baselines3 and sb3-contrib (the real ones) as an algorithm of Ludory, and models in their file format."""

from .config import SB3PPOConfig
from .export import export_sb3
from .sb3_ppo import SB3PPO

__all__ = ["SB3PPO", "SB3PPOConfig", "export_sb3"]
