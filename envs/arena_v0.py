"""The arena in PettingZoo's way: `arena_v0.parallel_env(players=2)`, `.env(...)`, `.raw_env(...)`; options as of `Arena-v0`."""

from __future__ import annotations

from functools import partial

from ludory.envs.views.pettingzoo_aec import make_aec
from ludory.envs.views.pettingzoo_parallel import make_parallel

parallel_env = partial(make_parallel, "Arena-v0")
"""All seats act at once; a `ParallelEnv`."""
env = partial(make_aec, "Arena-v0")
"""The same through PettingZoo's conversion: seats say in turn what they do at once; an `AECEnv`."""
raw_env = env
"""The same: the view checks its input itself and needs no wrappers."""
