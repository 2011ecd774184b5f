"""What PIMC plays in contracts, as examples: the features of the tiles that could be played, and which one was."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.bidding.contracts import hands_of, standard_contracts
from ludory.agents.texas42.play.choice import Averager
from ludory.agents.texas42.play.play_outs import describe_rows
from ludory.agents.texas42.play.rollout import choose_tiles
from ludory.agents.texas42.play.tile_features import FEATURES
from ludory.agents.texas42.solver.solver import Solver
from ludory.atomic import atomic_file
from ludory.envs.chance import hash_rows
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.texas42 import make_play
from ludory.envs.texas42.tiles import TILES
from ludory.errors import DataError
from ludory.reading import read_npz

CHUNK, STREAM = 100, 1000
"""Deals of a file; the stream of deals, which the strength benchmark does not use."""
MOST = 7
"""Tiles of a hand."""


class Examples(NamedTuple):
    """n decisions with a choice, of h hands."""

    features: NDArray[np.int8]
    """(n, MOST, FEATURES) of the tiles that could be played, ascending, then zeros."""
    number: NDArray[np.int8]
    """(n,) of these tiles."""
    chosen: NDArray[np.int8]
    """(n,) place of the tile played among them."""
    deal: NDArray[np.int32]
    """(n,) number of the deal."""
    hand: NDArray[np.int32]
    """(h,) mask of the bidder's tiles."""
    decl: NDArray[np.int8]
    """(h,) what it declared."""


def play_examples(first: int, count: int, worlds: int = 10) -> Examples:
    """Play the contracts first, first + 1, ... with PIMC in all seats, up to where each is decided."""
    contracts = standard_contracts(first, count, STREAM)
    engine = KernelEngine(make_play(reward="make", early_stop=True), count, seed=0)
    engine.reset(options=contracts.options)
    averager, parts = Averager(Solver(), worlds), []
    while not engine.over.all():
        masks, ply = engine.legal(), int(engine.state.plays.max())
        actions, free = choose_tiles(averager, engine, hash_rows(STREAM, (first + np.arange(count)) * TILES + ply))
        features = np.zeros((len(free), MOST, FEATURES), np.int8)
        describe_rows(engine.records, free, np.asarray(engine.to_move)[free], masks[free], features)
        before = np.array([masks[k, : actions[k]].sum() for k in free], np.int8)
        parts.append((features, masks[free].sum(axis=1).astype(np.int8), before, (first + free).astype(np.int32)))
        engine.step(actions)
    features, number, chosen, deal = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Examples(features, number, chosen, deal, hands_of(contracts.deals)[:, 0], contracts.decls.astype(np.int8))


def _read(file: Path) -> Examples:
    try:
        arrays = read_npz(file)
        found = Examples(*(arrays[name] for name in Examples._fields))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
        raise DataError(f"{file}: damaged ({error}); delete it, then it is played anew") from error
    chosen, hands = found.chosen, found.hand
    fits = found.features.shape == (len(chosen), MOST, FEATURES) and found.decl.shape == hands.shape == (CHUNK,)
    if not fits or not (len(found.number) == len(found.deal) == len(chosen)):
        raise DataError(f"{file}: arrays do not fit each other; delete it, then it is played anew")
    if ((found.number < 1) | (found.number > MOST) | (chosen < 0) | (chosen >= found.number)).any():
        raise DataError(f"{file}: a tile was chosen that could not be played; delete it, then it is played anew")
    return found


def gather_examples(folder: Path, hands: int, done: Callable[[int], None] | None = None) -> Examples:
    """Examples of at least so many hands, from the files in `folder`; those that are missing are played first, one file after another."""
    files = [folder / f"deals_{first:08d}.npz" for first in range(0, hands, CHUNK)]
    for k, file in enumerate(files):
        if not file.exists():
            found = play_examples(k * CHUNK, CHUNK)
            with atomic_file(file) as handle:
                np.savez_compressed(handle, **found._asdict())
        if done:
            done((k + 1) * CHUNK)
    parts = []
    for file in files:
        parts.append(_read(file))
    return Examples(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
