"""Shards, which are Parquet files of whole games, and the `dataset.json` beside them; all are written atomically."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.errors import DataError
from ludory.reading import JsonError, check_unpacked, parse_json, read_json, shown

from .checks import Problem, find_problems
from .columns import METADATA_KEY, Columns, concatenated, from_table, game_starts, schema_of, taken, to_table
from .header import TrajectoryHeader, header_from_json, header_to_json

FORMAT = "ludory trajectories"
MANIFEST = "dataset.json"
"""Name of the file of a data set that lists its shards."""
RECENT = 64
"""Number of its recent files that a recording checks after each new one."""
MOST_GAMES = (1 << 63) - 1
UNIT_BYTES = 1 << 22
"""Approximate size of a row group, which is read at a time and holds whole games."""


class Manifest(NamedTuple):
    """Content of `dataset.json`."""

    header: TrajectoryHeader
    games: int
    shard_games: int

    @property
    def shards(self) -> int:
        """Number of files of the complete set."""
        return -(-self.games // self.shard_games)

    def games_in(self, shard: int) -> int:
        """Number of games in a shard."""
        return min(self.shard_games, self.games - shard * self.shard_games)

    def stands_in(self, folder: Path) -> bool:
        """Whether the folder's `dataset.json` is the same, or the same with more games."""
        try:
            found = read_manifest(folder)
        except DataError:
            return False
        # a set may grow by more games, but what it holds must stay
        return found._replace(games=self.games) == self and found.games >= self.games

    def numbers(self, shard: int) -> range:
        """Numbers of the games in a shard."""
        first = shard * self.shard_games
        return range(first, first + self.games_in(shard))


class ShardIndex(NamedTuple):
    """Content of a shard by game, in the order of the file."""

    header: TrajectoryHeader | None
    """None if the file is unusable."""
    games: NDArray[np.int64]
    seeds: NDArray[np.int64]
    rows: NDArray[np.int64]
    units: NDArray[np.int32]
    """Row group of every game."""
    bad: NDArray[np.bool_]
    problems: tuple[Problem, ...]


def shard_file(folder: str | Path, number: int) -> Path:
    """Path of a shard."""
    return Path(folder) / f"part-{number:05d}.parquet"


def shard_number(file: Path) -> int:
    """Number in the name of a shard."""
    return int(file.stem.removeprefix("part-"))


def write_manifest(folder: str | Path, manifest: Manifest) -> None:
    """Write `dataset.json`."""
    content = {
        "format": FORMAT,
        "games": manifest.games,
        "shard_games": manifest.shard_games,
        "header": header_to_json(manifest.header),
    }
    with atomic_file(Path(folder) / MANIFEST, "w") as handle:
        handle.write(json.dumps(content, indent=2) + "\n")


