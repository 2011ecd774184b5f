"""Other-play: each seat sees every game under a symmetry of its own, so that no convention can rest on names that a stranger may swap.

Hu, Lerer, Peysakhovich, Foerster: "Other-Play" for zero-shot coordination (2020, arXiv 2003.02979): the policy is trained for the
mean over symmetries phi of J(pi, phi(pi)).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ludory.agents.networks.layers.packed_linear import unpack
from ludory.agents.networks.policy import Policy
from ludory.algorithms.config import AlgorithmConfig
from ludory.envs import Game, on_host, run_parts
from ludory.envs.chance import KEY, hash_rows
from ludory.envs.engine.binding.cached_kernel import cached_kernel
from ludory.errors import OptionError

from .lanes import Lanes
from .rollout import pack_bits

DRAWS, MOST = 2048, 256
"""Symmetries that are drawn to know those of a game, and the most that are kept: Hanabi has 5! = 120."""


class SymmetryTables(NamedTuple):
    """K different symmetries of a game; E entries of an observation, with bits rounded up to bytes, A columns of masks."""

    observation: Tensor  # (K, E) int64, where each entry comes from
    columns: (
        Tensor  # (K, A) int64, where each column of a renamed mask comes from; as actions: from the new name to the old
    )


def symmetry_tables(game: Game) -> SymmetryTables:
    """Symmetries of a game, each once; of a game with very many, `MOST` that are drawn at random.

    Raises:
        OptionError: the game declares none.
    """
    draw = game.analysis.symmetry
    if draw is None:
        raise OptionError(
            f"other_play: no symmetry of {game.id or game.name} is known; declare one with Analysis(symmetry=...), or leave it out"
        )
    # always the same draws: a run must find the same tables when it is resumed
    generator = np.random.default_rng(0)
    known: dict[bytes, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    for _ in range(DRAWS):
        one = draw(generator)
        known.setdefault(one.observation.tobytes() + one.actions.tobytes(), (one.observation, np.argsort(one.actions)))
        if len(known) == MOST:
            break
    seen = np.stack([observation for observation, _ in known.values()])
    if game.facts.observation.bits:
        # the bits that fill the last byte stay where they are: they are 0
        rest = np.arange(seen.shape[1], -(-seen.shape[1] // 8) * 8)
        seen = np.concatenate([seen, np.tile(rest, (len(seen), 1))], axis=1)
    return SymmetryTables(
        torch.from_numpy(seen), torch.from_numpy(np.stack([columns for _, columns in known.values()]))
    )


class OtherPlayLanes:
    """`Lanes` in which every seat sees its games, and names its actions, under a symmetry that is drawn when a game starts.

    The draw is a hash of the game's own key and the seat: it is part of the state of the engine, is saved with it, and does not depend
    on who plays the game. What is not defined here is as in `lanes`.

    Args:
        lanes: of a game with compiled rules and a known symmetry.
    """

    def __init__(self, lanes: Lanes) -> None:
        self._inner = lanes
        lanes.game.needed_kernels("other_play")
        self._bits = lanes.facts.observation.bits
        tables = symmetry_tables(lanes.game)
        device = torch.as_tensor(lanes.engine.to_move).device
        self._entries, self._columns = tables.observation.to(device), tables.columns.to(device)
        self._packed = tables.observation.numpy().astype(np.int32)
        sizes = lanes.facts.head_sizes
        self._starts = torch.tensor(np.cumsum((0, *sizes[:-1])), device=device)
        self._chosen = torch.zeros(lanes.engine.num_games, lanes.facts.players, dtype=torch.int64, device=device)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def generator(self) -> torch.Generator | None:
        """As `Lanes.generator`."""
        return self._inner.generator

    @generator.setter
    def generator(self, generator: torch.Generator | None) -> None:
        self._inner.generator = generator

    def start(self, rows: NDArray[np.int64] | None = None) -> None:
        """As `Lanes.start`; seats get new symmetries."""
        self._inner.start(rows)
        self._choose(np.arange(len(self._chosen)) if rows is None else np.asarray(rows))

    def restore(self, state: Mapping[str, Tensor]) -> bool:
        """As `Lanes.restore`; the symmetries follow from the games."""
        self._choose(np.arange(len(self._chosen)))
        return self._inner.restore(state)

    def observe(self, lanes: Tensor | None = None) -> Tensor:
        """As `Lanes.observe`, under new names."""
        here: Any = slice(None) if lanes is None else lanes
        # the lanes' order of games and seats is settled by observing them
        seen = self._inner.observe(lanes)
        return self._seen(seen, self._codes()[here])

    def observe_seat(self, seat: int, rows: ArrayLike) -> Tensor:
        """As `Lanes.observe_seat`, under new names."""
        return self._seen(self._inner.observe_seat(seat, rows), self._chosen[torch.as_tensor(rows), seat])

    def legal(self) -> Tensor:
        """As `Lanes.legal`, under new names."""
        return self._inner.legal().gather(1, self._columns[self._codes()])

    def joint(self, actions: Tensor) -> Tensor:
        """As `Lanes.joint`, of actions with their new names; the result has the old ones."""
        return self._inner.joint(self._columns[self._codes()].gather(1, actions + self._starts) - self._starts)

    def _choose(self, rows: NDArray[np.int64]) -> None:
        keys = on_host(self._inner.engine.state.random)[rows, KEY]
        # hashes of negative counters: the game draws with others
        seats = -2 - np.arange(self._chosen.shape[1])
        drawn = hash_rows(keys[:, None], seats) % len(self._columns)
        self._chosen[torch.as_tensor(rows)] = torch.from_numpy(drawn).to(self._chosen.device)

    def _codes(self) -> Tensor:
        """(lanes,) number of each lane's symmetry. A game that is over shows what its first seat sees."""
        return self._chosen[self._inner.games, self._inner.seats().clamp(min=0)]

    def _seen(self, seen: Tensor, codes: Tensor) -> Tensor:
        if not self._bits:
            return seen.gather(1, self._entries[codes])
        if seen.device.type == "cpu":
            rows = np.ascontiguousarray(seen.numpy())
            out = np.empty_like(rows)
            run_parts(_gather_bits, len(rows), rows, self._packed, codes.numpy(), out)
            return torch.from_numpy(out)
        return pack_bits(unpack(seen, self._entries.shape[1]).gather(1, self._entries[codes]))


