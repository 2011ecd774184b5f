"""Play hands and label the states on their way: by anything legal, and by `texas42/pimc` with exploration.

States drawn uniformly from all that can be reached would nearly all be of the last tricks, because there are so many of those; a played
hand passes every decision once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.play.pimc import PimcAgent
from ludory.agents.texas42.solver.solver import Solver, positions_of
from ludory.agents.texas42.solver.states import open_positions, pack_masks
from ludory.data.formats.texas42.labels import (
    SEEDS,
    Labels,
    LabelSettings,
    LabelsName,
    first_seeds,
    read_labels,
    write_labels,
)
from ludory.data.formats.texas42.names import LAST_SEED
from ludory.envs import Engine, State, make_engine, make_game
from ludory.envs.texas42.start import seed_deal
from ludory.envs.texas42.tiles import STRAIGHT
from ludory.errors import DataError


def label_names(seeds: range | None, start: int = 0) -> Iterator[LabelsName]:
    """Names of the files that hold `seeds`, in order; endless from `start` on without them."""
    for first in first_seeds(seeds) if seeds is not None else count(start - start % SEEDS, SEEDS):
        if first > LAST_SEED:
            return
        yield LabelsName(first)


def make_labels(file: str | Path, name: LabelsName, settings: LabelSettings) -> int:
    """Play the deals of a file and write its labels; returns their number.

    Raises:
        OutputError: the file cannot be written.
    """
    labels = play_and_label(name.seeds, settings)
    write_labels(file, name, settings, labels)
    return len(labels.state)


def play_and_label(seeds: range, settings: LabelSettings) -> Labels:
    """Labels of all decisions with a choice, in order of deals, hands and moves; each deal's are the same whatever others are asked for."""
    hands = [(seed, path) for seed in seeds for path in range(settings.paths)]
    seed = np.array([one for one, _ in hands])
    behaviour = np.array([path % 2 for _, path in hands], np.int8)
    decl = np.array([STRAIGHT[one % len(STRAIGHT)] for one in seed])
    draws = [
        np.random.default_rng([settings.sampler_seed, *map(int, key)])
        for key in zip(seed, decl, (p for _, p in hands), strict=True)
    ]
    leader = np.array([draw.integers(4) for draw in draws])
    deal = np.array([[tile for hand in seed_deal(int(one)) for tile in hand] for one in seed])
    engine = make_engine("Texas42Play-v0", len(hands))
    engine.reset(options={"deal": deal, "decl": decl, "bidder": leader, "leader": leader})
    player, solver, parts = _Player(settings, behaviour == 1, draws), Solver(threads=1), []
    for decision in range(28):
        legal = engine.legal()
        open_ = np.flatnonzero(legal.sum(axis=1) > 1)
        values, q = solver.q_values(positions_of(engine.state, open_))
        tiles = deal.reshape(-1, 4, 7)[open_, engine.to_move[open_]]
        same = (
            seed[open_],
            np.full(len(open_), -1),
            decl[open_].astype(np.int8),
            leader[open_].astype(np.int8),
            deal[open_].astype(np.int8),
        )
        at = np.full(len(open_), decision, np.int8)
        state = pack_states(engine.state, deal)[open_]
        parts.append((open_, Labels(*same, at, state, values, np.take_along_axis(q, tiles, 1), behaviour[open_])))
        engine.step(player.choose(engine, legal))
    order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
    return Labels(*(np.concatenate(columns)[order] for columns in zip(*(part for _, part in parts), strict=True)))


class _Player:
    """Plays all hands, each with draws of its own."""

    def __init__(self, settings: LabelSettings, searches: NDArray[np.bool_], draws: list[np.random.Generator]) -> None:
        self._agent = PimcAgent(make_game("Texas42Play-v0"), settings.worlds, seed=settings.sampler_seed)
        self._epsilon, self._searches, self._draws = settings.epsilon, searches, draws

    def choose(self, engine: Engine, legal: NDArray[np.bool_]) -> NDArray[np.int64]:
        """(n,) tiles."""
        explores = np.array([draw.random() < self._epsilon for draw in self._draws])
        tiles = np.array([draw.choice(np.flatnonzero(row)) for draw, row in zip(self._draws, legal, strict=True)])
        searching = self._searches & ~explores & (legal.sum(axis=1) > 1)
        memory = self._agent.initial_memory(len(tiles))
        for seat in range(4):
            rows = np.flatnonzero(searching & (engine.to_move == seat))
            if len(rows):
                tiles[rows] = self._agent.choose(engine, seat, rows, memory)
        return tiles


def pack_states(state: State, deal: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) the 41 bits of games that are being played; deal: (n, 28) tile ids, each hand ascending."""
    return pack_masks(deal.reshape(-1, 4, 7), state.held, state.leader, state.trick[:, :3])


def verify_labels(file: str | Path, every: int = 50) -> int:
    """Read labels from end to end and solve one of `every` anew; returns their number.

    Raises:
        DataError: damaged, foreign, or a value is wrong.
    """
    labels = read_labels(file)
    rows = np.arange(0, len(labels.state), every)
    given, tiles = open_positions(labels.deal[rows], labels.decl[rows], labels.state[rows])
    values, q = Solver(threads=1).q_values(given)
    wrong = (values != labels.value[rows]) | (np.take_along_axis(q, tiles, 1) != labels.q[rows]).any(axis=1)
    if wrong.any():
        row = int(rows[wrong.argmax()])
        raise DataError(
            f"{file}, row {row}: V {labels.value[row]}, q {labels.q[row].tolist()} are not the values of its state"
        )
    return len(labels.state)
