"""Fixed contracts of Texas 42 in PettingZoo's way: `texas42_play_v0.env()`, `.parallel_env(...)`, `.raw_env(...)`; options as of `Texas42Play-v0`."""

from __future__ import annotations

from functools import partial

from ludory.envs.views.pettingzoo_aec import make_aec
from ludory.envs.views.pettingzoo_parallel import make_parallel

env = partial(make_aec, "Texas42Play-v0")
"""Seats move in turn; an `AECEnv`."""
raw_env = env
"""The same: the view checks its input itself and needs no wrappers."""
parallel_env = partial(make_parallel, "Texas42Play-v0")
"""All seats act at once, those not to move wait; a `ParallelEnv`."""
