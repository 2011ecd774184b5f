"""`ludory convert`: recorded games of other formats as a dataset of ludory, and a dataset in the formats of others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from ludory.arguments import as_typed
from ludory.cli.common.options import Flag, GameId, GameOptions, Maybe
from ludory.cli.common.parser import parse
from ludory.errors import OptionError
from ludory.visible import visible

from .check import SequenceOptions

if TYPE_CHECKING:
    from ludory.data.trajectories import TrajectoryDataset

SPARTA_GAME = "Hanabi2P-v0"


@dataclass(frozen=True, kw_only=True)
class _Options(GameOptions, SequenceOptions):
    """Write recorded games of another format as a dataset that learners read, or a dataset in another format.

    Example: ludory convert battles.jsonl --from battle-jsonl --out games
    """

    sources: Annotated[tuple[str, ...], Positional, arg(metavar="SOURCE...", help_behavior_hint="")]
    """Files, or one dataset."""
    reader: Annotated[Literal["sparta", "battle-jsonl", "minari", "recorder", "feedback", "ludory"], arg(name="from")]
    """What the sources are.
    sparta: logs of a search in Hanabi;
    battle-jsonl: lines of one player's trajectory each;
    minari: a folder or id;
    recorder: ticks of the arena or a game like it (*.jsonl.gz);
    feedback: of a live client (feedback_stream.jsonl, manifest.jsonl);
    ludory: a dataset, to be written in the format of --to."""
    writer: Annotated[Maybe[Literal["minari", "recorder", "sparta"]], arg(name="to")] = None
    """With --from ludory: minari (the default), recorder files of games of the arena, or a search log of games of Hanabi."""
    out: Annotated[str, arg(metavar="DIR")]
    """Folder to make."""
    game: Maybe[GameId] = None
    """sparta: what was played (default Hanabi2P-v0); recorder: Arena2P-v0 or another, so that its learners take the dataset."""
    action_order: Maybe[str] = None
    """sparta: ludory, play_first or play_first_bw (default: what the log says)."""
    bomb: Maybe[str] = None
    """sparta: zero or keep, how rewards count a bomb (default: what the log says)."""
    allow_truncated: Flag = False
    """sparta: read games without an end as cut off."""
    shard_games: Annotated[int, arg(metavar="N")] = 1000
    """Games in one file."""


def run(argv: list[str]) -> int:
    """Convert, and say where the result is; nothing is written before all input was found good."""
    chosen = parse(_Options, argv, "convert")
    if len(chosen.sources) > 1 and chosen.reader in ("minari", "ludory"):
        raise OptionError(
            f"--from {chosen.reader} takes one dataset, got {len(chosen.sources)}: {', '.join(chosen.sources)}"
        )
    if chosen.writer is not None and chosen.reader != "ludory":
        raise OptionError(
            f"--to {chosen.writer}: --from {chosen.reader} is written as a dataset of ludory; leave --to out"
        )
    readers = {"sparta": _sparta, "battle-jsonl": _battles, "minari": _from_minari, "ludory": _write}
    readers.get(chosen.reader, _sequences)(chosen)
    return 0


def _on_error(chosen: _Options) -> str:
    return "skip-game" if chosen.skip_bad else "raise"


def _sparta(chosen: _Options) -> None:
    from ludory.data.formats.sparta.log import read_sparta_log
    from ludory.data.shards import write_dataset

    log = read_sparta_log(
        chosen.sources,
        chosen.make(chosen.game or SPARTA_GAME),
        action_order=chosen.action_order,
        bomb=chosen.bomb,
        on_error=_on_error(chosen),  # type: ignore[arg-type]
        allow_truncated=chosen.allow_truncated,
    )
    found = write_dataset(chosen.out, log.header, [log.columns], chosen.shard_games)
    _say_skipped(log.problems, log.skipped_games)
    for name, count in log.unknown_fields.items():
        print(f"ignored: field {name!r} of {count:,} records")
    print(f"{found.games:,} games, {len(log.columns.games):,} decisions in {chosen.out}")


def _battles(chosen: _Options) -> None:
    from ludory.data.formats.battles import BattleTrajectories
    from ludory.data.shards import write_dataset

    battles = BattleTrajectories(chosen.sources, on_error=_on_error(chosen))  # type: ignore[arg-type]
    found = write_dataset(chosen.out, battles.header, battles.parts(), chosen.shard_games)
    _say_skipped(battles.skipped, battles.skipped_battles)
    for name, count in battles.absent.items():
        print(f"absent, read as 0: {name} in {count:,} steps")
    for name, count in battles.ignored.items():
        print(f"ignored, no number: {name} in {count:,} steps")
    print(f"{found.games:,} battles in {chosen.out}")


def _say_skipped(problems: Iterable[str], games: int = 0) -> None:
    for problem in problems:
        print(f"left out: {visible(problem)}")
    if games:
        print(f"left out {games:,} games")


def _sequences(chosen: _Options) -> None:
    from ludory.data.formats.last_man_standing.as_trajectories import as_trajectories
    from ludory.data.shards import write_dataset

    kinds = {"recorder": ("recorder",), "feedback": ("live_feedback", "manifest")}
    data = chosen.load(chosen.sources, kinds=kinds[chosen.reader])
    wanted = {"recorder": "seed19", "feedback": "live19"}[chosen.reader]
    if data.features != wanted:
        raise OptionError(f"--from {chosen.reader}: the files hold {data.features}, not {wanted}")
    header, columns = as_trajectories(data, chosen.make(chosen.game) if chosen.game else None)
    found = write_dataset(chosen.out, header, [columns], chosen.shard_games)
    _say_skipped(map(str, data.flaws))
    for stream in data.short:
        print(f"left out, fewer than 2 steps: {stream}")
    print(f"{found.games:,} games, {len(columns.games):,} decisions in {chosen.out}")


def _from_minari(chosen: _Options) -> None:
    from ludory.data.formats.minari_sets import MinariTrajectories
    from ludory.data.shards import write_dataset

    source = MinariTrajectories(chosen.sources[0])
    found = write_dataset(chosen.out, source.header, source.parts(), chosen.shard_games)
    print(f"{found.games:,} games in {chosen.out}")


def _write(chosen: _Options) -> None:
    """Write a dataset for others."""
    from ludory.data.trajectories import TrajectoryDataset

    dataset = TrajectoryDataset(chosen.sources[0], skip_bad=chosen.skip_bad)
    _say_skipped(map(str, dataset.skipped))
    writers = {"minari": _to_minari, "recorder": _to_recorder, "sparta": _to_sparta}
    print(writers[chosen.writer or "minari"](dataset, chosen.out))


def _to_minari(dataset: TrajectoryDataset, out: str) -> str:
    from ludory.data.formats.minari_sets import write_minari

    episodes = write_minari(dataset, out)
    return f'{episodes:,} episodes in {out}; read them with minari.MinariDataset("{Path(out) / "data"}")'


def _to_recorder(dataset: TrajectoryDataset, out: str) -> str:
    from ludory.data.formats.last_man_standing.recorder_writer import write_recorder

    files = write_recorder(dataset, out)
    return f"{len(files):,} recorder files in {out}; `ludory check data {as_typed(out)}` sums them up"


def _to_sparta(dataset: TrajectoryDataset, out: str) -> str:
    from ludory.data.formats.sparta.writer import NAME, write_sparta_log

    file = Path(out) / f"{NAME}.jsonl"
    return f"{write_sparta_log(file, dataset.header, dataset.tables()):,} records in {file}"
