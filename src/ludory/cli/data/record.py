"""`ludory record`: let agents play, and keep every decision in files to learn from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from ludory.arguments import as_typed
from ludory.cli.common.options import Placed, PlayedGames
from ludory.cli.common.parser import parse
from ludory.cli.common.showing import games_bar
from ludory.errors import OptionError

RECORDER = "recorder"
"""A format, and the folder of its files in the recording's."""
LOGS = ("jsonl", "json")
"""Formats of a search log of Hanabi."""


@dataclass(frozen=True, kw_only=True)
class _Options(Placed, PlayedGames):
    """Let agents play and write every decision to Parquet files.

    A recording that was stopped goes on with the same command.

    Example: ludory record hanabi/iggi --game Hanabi2P-v0 --games 20000 --out games
    """

    out: Annotated[str, arg(metavar="DIR")]
    """Folder of the recording."""
    shard_games: Annotated[int, arg(metavar="N")] = 1000
    """Games in one file."""
    format: Literal["parquet", "recorder", "jsonl", "json"] = "parquet"
    """What to write beside the Parquet files.
    recorder, for the arena: DIR/recorder/*.jsonl.gz, one for each seat in each game;
    jsonl, json, for Hanabi: DIR/sparta_games.jsonl or .json, a search log for distilling."""


def run(argv: list[str]) -> int:
    """Play, or go on with a recording; returns the exit code."""
    chosen = parse(_Options, argv, "record")

    from ludory.agents.evaluation.record import record
    from ludory.algorithms.running.interrupt import exit_code, stop_on_interrupt
    from ludory.data.shards import MANIFEST, shard_file

    game = chosen.make(chosen.game)
    if chosen.format == RECORDER and game.facts.name != "Arena":
        raise OptionError(
            f"--format {RECORDER} is for the arena, got {chosen.game}; leave it out, or name Arena2P-v0 or another"
        )
    if chosen.format in LOGS and game.facts.name != "Hanabi":
        raise OptionError(
            f"--format {chosen.format} is for Hanabi, got {chosen.game}; leave it out, or name Hanabi2P-v0"
        )
    with (
        chosen.placement.open() as workers,
        stop_on_interrupt(lambda: None) as stopped,
        games_bar(chosen.games) as advance,
    ):

        def after_shard(games: int) -> bool:
            advance(games)
            return bool(stopped)

        found = record(
            chosen.agents,
            game,
            chosen.games,
            chosen.out,
            chosen.seed,
            shard_games=chosen.shard_games,
            progress=after_shard,
            workers=workers,
        )
    if found.games and game.facts.name == "Hanabi":
        for form in LOGS:  # a log that is there must not stay behind the games
            if form == chosen.format or _log_file(chosen.out, form).exists():
                print(_write_log(chosen.out, form))
    if found.games < found.of:
        print(f"interrupted: {found.games:,} of {found.of:,} games in {chosen.out}; go on with the same command")
        return exit_code(stopped[0])
    first, last = (shard_file(chosen.out, k).name for k in (0, -(-found.of // chosen.shard_games) - 1))
    files = first if first == last else f"{first} to {last}"
    print(f"{found.games:,} games of {game.id} in {chosen.out} ({MANIFEST}, {files})")
    if chosen.format == RECORDER:
        from ludory.data.formats.last_man_standing.recorder_writer import write_recorder

        written = write_recorder(chosen.out, Path(chosen.out) / RECORDER)
        print(f"{len(written):,} recorder files in {Path(chosen.out) / RECORDER}")
    folder = as_typed(chosen.out)
    print(f"next:\n  ludory watch {folder} --row 0\n  ludory train bc --data {folder}")
    return 0


def _log_file(folder: str, form: str) -> Path:
    from ludory.data.formats.sparta.writer import NAME

    return Path(folder) / f"{NAME}.{form}"


def _write_log(folder: str, form: str) -> str:
    """Write all whole games so far as a search log; says where."""
    from ludory.claims import claimed
    from ludory.data.formats.sparta.writer import write_sparta_log
    from ludory.data.recording.search_record import recorded_games
    from ludory.data.shards import read_manifest

    file = _log_file(folder, form)
    with claimed(file, wait=True):  # the log of a process that ends earlier must not come behind
        manifest = read_manifest(folder)
        records = write_sparta_log(file, manifest.header, recorded_games(Path(folder), manifest), form)  # type: ignore[arg-type]
    return f"{records:,} records in {file}"
