"""`DividedSampler`: a batch of games in shares, each played by another process, as if one process played all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ludory.agents import Policy, PolicySpec
from ludory.agents.networks.fast.sampling import pick_heads
from ludory.algorithms.config import playing_seats
from ludory.envs.engine.protocol import on_host
from ludory.envs.make import NamedGame, make_engine
from ludory.errors import OptionError

from .lanes import make_lanes
from .other_play import in_other_play
from .sampler import Played, Sampler
from .shaping import Shaping
from .step_locals import infos_of

Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Share:
    """Games `start` to `stop` of a batch, and everything that a worker needs to play them."""

    game: NamedGame
    policy: PolicySpec
    config: Any
    start: int
    stop: int
    teacher: str | None


class ShareSampler(Sampler):
    """A sampler of some lanes of a larger batch, which draws for them as a sampler of the whole batch does."""

    lanes_before, all_lanes, lockstep = 0, 0, False
    given: Tensor | None = None

    def typical(self, observation: Tensor) -> Tensor:
        """As `Sampler.typical`, of all games if they are known."""
        return super().typical(observation) if self.given is None else self.given

    def draw(self, policy: Policy, logits: Tensor, mask: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """As `Sampler.draw`."""
        if not self.lockstep:
            return super().draw(policy, logits, mask, generator)
        mine, every = slice(self.lanes_before, self.lanes_before + len(logits)), self.all_lanes
        if policy.box is None and logits.device.type == "cpu":
            noise = torch.rand(every, len(policy.head_sizes), generator=generator)[mine]
            return pick_heads(logits, mask, policy.head_sizes, noise)
        distribution = policy.distribution(logits, mask)
        actions = distribution.sample(generator, every, mine)
        return actions, distribution.log_prob(actions)


def share_sampler(share: Share, device: str = "cpu") -> ShareSampler:
    """The games of a share on a device, not yet started."""
    config, game = share.config, share.game.make()
    engine = make_engine(game, share.stop - share.start, device=device, seed=config.seed, first_game=share.start)
    lanes = in_other_play(make_lanes(game, engine, *playing_seats(game.facts, config.seats, config.others)), config)
    sampler = ShareSampler(lanes, config.precision, Shaping.of(game, engine, config.shaping))
    per_game = len(lanes.games) // engine.num_games
    sampler.lanes_before, sampler.all_lanes = share.start * per_game, config.num_envs * per_game
    return sampler


class DividedSampler(Sampler):
    """A sampler whose games are played in shares; `sampler` of this process stands for all of them.

    Args:
        sampler: of this process, whose games are the ones to play.
    """

    def __init__(self, sampler: Sampler) -> None:
        super().__init__(sampler.lanes, sampler.player.precision)
        self.critic, self.started, self.episodes, self._inner = (
            sampler.critic,
            sampler.started,
            sampler.episodes,
            sampler,
        )
        self._games: list[tuple[Arrays, Arrays]] = []
        """The states of the shares, where this process has them."""

    def state(self) -> dict[str, Tensor]:
        """As `Sampler.state`, of the games as they were after the last rollout."""
        return self._inner.state()

    def settle(self) -> None:
        """Copy the games of the shares into this process."""
        if self._games:
            fields = joined([fields for fields, _ in self._games])
            self.engine.load_fields(fields, check=False)
            self._inner.restore(tensors_of(joined([state for _, state in self._games])))

    def _tell(self, played: Played, on_step: Callable[[], bool]) -> bool:
        """Call `on_step` for every step; False if it wants to stop. `last_step` has `dones` and `infos` with `episode`, which workers send."""
        valid, decided = (played.columns[name] for name in ("valid", "decided"))
        for step, (done, returns, lengths) in enumerate(played.ended):
            self.episodes.add(returns, lengths)
            if self.watched:
                dones = np.isin(np.arange(self.engine.num_games), done)
                self._last_step = {"dones": dones, "infos": infos_of(len(dones), done, self.episodes)}
            acting = [part[step] for part in (valid, decided) if part is not None]
            self._decisions = len(played.last) if not acting else int(torch.stack(acting).all(0).sum())
            if not on_step():
                return False
        return True


def shares_of(games: int, count: int) -> Iterator[tuple[int, int]]:
    """First and last + 1 game of each of `count` shares of a batch.

    Raises:
        OptionError: there are fewer games than shares.
    """
    if not 1 <= count <= games:
        raise OptionError(f"{count} samplers for {games} games: must be 1 to {games}; take more games with --num-envs")
    edges = [games * k // count for k in range(count + 1)]
    return pairwise(edges)


def games_of(sampler: Sampler) -> tuple[Arrays, Arrays]:
    """Copies of the states of engine and sampler."""
    parts: tuple[Mapping[str, Any], ...] = sampler.engine.fields(), sampler.state()
    fields, state = ({name: np.array(on_host(one)) for name, one in part.items()} for part in parts)
    return fields, state


def rows_of(parts: Arrays, start: int, stop: int, games: int) -> Arrays:
    """The games of a share; single numbers are the same for all.

    Raises:
        OptionError: something is neither a single number nor by game.
    """
    if mixed := [name for name, part in parts.items() if part.ndim and len(part) != games]:
        raise OptionError(
            f"{', '.join(mixed)}: not kept by game, so that the games cannot be shared; train in one process"
        )
    return {name: part[start:stop].copy() if part.ndim else part for name, part in parts.items()}


def joined(shares: Sequence[Arrays]) -> Arrays:
    """The games of all shares."""
    first = shares[0]
    return {
        name: part if not part.ndim else np.concatenate([share[name] for share in shares])
        for name, part in first.items()
    }


def tensors_of(arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, Tensor]:
    """Copies, on the CPU."""
    return {name: torch.from_numpy(np.array(part)) for name, part in arrays.items()}
