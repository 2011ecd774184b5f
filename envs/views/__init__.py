"""Views of games for Gymnasium, PettingZoo, Stable-Baselines3, TorchRL and array libraries, all on the same engines."""

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .arrays import ArrayGames
    from .gymnasium_env import make_env
    from .gymnasium_vector import make_vector_env
    from .pettingzoo_aec import make_aec
    from .pettingzoo_parallel import make_parallel
    from .sb3 import to_sb3
    from .torchrl import make_torchrl

__all__ = ["ArrayGames", "make_aec", "make_env", "make_parallel", "make_torchrl", "make_vector_env", "to_sb3"]


__getattr__, __dir__ = published_by(__name__, extras=("torchrl",))  # tensordict is of no extra by name