def read_manifest(folder: str | Path) -> Manifest:
    """Read `dataset.json`.

    Raises:
        DataError: the file is missing, unreadable or of another format.
    """
    file, cure = Path(folder) / MANIFEST, "record a dataset with `ludory record AGENT --game ID --games N --out DIR`"
    try:
        content = read_json(file)
    except (OSError, ValueError) as error:
        raise DataError(f"{file} cannot be read ({error}); {cure}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else content
        raise DataError(f"{file}, field 'format': got {shown(found)}, must be {FORMAT!r}; {cure}")
    header = header_from_json(content.get("header"), file)
    games, shard_games = content.get("games"), content.get("shard_games")
    for name, value in (("games", games), ("shard_games", shard_games)):
        if type(value) is not int or not 1 <= value <= MOST_GAMES:
            raise DataError(
                f"{file}, field {name!r}: got {shown(value)}, must be an integer of 1..{MOST_GAMES}; {cure}"
            )
    return Manifest(header, games, shard_games)  # type: ignore[arg-type]


def write_shard(file: str | Path, header: TrajectoryHeader, columns: Columns) -> None:
    """Write whole games with consecutive rows as one file.

    Raises:
        OutputError: the file cannot be written.
    """
    write_table(file, header, to_table(columns, header))


def write_table(file: str | Path, header: TrajectoryHeader, table: pa.Table) -> None:
    """Write a table of `schema_of(header)`, as `write_shard` does.

    Raises:
        OutputError: the file cannot be written.
    """
    with atomic_file(file) as handle:
        _write_rows(handle, header, table)


def shard_bytes(header: TrajectoryHeader, columns: Columns) -> bytes:
    """The bytes of the file that `write_shard` writes."""
    sink = pa.BufferOutputStream()
    _write_rows(sink, header, to_table(columns, header))
    whole: bytes = sink.getvalue().to_pybytes()
    return whole


def _write_rows(sink: Any, header: TrajectoryHeader, table: pa.Table) -> None:
    with pq.ParquetWriter(sink, table.schema, **_options(header)) as writer:
        # a unit is read at a time and must hold whole games
        for start, stop in _units(table["game"].to_numpy(), _row_bytes(header)):
            writer.write_table(table.slice(start, stop - start), row_group_size=stop - start)


def write_dataset(
    folder: str | Path, header: TrajectoryHeader, parts: Iterable[Columns], shard_games: int = 1000
) -> Manifest:
    """Write whole games as a dataset of shards with `shard_games` games each. `dataset.json` comes last, so an unfinished set is not readable.

    Raises:
        DataError: the folder already holds a dataset, or there are no games.
        OutputError: the folder cannot be written to.
    """
    target, shard, games = Path(folder), 0, 0
    if (target / MANIFEST).exists():
        raise DataError(f"{target / MANIFEST} exists; name another folder")
    for shard, columns in enumerate(_shard_by_shard(parts, shard_games)):
        write_shard(shard_file(target, shard), header, columns)
        games += len(game_starts(columns.games))
    if not games:
        raise DataError(f"no games to write to {target}")
    manifest = Manifest(header, games, shard_games)
    write_manifest(target, manifest)
    return manifest


def _shard_by_shard(parts: Iterable[Columns], shard_games: int) -> Iterator[Columns]:
    waiting: list[Columns] = []
    for part in parts:
        waiting.append(part)
        if sum(len(game_starts(one.games)) for one in waiting) < shard_games:
            continue
        rows = concatenated(waiting)
        # the edge of every shard_games-th game, and the end
        edges = np.append(game_starts(rows.games), len(rows.games))[::shard_games]
        for start, stop in pairwise(edges):
            yield taken(rows, slice(start, stop))
        # the rest waits for more games
        waiting = [taken(rows, slice(edges[-1], None))] if edges[-1] < len(rows.games) else []
    if waiting:
        yield concatenated(waiting)


def _options(header: TrajectoryHeader) -> dict[str, object]:
    """Light compression, dictionaries only for columns with repeated values, and checksums to detect damage."""
    repeating = ["game", "seed", "step", "seat", "mask", *(f"action_{name}" for name in header.head_names), "reward"]
    return {"compression": "zstd", "compression_level": 1, "use_dictionary": repeating, "write_page_checksum": True}


def _row_bytes(header: TrajectoryHeader) -> int:
    return header.observation_bytes + header.num_actions + 64


def _units(games: NDArray[np.int64], row_bytes: int) -> Iterator[tuple[int, int]]:
    """Row ranges of whole games of about `UNIT_BYTES` each."""
    most, edges = max(UNIT_BYTES // row_bytes, 1), [*game_starts(games).tolist(), len(games)]
    start = 0
    # a unit ends at the last edge before it would grow too large; one game alone may be larger
    for here, following in zip(edges[1:], [*edges[2:], None], strict=True):
        if following is None or following - start > most:
            yield start, here
            start = here


def open_shard(file: str | Path) -> pq.ParquetFile:
    """Open a file with verification of checksums.

    Raises:
        DataError: the file is missing, truncated, or not a Parquet file.
    """
    try:
        shard = pq.ParquetFile(file, page_checksum_verification=True)
        schema, metadata = shard.schema_arrow, shard.metadata
        # sizes are looked at before anything is unpacked: a small file may hold a huge table
        sizes = [_unpacked_size(schema, metadata.row_group(k)) for k in range(metadata.num_row_groups)]
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        raise DataError(_unreadable(file, error)) from error
    check_unpacked(file, max(sizes, default=0))
    return shard


def _unpacked_size(schema: pa.Schema, group: pq.RowGroupMetaData) -> int:
    """Approximate bytes of a row group in memory: by its columns or by its own record, whichever is larger."""
    return max(int(group.total_byte_size), int(group.num_rows) * sum(_width(part.type) for part in schema))


def _width(kind: pa.DataType) -> int:
    """Bytes of a value; 1 for types without a fixed size."""
    if pa.types.is_fixed_size_list(kind):
        count: int = kind.list_size
        return count * _width(kind.value_type)
    try:
        bits: int = kind.bit_width
        return max(bits // 8, 1)
    except ValueError:
        return 1


def metadata_texts(shard: pq.ParquetFile, file: object) -> dict[str, str]:
    """Metadata as strings.

    Raises:
        DataError: the metadata is not UTF-8.
    """
    try:
        return {key.decode(): value.decode() for key, value in (shard.schema_arrow.metadata or {}).items()}
    except UnicodeDecodeError as error:
        raise DataError(Problem(str(file), None, "metadata", "no UTF-8", "texts")) from error


def _unreadable(file: object, error: Exception) -> Problem:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return Problem(str(file), None, "file", f"a truncated or damaged file ({reason})", "a whole Parquet file")


def read_rows(shard: pq.ParquetFile, file: str | Path) -> pa.Table:
    """Read all columns and rows.

    Raises:
        DataError: the file is damaged.
    """
    try:
        check_unpacked(
            file,
            sum(_unpacked_size(shard.schema_arrow, shard.metadata.row_group(k)) for k in range(shard.num_row_groups)),
        )
        return shard.read()
    except (OSError, pa.ArrowException) as error:
        raise DataError(_unreadable(file, error)) from error


def read_unit(shard: pq.ParquetFile, file: str | Path, number: int) -> pa.Table:
    """Read all columns of a row group.

    Raises:
        DataError: the file is damaged.
    """
    try:
        return shard.read_row_group(number)
    except (OSError, pa.ArrowException) as error:
        raise DataError(_unreadable(file, error)) from error


def shard_header(shard: pq.ParquetFile, file: str | Path) -> TrajectoryHeader:
    """The header in the metadata of a file.

    Raises:
        DataError: there is no header, or columns are missing, unknown or of another type than in the header.
    """
    schema = shard.schema_arrow
    raw = (schema.metadata or {}).get(METADATA_KEY)
    if raw is None:
        found, allowed = "no such metadata", "a file of `ludory record` or `ludory convert`"
        raise DataError(Problem(str(file), None, METADATA_KEY.decode(), found, allowed))
    try:
        content = parse_json(raw)
    except JsonError as error:
        raise DataError(Problem(str(file), None, METADATA_KEY.decode(), str(error), "a JSON object")) from error
    header = header_from_json(content, file)
    expected = schema_of(header)
    unknown = [name for name in schema.names if name not in expected.names]
    if unknown:
        allowed = f"among {', '.join(expected.names)}, or named in the header's extra_columns"
        # a column that is passed over might be one that changes what the others mean
        raise DataError(Problem(str(file), None, unknown[0], f"unknown column {', '.join(unknown)}", allowed))
    for part in expected:
        found = schema.field(part.name).type if part.name in schema.names else "no such column"
        if found != part.type:
            raise DataError(Problem(str(file), None, part.name, str(found), str(part.type)))
    return header


def index_shard(file: str | Path) -> ShardIndex:
    """Read and check a shard; the result is cached as long as the file stays the same."""
    path = Path(file).absolute()
    try:
        status = path.stat()
    except OSError as error:
        return _useless(Problem(str(file), None, "file", error.strerror or str(error), "a shard of the dataset"))
    return _index(str(file), str(path), status.st_mtime_ns, status.st_size)


def _useless(problem: Problem) -> ShardIndex:
    none = np.zeros(0, np.int64)
    return ShardIndex(None, none, none, none, none.astype(np.int32), none.astype(bool), (problem,))


@lru_cache(maxsize=65536)
def _index(name: str, path: str, changed: int, size: int) -> ShardIndex:
    try:
        with open_shard(name) as shard:
            header = shard_header(shard, name)
            return _index_units(shard, header, name)
    except DataError as error:
        whole = Problem(name, None, "header", str(error), "one that this version reads")
        return _useless(error.problem if isinstance(error.problem, Problem) else whole)


def _index_units(shard: pq.ParquetFile, header: TrajectoryHeader, name: str) -> ShardIndex:
    games, seeds, rows, units, bad, problems, first_row = [], [], [], [], [], [], 0
    for unit in range(shard.num_row_groups):
        table = read_unit(shard, name, unit)
        columns = from_table(table, header)
        found, wrong = find_problems(columns, header, table, name, first_row)
        starts = game_starts(columns.games)
        games.append(columns.games[starts])
        seeds.append(columns.seeds[starts])
        rows.append(np.diff(np.append(starts, len(columns.games))))
        units.append(np.full(len(starts), unit, np.int32))
        bad.append(wrong)
        problems += found
        first_row += len(table)
    if not first_row:
        return _useless(Problem(name, None, "file", "no rows", "a shard with at least one game"))
    return ShardIndex(
        header,
        np.concatenate(games),
        np.concatenate(seeds),
        np.concatenate(rows),
        np.concatenate(units),
        np.concatenate(bad),
        tuple(problems),
    )
