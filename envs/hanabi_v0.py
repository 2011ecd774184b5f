"""Hanabi in PettingZoo's way: `hanabi_v0.env(players=3)`, `.parallel_env(...)`, `.raw_env(...)`; options as of `Hanabi-v0`."""

from __future__ import annotations

from functools import partial

from ludory.envs.views.pettingzoo_aec import make_aec
from ludory.envs.views.pettingzoo_parallel import make_parallel

env = partial(make_aec, "Hanabi-v0")
"""Seats move in turn; an `AECEnv`."""
raw_env = env
"""The same: the view checks its input itself and needs no wrappers."""
parallel_env = partial(make_parallel, "Hanabi-v0")
"""All seats act at once, those not to move wait; a `ParallelEnv`."""
