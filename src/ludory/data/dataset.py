"""`TrajectoryDataset`: reads recorded games from disk in batches, with memory that does not grow with the set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from ludory.checkpoints.hub import local_path
from ludory.data.recording.search_columns import PREVIOUS
from ludory.errors import DataError, OptionError
from ludory.reading import read_json

from .checks import Problem
from .columns import from_table
from .decisions import Arrays, Decisions, Sequences, as_decisions, as_sequences, decision_arrays, last_moves
from .header import TrajectoryHeader, header_to_json
from .shards import MANIFEST, ShardIndex, index_shard, open_shard, read_manifest, read_unit, shard_file, shard_header
from .shuffle_pool import drawn
from .split import SPLITS, Split, check_split, in_split

LAST_MOVES = "last_moves"
"""P numbers: the last action of every seat; A stands for none."""
NAMES = "names.json"
"""File of a converted dataset: `names` of its games by id, and hashes of their `logs`."""
MOST_SHARDS = 100_000
"""Limit set by the five digits in the names of files."""


class TrajectoryDataset:
    """The games of a folder that `ludory record` or `ludory convert` wrote, or of one of its files.

    Opening a set checks all of it, once per process as long as the files stay the same: actions are legal, masks leave a choice,
    numbers are finite, and games are whole.

    Args:
        path: folder or file, or hf://datasets/owner/name on the Hugging Face hub.
        split: which games to read; "all" for all of them.
        skip_bad: leave out games with a problem and list them in `skipped`, instead of refusing the set.
        split_ratio: fractions of train, val and test.
        split_seed: seed of the split.
        extras: extra columns to return in `Decisions.extras` if the set has them; `LAST_MOVES` is available for any sequential game
            with one head.
        discount: of the returns per move, for games with shared rewards.
        observation: what to compute from a file of another format; see `GameFormat.as_dataset`.
        remap_vocab: accept such a file of other vocabularies.

    Attributes:
        layout: columns of `Decisions.extras` by name.
        header: what was recorded.
        num_games: number of games in the split.
        skipped: what `skip_bad` left out, and why.
        skipped_games: number of games left out, without those of unreadable files.

    Raises:
        DataError: there is a problem (the message names file, row and field), or the split has no game.
        OptionError: the split is unknown, or the ratios are not fractions of 1.
    """

    header: TrajectoryHeader

    def __init__(
        self,
        path: str | Path,
        split: Split = "all",
        *,
        skip_bad: bool = False,
        split_ratio: tuple[float, float, float] = (0.9, 0.05, 0.05),
        split_seed: int = 0,
        extras: Sequence[str] = (),
        discount: float = 1.0,
        observation: str | None = None,
        remap_vocab: bool = False,
    ) -> None:
        check_split(split, split_ratio)
        self.path = _as_dataset(Path(local_path(path)), observation, remap_vocab)
        self.split, self.skipped = split, list[Problem]()
        header, self._files, counts = _files(self.path)
        self._shards: list[ShardIndex] = []
        for file, count in zip(self._files, counts, strict=True):
            self._shards.append(self._checked(index_shard(file), file, header, count, skip_bad))
            header = header or self._shards[-1].header
        self._refuse_repeated_games(skip_bad)
        if header is None:
            raise DataError(f"{self.path}: nothing is left of it: {self.skipped[0]}")
        self.header = header
        self.layout, self._discount = _layout(header, extras), discount
        self.skipped_games = sum(int(shard.bad.sum()) for shard in self._shards)
        self._chosen = [
            ~shard.bad & in_split(split, header, shard.games, shard.seeds, split_ratio, split_seed)
            for shard in self._shards
        ]
        self.num_games = sum(int(chosen.sum()) for chosen in self._chosen)
        self._rows = sum(int(s.rows[chosen].sum()) for s, chosen in zip(self._shards, self._chosen, strict=True))
        if not self.num_games:
            raise DataError(self._why_empty(split_ratio))

    def _checked(
        self, shard: ShardIndex, file: Path, header: TrajectoryHeader | None, count: int | None, skip_bad: bool
    ) -> ShardIndex:
        if shard.header is not None and header is not None and shard.header != header:
            shard = shard._replace(bad=np.ones_like(shard.bad), problems=(_other_header(file, shard.header, header),))
        if count is not None and shard.header is not None and len(shard.games) != count:
            other = Problem(str(file), None, "game", f"{len(shard.games)} games", f"{count} games, as {MANIFEST} says")
            shard = shard._replace(problems=(*shard.problems, other))
        if shard.problems and not skip_bad:
            raise DataError(_refusal(shard.problems))
        self.skipped += shard.problems
        return shard

    def _refuse_repeated_games(self, skip_bad: bool) -> None:
        """Refuse two games with one id, which is also what a game with scattered rows looks like."""
        games = np.concatenate([shard.games for shard in self._shards])
        ids, first, counts = np.unique(games, return_index=True, return_counts=True)
        if (counts == 1).all():
            return
        repeated = ids[counts > 1]
        again = np.isin(games, repeated)
        again[first] = False  # the problem stands where the game comes again
        place, problems = 0, []
        for shard, file in zip(self._shards, self._files, strict=True):
            rows = np.cumsum(shard.rows) - shard.rows
            for number in np.flatnonzero(again[place : place + len(rows)]):
                got = f"game {shard.games[number]} a second time"
                problems.append(
                    Problem(str(file), int(rows[number]), "game", got, "once in a dataset, its rows together")
                )
            place += len(rows)
        if not skip_bad:
            raise DataError(_refusal(problems))
        self.skipped += problems
        self._shards = [shard._replace(bad=shard.bad | np.isin(shard.games, repeated)) for shard in self._shards]

    def _why_empty(self, ratio: tuple[float, float, float]) -> str:
        games = sum(len(shard.games) for shard in self._shards)
        left_out = f", {self.skipped_games} of them bad" if self.skipped else ""
        part = f" (split_ratio {ratio[SPLITS.index(self.split)]:g})" if self.split != "all" else ""
        return (
            f"{self.path}: split {self.split!r}{part} is empty: the set has {games} games{left_out}; "
            "record more games, or learn from all of them with split_ratio=(1, 0, 0) (--split-ratio 1 0 0)"
        )

    def __len__(self) -> int:
        """Number of decisions in the split."""
        return self._rows

    def tables(self) -> Iterator[pa.Table]:
        """Yield the split in stored order with all columns, a few whole games at a time."""
        for shard, unit in self._units(None):
            yield self._table(shard, unit)

    def names_of(self, games: Sequence[int]) -> list[str]:
        """Names of games by their ids, such as those of the battles in a converted file; the ids themselves where none are known."""
        names = self._told("names")
        return [names.get(str(game), str(game)) for game in games]

    def _told(self, what: str) -> dict[str, str]:
        """Names or hashes of logs by game; empty where the set has none.

        Raises:
            DataError: the file is damaged.
        """
        file = self.path / NAMES
        if not file.exists():
            return {}
        try:
            return {str(game): str(value) for game, value in read_json(file, finite=True).get(what, {}).items()}
        except (OSError, ValueError, AttributeError) as error:
            raise DataError(f"{file}: damaged ({error}); remove its folder, then it is made again") from error

    @cached_property
    def identities(self) -> dict[object, int]:
        """What tells a game apart from those of other sets, to its id: the seed of a recorded game, the log of a converted battle, else the id."""
        logs, found = self._told("logs"), dict[object, int]()
        for shard, chosen in zip(self._shards, self._chosen, strict=True):
            for game, seed in zip(shard.games[chosen].tolist(), shard.seeds[chosen].tolist(), strict=True):
                found[(game, seed)] = game
                if logs.get(str(game)):
                    found[logs[str(game)]] = game
        return found

    def batches(self, size: int, *, seed: int | None = None, epoch: int = 0) -> Iterator[Decisions]:
        """Yield batches of `size` decisions; the last one may be smaller.

        Args:
            size: rows of a batch.
            seed: of the order; None keeps the stored order. Otherwise files and parts of files come in random order, and rows are drawn
                from a pool of thousands of games.
            epoch: gives each epoch another order with the same seed.
        """
        draw = _generator("size", size, seed, epoch)
        for rows in drawn(self._arrays(draw), size, draw, whole_games=False):
            yield as_decisions(rows)

    def sequences(self, games: int, *, seed: int | None = None, epoch: int = 0) -> Iterator[Sequences]:
        """Yield batches of the whole sequences of all seats of `games` games; the last one may have fewer. The order is that of `batches`."""
        draw = _generator("games", games, seed, epoch)
        for rows in drawn(self._arrays(draw), games, draw, whole_games=True):
            yield as_sequences(rows, self.header.players)

    def _units(self, draw: np.random.Generator | None) -> Iterator[tuple[int, int]]:
        """(shard, row group) of every row group with a game of the split."""
        units = [
            (number, int(unit))
            for number, (shard, chosen) in enumerate(zip(self._shards, self._chosen, strict=True))
            for unit in np.unique(shard.units[chosen])
        ]
        order: Iterable[int] = range(len(units)) if draw is None else draw.permutation(len(units))
        return (units[k] for k in order)

    def _table(self, number: int, unit: int) -> pa.Table:
        """Rows of the split in a row group."""
        with open_shard(self._files[number]) as shard:
            table = read_unit(shard, self._files[number], unit)
        index = self._shards[number]
        here = index.units == unit
        chosen = self._chosen[number][here]
        return table if chosen.all() else table.filter(pa.array(np.repeat(chosen, index.rows[here])))

    def _arrays(self, draw: np.random.Generator | None) -> Iterator[Arrays]:
        for shard, unit in self._units(draw):
            yield self._decisions(self._table(shard, unit))

    def _decisions(self, table: pa.Table) -> Arrays:
        wanted, header = tuple(self.layout), self.header
        stored = [name for name in wanted if name != LAST_MOVES]
        told = (
            PREVIOUS in header.extra_columns and header.players == 2
        )  # also where the other seat's records are missing
        columns = from_table(table, header, [*stored, PREVIOUS.name] if told else stored)
        if LAST_MOVES in wanted:
            moves = last_moves(columns, header.players, header.num_actions).astype(np.float32)
            if told:
                moves[np.arange(len(moves)), 1 - columns.seats] = columns.extras[PREVIOUS.name][:, 0]
            columns.extras[LAST_MOVES] = moves
        return decision_arrays(columns, header.players, wanted, self._discount)


def refuse_shared_games(training: TrajectoryDataset, validation: TrajectoryDataset) -> None:
    """Refuse a validation set with games of the training set: its figures would praise what was learnt by heart.

    Raises:
        DataError: names the shared games.
    """
    shared = sorted({validation.identities[key] for key in training.identities.keys() & validation.identities.keys()})
    if shared:
        names = validation.names_of(shared[:5])
        raise DataError(
            f"{validation.path}: {len(shared):,} of {validation.num_games:,} games are in {training.path}, too, such as {', '.join(names)}; "
            "split the games with one command: ludory pokemon split IN --val-ratio 0.1, or leave --val-data out"
        )


def _as_dataset(path: Path, observation: str | None = None, remap_vocab: bool = False) -> Path:
    """`path`, or the dataset that another format makes of it."""
    if (path / MANIFEST).exists() or not path.exists():
        return path
    from .formats.core import foreign_dataset

    return foreign_dataset(path, observation, remap_vocab)


def header_at(path: str | Path, remap_vocab: bool = False) -> TrajectoryHeader:
    """The header of a dataset, given as a folder or one of its files. Nothing else is read.

    Raises:
        DataError: the dataset is missing, unreadable or damaged.
    """
    header, files, _ = _files(_as_dataset(Path(path), remap_vocab=remap_vocab))
    if header is not None:
        return header
    with open_shard(files[0]) as shard:
        return shard_header(shard, str(files[0]))


def _layout(header: TrajectoryHeader, extras: Sequence[str]) -> dict[str, slice]:
    widths = {one.name: one.size or 1 for one in header.extra_columns} | {LAST_MOVES: header.players}
    layout: dict[str, slice] = {}
    for name in extras:
        if name in widths:
            start = max((one.stop for one in layout.values()), default=0)
            layout[name] = slice(start, start + widths[name])
    return layout


def _files(path: Path) -> tuple[TrajectoryHeader | None, list[Path], list[int | None]]:
    """The header that all files must have, the files, and the number of games in each; None where unknown."""
    if not path.exists():
        raise DataError(
            f"{path} does not exist; record a dataset with `ludory record AGENT --game ID --games N --out DIR`"
        )
    if path.is_file():
        return None, [path], [None]
    manifest = read_manifest(path)
    shards = range(manifest.shards)
    if manifest.shards > MOST_SHARDS:
        raise DataError(
            f"{path / MANIFEST}, field 'games': got {manifest.games}, which are {manifest.shards} files, must be at most {MOST_SHARDS}"
        )
    return manifest.header, [shard_file(path, k) for k in shards], [manifest.games_in(k) for k in shards]


def _refusal(problems: Sequence[Problem]) -> str:
    more = f" ({len(problems) - 1} more problems)" if len(problems) > 1 else ""
    return f"{problems[0]}{more}; record it to its end, as it was begun, or leave bad games out with skip_bad=True (--skip-bad)"


def _other_header(file: Path, found: TrajectoryHeader, expected: TrajectoryHeader) -> Problem:
    mine, theirs = header_to_json(found), header_to_json(expected)
    name = next(one.name for one in fields(found) if one.compare and mine[one.name] != theirs[one.name])
    return Problem(str(file), None, name, str(mine[name]), f"{theirs[name]} as in the other files")


def _generator(name: str, count: int, seed: int | None, epoch: int) -> np.random.Generator | None:
    if count < 1:
        raise OptionError(f"{name}={count}: must be at least 1")
    return None if seed is None else np.random.default_rng([seed, epoch])
