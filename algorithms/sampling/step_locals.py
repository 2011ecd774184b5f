"""What callbacks read of a step, under the names of Stable-Baselines3's `locals`, and `ep_info_buffer`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.agents.networks.layers.packed_linear import unpack
from ludory.envs.engine.protocol import ArrayOrTensor, on_host

from .lanes import Lanes

EPISODES = 100
"""Length of `ep_info_buffer`, as in Stable-Baselines3."""


class EpisodeBuffer:
    """The newest games that ended: return `r` and length `l` of each, and `t`, seconds since the start.

    They are kept as arrays, a step at a time, so that a game costs nothing unless somebody reads it.
    """

    def __init__(self) -> None:
        self._began = time.time()
        self._steps: deque[tuple[NDArray[np.float32], NDArray[np.int64], float]] = deque(maxlen=EPISODES)

    def add(self, returns: NDArray[np.float32], lengths: NDArray[np.int64]) -> None:
        """Add the games (m,) that ended in a step."""
        if len(returns):
            self._steps.append((returns, lengths, round(time.time() - self._began, 6)))

    def newest_first(self) -> Iterator[dict[str, Any]]:
        """The games, from the last one back."""
        for returns, lengths, seconds in reversed(self._steps):
            for total, length in zip(reversed(returns), reversed(lengths), strict=True):
                yield {"r": float(total), "l": int(length), "t": seconds}

    def as_deque(self) -> deque[dict[str, Any]]:
        """The last `EPISODES` games, the newest at the end."""
        return deque(reversed(list(islice(self.newest_first(), EPISODES))), maxlen=EPISODES)


def infos_of(games: int, ended: NDArray[np.int64], episodes: EpisodeBuffer) -> list[dict[str, Any]]:
    """A dict for each of N games, with `episode` where it is one of `ended` (m,), which were the last to be added to `episodes`."""
    infos: list[dict[str, Any]] = [{} for _ in range(games)]
    for row, episode in zip(reversed(ended), episodes.newest_first(), strict=False):
        infos[row]["episode"] = episode
    return infos


class StepLocals:
    """Makes the variables of a step of N games, where a callback may read them.

    Args:
        lanes: of the sampler.
    """

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self._final: dict[int, NDArray[Any]] = {}

    def before_restart(self, ended: NDArray[np.int64]) -> None:
        """Keep the final observations of the games `ended` (m,), which start anew."""
        lanes = self._lanes
        here = torch.isin(lanes.games, lanes.games.new_tensor(ended)).nonzero().squeeze(1)
        self._final = dict(zip(ended.tolist(), self._seen(lanes.observe(here), len(ended)), strict=True))

    def made(
        self,
        actions: Tensor,
        rewards: ArrayOrTensor,
        truncated: NDArray[np.int64],
        ended: NDArray[np.int64],
        observation: Tensor,
        episodes: EpisodeBuffer,
    ) -> dict[str, Any]:
        """The variables after a step.

        Args:
            actions: (lanes, H) as played.
            rewards: (N, P).
            truncated: games that were cut off, rather than ended by their rules.
            ended: (m,) games that are over; new ones run in their place.
            observation: of the decisions to come.
            episodes: with the games that ended.
        """
        lanes, games = self._lanes, self._lanes.engine.num_games
        dones = np.zeros(games, bool)
        dones[ended] = True
        infos = infos_of(games, ended, episodes)
        cut = set(truncated.tolist())
        for row in ended.tolist():
            infos[row] |= {"terminal_observation": self._final[row], "TimeLimit.truncated": row in cut}
        played = on_host(actions)
        return {
            "actions": self._by_game(
                played[:, 0] if played.shape[1] == 1 and lanes.facts.box is None else played, games
            ),
            "rewards": np.array(on_host(lanes.results(rewards)), np.float32),
            "dones": dones,
            "infos": infos,
            "new_obs": self._seen(observation, games),
        }

    def _seen(self, observation: Tensor, games: int) -> NDArray[Any]:
        """(games, *shape) of observations as the lanes have them; (games, P, *shape) where every seat is a lane."""
        spec = self._lanes.facts.observation
        values = unpack(observation, spec.size) if spec.bits else observation
        return self._by_game(on_host(values).reshape(len(values), *spec.shape).astype(spec.dtype), games)

    def _by_game(self, values: NDArray[Any], games: int) -> NDArray[Any]:
        """(games, ...), or (games, P, ...) of (games * P, ...); a copy."""
        return (values if len(values) == games else values.reshape(games, -1, *values.shape[1:])).copy()
