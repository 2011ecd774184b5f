"""`ludory convert`: recorded games of other formats as a dataset of ludory, and a dataset in the formats of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ludory.arguments import Arg
from ludory.cli.common.formats import WithGame, as_chosen, formats_that, game_of, with_formats
from ludory.cli.common.options import Maybe
from ludory.cli.common.parser import parse
from ludory.errors import OptionError
from ludory.visible import visible

if TYPE_CHECKING:
    from ludory.data.columns import Columns

OWN, DEFAULT = "ludory", "minari"
"""The format that is written as others, and the one it is written as if --to is left out."""


@dataclass(frozen=True, kw_only=True)
class _Options(WithGame):
    """Write recorded games of another format as a dataset that learners read, or a dataset in another format.

    `ludory list formats` says what each format is.

    Example: ludory convert battles.jsonl --from battle-jsonl --out games
    """

    sources: Annotated[tuple[str, ...], Arg(positional=True, metavar="SOURCE...")]
    """Files, or one dataset."""
    reader: Annotated[str, Arg(name="from")]
    """Format of the sources; ludory: a dataset, to be written in the format of --to."""
    writer: Annotated[Maybe[str], Arg(name="to")] = None
    """With --from ludory: the format to write (default: minari)."""
    out: Annotated[str, Arg(metavar="DIR")]
    """Folder to make."""
    shard_games: Annotated[int, Arg(metavar="N")] = 1000
    """Games in one file."""


def run(argv: list[str]) -> int:
    """Convert, and say where the result is; nothing is written before all input was found good."""
    readers, writers = formats_that("read"), formats_that("write")
    names: dict[str, Any] = {
        "reader": Annotated[Literal[tuple(readers)], Arg(name="from")],
        "writer": Annotated[Literal[tuple(writers)] | None, Arg(name="to")],
    }
    chosen = parse(with_formats(_Options, [*readers.values(), *writers.values()], **names), argv, "convert")
    if chosen.writer is not None and chosen.reader != OWN:
        raise OptionError(
            f"--to {chosen.writer}: --from {chosen.reader} is written as a dataset of ludory; leave --to out"
        )
    known = as_chosen(readers[chosen.reader], chosen)
    if chosen.reader == OWN:
        from ludory.data import TrajectoryDataset

        dataset = TrajectoryDataset(known.only_one(chosen.sources), skip_bad=known.skip_bad)
        _say([f"left out: {problem}" for problem in dataset.skipped])
        print(as_chosen(writers[chosen.writer or DEFAULT], chosen).write(dataset, Path(chosen.out)))
        return 0

    from ludory.data.shards import write_dataset

    stored, rows = known.read(chosen.sources, game_of(known, chosen)), list[int]()
    found = write_dataset(chosen.out, stored.header, _counted(stored.parts, rows), chosen.shard_games)
    _say([*(f"left out: {problem}" for problem in stored.left_out), *stored.notes])
    print(f"{found.games:,} games, {sum(rows):,} decisions in {chosen.out}")
    return 0


def _counted(parts: Iterable[Columns], rows: list[int]) -> Iterator[Columns]:
    """The parts; the number of rows of each is added to `rows`."""
    for part in parts:
        rows.append(len(part.games))
        yield part


def _say(lines: Sequence[str]) -> None:
    for line in lines:
        print(visible(line))
