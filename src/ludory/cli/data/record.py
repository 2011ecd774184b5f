"""`ludory record`: let agents play, and keep every decision in files to learn from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from ludory.arguments import Arg, as_typed
from ludory.cli.common.formats import with_formats
from ludory.cli.common.options import Placed, PlayedGames
from ludory.cli.common.parser import parse
from ludory.cli.common.showing import games_bar
from ludory.data.formats.core import known_formats
from ludory.plugins.files import program

PARQUET = "parquet"
"""What is always written."""


@dataclass(frozen=True, kw_only=True)
class _Options(Placed, PlayedGames):
    """Let agents play and write every decision to Parquet files.

    A recording that was stopped goes on with the same command.

    Example: ludory record hanabi/iggi --game Hanabi2P-v0 --games 20000 --out games
    """

    out: Annotated[str, Arg(metavar="DIR")]
    """Folder of the recording."""
    shard_games: Annotated[int, Arg(metavar="N")] = 1000
    """Games in one file."""
    format: str = PARQUET
    """What to write beside the Parquet files.
    recorder, for the arena: DIR/recorder/*.jsonl.gz, one for each seat in each game;
    jsonl, json, for Hanabi: DIR/sparta_games.jsonl or .json, a search log for distilling."""


def run(argv: list[str]) -> int:
    """Play, or go on with a recording; returns the exit code."""
    beside = {word: known for known in known_formats().values() for word in known.beside}
    chosen = parse(with_formats(_Options, [], format=Literal[(PARQUET, *beside)]), argv, "record")

    from ludory.agents.evaluation.record import record
    from ludory.algorithms.running.interrupt import exit_code, stop_on_interrupt
    from ludory.data.shards import MANIFEST, shard_file

    game = chosen.make(chosen.game)
    if chosen.format != PARQUET:
        beside[chosen.format].check_game(game, chosen.format)
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
    folder, done = Path(chosen.out), found.games == found.of
    for word, known in beside.items():
        asked = word == chosen.format or known.is_beside(folder, word)  # what is there must not stay behind the games
        if asked and found.games and (done or known.of_part):
            print(known.write_beside(folder, word))
    if not done:
        print(f"interrupted: {found.games:,} of {found.of:,} games in {chosen.out}; go on with the same command")
        return exit_code(stopped[0])
    first, last = (shard_file(chosen.out, k).name for k in (0, -(-found.of // chosen.shard_games) - 1))
    files = first if first == last else f"{first} to {last}"
    print(f"{found.games:,} games of {game.id} in {chosen.out} ({MANIFEST}, {files})")
    typed = as_typed(chosen.out)
    print(f"next:\n  {program()} watch {typed} --row 0\n  {program()} train bc --data {typed}")
    return 0
