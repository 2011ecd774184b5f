"""`ludory convert`: recorded games of other formats as a dataset of ludory, and a dataset in the formats of others."""

from __future__ import annotations

import argparse
from pathlib import Path

from ludory.cli.common.options import add_options, parse_options
from ludory.errors import OptionError
from ludory.visible import visible

READERS = ("sparta", "battle-jsonl", "minari", "recorder", "feedback", "ludory")
WRITERS = ("minari", "recorder", "sparta")
SPARTA_GAME = "Hanabi2P-v0"


def run(argv: list[str]) -> int:
    """Convert, and say where the result is; nothing is written before all input was found good."""
    chosen = _parser().parse_args(argv)
    if len(chosen.sources) > 1 and chosen.reader in ("minari", "ludory"):
        raise OptionError(
            f"--from {chosen.reader} takes one dataset, got {len(chosen.sources)}: {', '.join(chosen.sources)}"
        )
    if chosen.writer is not None and chosen.reader != "ludory":
        raise OptionError(
            f"--to {chosen.writer}: --from {chosen.reader} is written as a dataset of ludory; leave --to out"
        )
    to = {"minari": _to_minari, "recorder": _to_recorder, "sparta": _to_sparta}[chosen.writer or "minari"]
    readers = {"sparta": _sparta, "battle-jsonl": _battles, "minari": _from_minari, "ludory": to}
    readers.get(chosen.reader, _sequences)(chosen)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory convert", description="Write recorded games of another format as a dataset that learners read."
    )
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="files, or one dataset")
    parser.add_argument(
        "--from",
        dest="reader",
        required=True,
        choices=READERS,
        help="sparta: logs of a search in Hanabi; battle-jsonl: lines of one player's trajectory each; minari: a folder or id; "
        "recorder: ticks of the arena or a game like it (*.jsonl.gz); feedback: of a live client (feedback_stream.jsonl, manifest.jsonl); "
        "ludory: a dataset, to be written for others",
    )
    parser.add_argument(
        "--to",
        dest="writer",
        choices=WRITERS,
        help="ludory: minari (default), recorder files of games of the arena, or a search log of games of Hanabi",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="folder to make")
    parser.add_argument(
        "--game",
        help="sparta: what was played (default Hanabi2P-v0); recorder: Arena2P-v0 or another, so that its learners take the dataset",
    )
    add_options(parser)
    parser.add_argument(
        "--action-order", help="sparta: ludory, play_first or play_first_bw (default: what the log says)"
    )
    parser.add_argument("--bomb", help="sparta: zero or keep, how rewards count a bomb (default: what the log says)")
    parser.add_argument("--allow-truncated", action="store_true", help="sparta: take games without an end as cut off")
    parser.add_argument(
        "--bins",
        metavar="N",
        help="recorder, feedback: bins of move and aim, 11 or 5,9 (default: what the files say, else 11)",
    )
    parser.add_argument("--clamp", action="store_true", help="recorder: clamp actions out of range, for old data")
    parser.add_argument(
        "--split-on-done", action="store_true", help="recorder: a `done` inside a file begins a new game"
    )
    parser.add_argument("--skip-bad", action="store_true", help="leave out whole games with a problem, and list them")
    parser.add_argument("--shard-games", type=int, default=1000, metavar="N", help="games in one file (default 1000)")
    return parser


def _on_error(chosen: argparse.Namespace) -> str:
    return "skip-game" if chosen.skip_bad else "raise"


def _sparta(chosen: argparse.Namespace) -> None:
    from ludory.data.formats.sparta.log import read_sparta_log
    from ludory.data.shards import write_dataset
    from ludory.envs.make import make_game

    log = read_sparta_log(
        chosen.sources,
        make_game(chosen.game or SPARTA_GAME, **parse_options(chosen.option)),
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


def _battles(chosen: argparse.Namespace) -> None:
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


def _say_skipped(problems: tuple[str, ...], games: int) -> None:
    for problem in problems:
        print(f"left out: {visible(problem)}")
    if games:
        print(f"left out {games:,} games")


def _sequences(chosen: argparse.Namespace) -> None:
    from ludory.data.formats.last_man_standing import Reading, load_sequences
    from ludory.data.formats.last_man_standing.as_trajectories import as_trajectories
    from ludory.data.shards import write_dataset
    from ludory.envs.make import make_game

    from .check_data import bins_of

    data = load_sequences(
        chosen.sources,
        Reading(bins=chosen.bins and bins_of(chosen.bins), strict=not chosen.clamp),
        skip_bad=chosen.skip_bad,
        split_on_done=chosen.split_on_done,
    )
    wanted = {"recorder": "seed19", "feedback": "live19"}[chosen.reader]
    if data.features != wanted:
        raise OptionError(f"--from {chosen.reader}: the files hold {data.features}, not {wanted}")
    game = make_game(chosen.game, **parse_options(chosen.option)) if chosen.game else None
    header, columns = as_trajectories(data, game)
    found = write_dataset(chosen.out, header, [columns], chosen.shard_games)
    for flaw in data.flaws:
        print(f"left out: {visible(flaw)}")
    for stream in data.short:
        print(f"left out, fewer than 2 steps: {stream}")
    print(f"{found.games:,} games, {len(columns.games):,} decisions in {chosen.out}")


def _from_minari(chosen: argparse.Namespace) -> None:
    from ludory.data.formats.minari_sets import MinariTrajectories
    from ludory.data.shards import write_dataset

    source = MinariTrajectories(chosen.sources[0])
    found = write_dataset(chosen.out, source.header, source.parts(), chosen.shard_games)
    print(f"{found.games:,} games in {chosen.out}")


def _to_minari(chosen: argparse.Namespace) -> None:
    from ludory.data.formats.minari_sets import write_minari
    from ludory.data.trajectories import TrajectoryDataset

    dataset = TrajectoryDataset(chosen.sources[0], skip_bad=chosen.skip_bad)
    _say_skipped(tuple(map(str, dataset.skipped)), 0)
    episodes = write_minari(dataset, chosen.out)
    print(f'{episodes:,} episodes in {chosen.out}; read them with minari.MinariDataset("{Path(chosen.out) / "data"}")')


def _to_recorder(chosen: argparse.Namespace) -> None:
    from ludory.data.formats.last_man_standing.recorder_writer import write_recorder
    from ludory.data.trajectories import TrajectoryDataset

    dataset = TrajectoryDataset(chosen.sources[0], skip_bad=chosen.skip_bad)
    _say_skipped(tuple(map(str, dataset.skipped)), 0)
    files = write_recorder(dataset, chosen.out)
    print(f"{len(files):,} recorder files in {chosen.out}; `ludory check data {chosen.out}` sums them up")


def _to_sparta(chosen: argparse.Namespace) -> None:
    from ludory.data.formats.sparta.writer import NAME, write_sparta_log
    from ludory.data.trajectories import TrajectoryDataset

    dataset, file = TrajectoryDataset(chosen.sources[0], skip_bad=chosen.skip_bad), Path(chosen.out) / f"{NAME}.jsonl"
    _say_skipped(tuple(map(str, dataset.skipped)), 0)
    print(f"{write_sparta_log(file, dataset.header, dataset.tables()):,} records in {file}")
