"""The source of the decisions: a recording, or search logs of other programs."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import fields, replace
from pathlib import Path

from ludory.data.formats.known import formats_of, known_formats
from ludory.data.shards import write_dataset
from ludory.envs.game import Game
from ludory.errors import DataError, OptionError

from .config import DistillConfig

SEARCH_LOG = "sparta"
"""Format of files of which no other can be told: it says what is wrong with them."""


def is_log(path: str) -> bool:
    """Whether a path is a file other than Parquet."""
    return Path(path).is_file() and Path(path).suffix != ".parquet"


def as_dataset(config: DistillConfig, game: Game, folder: Path) -> Path:
    """The recording that the config names, or its search logs written as one to `folder`.

    Raises:
        OptionError: nothing is named, or several recordings.
        LogFormatError: a log is invalid.
    """
    paths = config.dataset or ()
    if not paths:
        raise OptionError("distill needs dataset=: a folder of `ludory record`, or search logs (.jsonl, .json)")
    logs = [path for path in paths if is_log(path)]
    if (logs and len(logs) < len(paths)) or len(paths) > max(len(logs), 1):
        raise OptionError(f"dataset={', '.join(paths)}: name one recording, or search logs only")
    if not logs:
        return Path(paths[0])
    known = next(iter(formats_of(logs[0])), None) or known_formats()[SEARCH_LOG]
    options = {one.name: getattr(config, one.name) for one in fields(known) if hasattr(config, one.name)}
    log = replace(known, **options).read(logs, game)
    for problem in log.left_out:
        print(f"ludory: left out: {problem}", file=sys.stderr)
    write_dataset(folder, log.header, log.parts)
    return folder


def check_convention(recorded: dict[str, object], game: Game) -> None:
    """Refuse rewards under another bomb convention than the game's.

    Raises:
        DataError: the conventions differ.
    """
    ours, theirs = (str(options.get("bomb", "zero")) for options in (game.options, recorded))
    if game.facts.name == "Hanabi" and ours != theirs:
        raise DataError(
            f"the log's rewards count a bomb as bomb={theirs}, {game.id} here as bomb={ours}: values would learn another game; "
            f"give --option bomb={theirs} (env=make_game({game.id!r}, bomb={theirs!r})), or bomb={ours} if the log does not say it and means that"
        )


def fingerprint(config: DistillConfig) -> str:
    """SHA-256 of the contents of all files, in order.

    Raises:
        DataError: there is no such file or folder.
    """
    digest = hashlib.sha256()
    for path in map(Path, config.dataset or ()):
        if not path.exists():
            raise DataError(f"{path} does not exist; record games with `ludory record`, or name a search log (--data)")
        for file in sorted(path.glob("part-*.parquet")) if path.is_dir() else [path]:
            with file.open("rb") as handle:
                while block := handle.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()
