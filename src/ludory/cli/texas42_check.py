"""`ludory texas42 check`: read files from end to end and compare them with what their names say."""

from __future__ import annotations

import argparse
from pathlib import Path

from ludory.errors import DataError


def run(argv: list[str]) -> int:
    """Check files and folders; gives the exit code, 1 if something is wrong."""
    parser = argparse.ArgumentParser(
        "ludory texas42 check",
        description="Read files of Texas 42 from end to end: whole, in order, values consistent, and the root solved anew.",
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files, or folders of them")
    chosen = parser.parse_args(argv)

    from ludory.algorithms.texas42_data.labels import verify_labels
    from ludory.algorithms.texas42_data.shards import verify_shard
    from ludory.data.texas42.labels import is_labels

    files = [file for path in chosen.paths for file in _files(path)]
    wrong = rows = 0
    for file in files:
        try:
            rows += (verify_labels if is_labels(file) else verify_shard)(file)
        except DataError as error:
            wrong += 1
            print(error)
    print(f"{len(files) - wrong:,} of {len(files):,} files are right, {rows:,} rows in them")
    return 1 if wrong else 0


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.rglob("*.parquet"))
    if not found:
        raise DataError(f"{path}: no Parquet files; write some with `ludory texas42 generate --out {path} --seeds 0-9`")
    return [file for file in found if not file.name.startswith(".")]
