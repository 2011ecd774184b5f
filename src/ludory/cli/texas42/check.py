"""`ludory texas42 check`: read files from end to end and compare them with what their names say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ludory.cli.common import Paths, parse
from ludory.errors import DataError
from ludory.visible import visible

ENDINGS = (".parquet", ".safetensors")
"""Of shards, labels and tables of bids; of recorded hands."""


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Read files of Texas 42 from end to end and compare them with what their names say.

    Shards and labels must be whole, in order and consistent, and their roots are solved again; recorded hands and tables of bids must be
    whole and legal.

    Example: ludory texas42 check data/texas42-labels
    """

    paths: Paths
    """Files, or folders of them."""


def run(argv: list[str]) -> int:
    """Check files and folders; returns the exit code, 1 if something is wrong."""
    chosen = parse(_Options, argv, "texas42 check")
    files = [file for path in chosen.paths for file in _files(path)]
    wrong = rows = 0
    for file in files:
        try:
            rows += _verify(file)
        except DataError as error:
            wrong += 1
            print(visible(error))
    print(f"{len(files) - wrong:,} of {len(files):,} files are right, {rows:,} rows in them")
    return 1 if wrong else 0


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    if not path.is_dir():
        return [path]
    found = [file for ending in ENDINGS for file in sorted(path.rglob(f"*{ending}")) if not file.name.startswith(".")]
    if not found:
        raise DataError(
            f"{path}: no files that end in {' or '.join(ENDINGS)}; `ludory texas42` lists the jobs that write some"
        )
    return found


def _verify(file: Path) -> int:
    """Number of rows of a file that is right."""
    from ludory.algorithms.texas42.data.labels import verify_labels
    from ludory.algorithms.texas42.data.shards import verify_shard
    from ludory.data.formats.texas42.bid_tables import is_bids, read_bids
    from ludory.data.formats.texas42.eq_records import read_eq
    from ludory.data.formats.texas42.eq_view import decisions
    from ludory.data.formats.texas42.labels import is_labels

    if file.suffix == ".safetensors":
        return sum(1 for _ in decisions(read_eq(file)))
    if is_bids(file):
        read_bids(file)
        return 1
    return (verify_labels if is_labels(file) else verify_shard)(file)