@cached_kernel(nogil=True, error_model="numpy")
def _gather_bits(packed, tables, codes, out, start, stop):  # type: ignore[no-untyped-def]
    """Rows of bits, each by the table that its code names."""
    size = packed.shape[1]
    bits = np.empty(8 * size, np.uint8)
    for i in range(start, stop):
        for j in range(size):
            byte = packed[i, j]
            for k in range(8):
                bits[8 * j + k] = (byte >> (7 - k)) & 1
        table = tables[codes[i]]
        for j in range(size):
            byte = 0
            for k in range(8):
                byte = (byte << 1) | bits[table[8 * j + k]]
            out[i, j] = byte


def in_other_play(lanes: Lanes, config: AlgorithmConfig) -> Lanes:
    """`lanes`, or these with a symmetry for each seat if the config asks for other-play.

    Raises:
        OptionError: the game has no known symmetry, or the value would see it under its own names.
    """
    if not getattr(config, "other_play", False):
        return lanes
    if getattr(config, "privileged_value", False):
        raise OptionError(
            "other_play: privileged_value sees games under their own names, not as the seats do; leave out one of them"
        )
    return cast(Lanes, OtherPlayLanes(lanes))


def check_network(policy: Policy, config: object) -> None:
    """Raise an OptionError if a policy in other-play takes the last moves as input: they have the names of the game."""
    if getattr(config, "other_play", False) and policy.uses_previous:
        raise OptionError(
            f"other_play: {policy.id} is told the last moves under their own names; take 'mlp' or 'gru', or leave it out"
        )
