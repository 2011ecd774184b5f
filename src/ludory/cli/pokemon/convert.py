"""`ludory pokemon convert`: recorded battles as trajectories."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ludory.arguments import Arg
from ludory.cli.common import Flag, Maybe, Paths, Placed, parse
from ludory.errors import OptionError
from ludory.visible import visible

if TYPE_CHECKING:
    from ludory.data.pokemon.conversion import ConvertedBattle
    from ludory.data.pokemon.rejections import Rejection


@dataclass(frozen=True, kw_only=True)
class _Options(Placed):
    """Write one trajectory per side of every battle, and the rejected battles with their reasons to OUT.rejected.jsonl.

    Takes replays as JSON, server logs, saved replay pages and battles with their input logs, one per line or per file, also as gzip.

    Example: ludory pokemon convert replays.jsonl -o battles.jsonl.gz --min-rating 1500
    """

    paths: Paths
    """Files, and folders whose files are read in order of their names."""
    out: Annotated[Path, Arg(aliases=("-o",), metavar="OUT")]
    """File to write, .jsonl or .jsonl.gz."""
    labels: Literal["auto", "log", "input-log"] = "auto"
    """log: what a spectator sees; input-log: true choices, by playing the battle again; auto: these where they can be had, else the log."""
    gimmick: Literal["native", "never"] = "native"
    """never: ten actions; a move with a gimmick becomes the plain move."""
    schema: Literal["ludory", "seed"] = "ludory"
    """seed: only the fields of older readers; observations are those of seed41."""
    min_rating: Maybe[int] = None
    """Leave out battles rated lower, or not rated."""
    format: Maybe[str] = None
    """Leave out other formats."""
    keep_illusion: Flag = False
    """Read battles with Zoroark from their logs too."""
    licence: Maybe[str] = None
    """Written into the trajectories."""
    strict: Flag = False
    """Stop at the first rejected battle."""


def convert(argv: list[str]) -> int:
    """Convert, and say what became of the battles; exit code 1 if none was converted."""
    chosen = parse(_Options, argv, "pokemon convert")
    if not chosen.out.name.endswith((".jsonl", ".jsonl.gz")):
        raise OptionError(f"-o {chosen.out}: the name must end in .jsonl or .jsonl.gz")

    from ludory.data.pokemon.conversion import Conversion, Tally, converted, each_trajectory
    from ludory.data.pokemon.trajectories import write_trajectories

    how = Conversion(
        labels=chosen.labels,
        gimmick="never" if chosen.schema == "seed" else chosen.gimmick,
        min_rating=chosen.min_rating,
        format=chosen.format,
        keep_illusion=chosen.keep_illusion,
        licence=chosen.licence,
    )
    tally, rejected, files = Tally(), list[Any](), files_of(chosen.paths)

    def note(found: ConvertedBattle | Rejection) -> None:
        from ludory.data.pokemon.rejections import Rejection

        tally.count(found)
        if isinstance(found, Rejection):
            if chosen.strict:
                raise OptionError(f"{found}{_line_of(found)}")
            rejected.append(found)

    with _worker(chosen.labels) as worker, chosen.placement.open() as workers:
        trajectories = each_trajectory(converted(files, how, worker, workers), note)
        if chosen.schema == "seed":
            trajectories = _observed(trajectories)
        count = write_trajectories(chosen.out, trajectories, chosen.schema)
    reasons = _write_rejected(chosen.out, rejected)
    print("\n".join(map(visible, _lines(tally, count, chosen.out, reasons))))
    return 0 if tally.converted else 1


def files_of(paths: tuple[Path, ...]) -> list[Path]:
    """The files, and those of folders in order of their names.

    Raises:
        OptionError: one does not exist.
    """
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise OptionError(f"{path} does not exist")
        found += sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    return found


def _worker(labels: str) -> Any:
    """The simulator, if it runs here and is needed."""
    from ludory.envs.pokemon.backends.install import runs
    from ludory.envs.pokemon.backends.sim import SimWorker

    if labels == "log" or (labels == "auto" and not runs()):
        return nullcontext(None)
    return SimWorker()


def _observed(trajectories: Iterator[Any]) -> Iterator[Any]:
    """With the observations of seed41 in the steps, which the seed's readers need."""
    from ludory.data.pokemon.observations import with_seed_observations

    return map(with_seed_observations, trajectories)


def _line_of(found: Rejection) -> str:
    file, _, number = found.place.rpartition(", line ")
    if not number.isdecimal() or not file:
        return ""
    from ludory.reading import unpacked

    with unpacked(file).handle as handle:
        for count, line in enumerate(handle, 1):
            if count == int(number):
                return f"\n  {line[:300].decode(errors='replace').rstrip()}"
    return ""


def _write_rejected(out: Path, rejected: list[Rejection]) -> Path:
    from ludory.atomic import atomic_file

    file = out.with_name(out.name.removesuffix(".gz").removesuffix(".jsonl") + ".rejected.jsonl")
    with atomic_file(file, "w") as handle:
        handle.writelines(json.dumps(one._asdict(), ensure_ascii=False) + "\n" for one in rejected)
    return file


def _lines(tally: Any, count: int, out: Path, reasons: Path) -> list[str]:
    steps = sum(tally.labels.values())
    lines = [
        f"{tally.battles:,} battles read, {tally.converted:,} converted: {count:,} trajectories, {steps:,} decisions in {out}",
        *(f"  label {name}: {found:,} ({found / steps:.1%})" for name, found in tally.labels.most_common()),
        *(f"  kind {name}: {found:,}" for name, found in tally.kinds.most_common()),
    ]
    if tally.mismatches:
        lines.append(
            f"{tally.mismatches:,} battles did not play again as recorded (resim_mismatch): their logs were read"
        )
    if len(tally.slot_orders) > 1:
        lines.append(
            "warning: labels from logs and from input logs order slots differently, and learners refuse to mix them; "
            "take --labels log or --labels input-log"
        )
    if tally.rejected:
        lines.append(f"{sum(tally.rejected.values()):,} battles rejected, listed in {reasons}")
        lines += [f"  {name}: {found:,}" for name, found in tally.rejected.most_common()]
    return lines
