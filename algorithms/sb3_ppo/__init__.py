"""PPO of Stable-Baselines3 and sb3-contrib (the real ones) as an algorithm of Ludory, and models in their file format."""

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .config import SB3PPOConfig as SB3PPOConfig
    from .sb3_ppo import SB3PPO as SB3PPO
    from .sb3_ppo import export_sb3 as export_sb3

__all__ = ["SB3PPO", "SB3PPOConfig", "export_sb3"]
__getattr__, __dir__ = published_by(__name__)
