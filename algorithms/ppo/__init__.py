"""PPO: proximal policy optimisation (arXiv 1707.06347), masked, on batched engines."""

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .config import PPOConfig as PPOConfig
    from .ppo import PPO as PPO

__all__ = ["PPO", "PPOConfig"]
__getattr__, __dir__ = published_by(__name__)
