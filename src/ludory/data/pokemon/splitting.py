"""Splits of trajectory files into training and validation: whole battles, days or players, each by its own hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ludory.atomic import atomic_file
from ludory.errors import DataError, OptionError

from .trajectories import BattleTrajectory, content_of, packed, read_trajectories, seed_content_of, write_content

By = Literal["battle", "day", "player"]


class SplitFiles(NamedTuple):
    """What `split_file` wrote."""

    train: Path
    val: Path
    train_trajectories: int
    val_trajectories: int
    train_battles: int
    val_battles: int


def in_validation(key: str, ratio: float, seed: int) -> bool:
    """Whether a battle, day or player is for validation: SHA-256 of "seed|key", as a fraction, is below the ratio."""
    return _fraction(key, seed) < ratio


def validation_keys(keys: Iterable[str], ratio: float, seed: int) -> set[str]:
    """The battles, days or players for validation, as `in_validation` says.

    Of two or more, at least one is on each side: the one that is nearest to the border changes its side if there is none.
    """
    ordered = sorted(keys, key=lambda key: _fraction(key, seed))
    count = sum(in_validation(key, ratio, seed) for key in ordered)
    return set(ordered[: min(max(count, 1), len(ordered) - 1)])


def _fraction(key: str, seed: int) -> float:
    return int.from_bytes(hashlib.sha256(f"{seed}|{key}".encode()).digest()[:8], "big") / 2**64


def split_file(path: str | Path, ratio: float = 0.1, seed: int = 42, by: By = "battle") -> SplitFiles:
    """Write IN.train.jsonl and IN.val.jsonl beside the file, as gzip if it is one.

    Both sides of a battle, and two ids of one battle, go to one file.

    Args:
        path: trajectories.
        ratio: share of battles for validation, between 0 and 1.
        seed: of the split.
        by: what is kept together: "day" and "player" group more than "battle"; all battles of players who met each other belong together.

    Raises:
        DataError: the file is not one of trajectories, lacks the days or players, or all belongs together.
        OptionError: an argument is invalid.
    """
    if not 0 < ratio < 1:
        raise OptionError(f"val_ratio={ratio}: must be between 0 and 1, such as 0.1")
    if by not in ("battle", "day", "player"):
        raise OptionError(f"by={by!r}: must be battle, day or player")
    groups = _groups(path, by)
    if len(set(groups.values())) < 2:
        what = "the file has one battle" if by == "battle" else f"all battles belong to one {by}"
        raise DataError(
            f"{path}: {what}, which cannot be divided; " + ("convert more" if by == "battle" else "split by battle")
        )
    chosen = validation_keys(set(groups.values()), ratio, seed)
    train, val = names_of_split(path)
    counts, battles = [0, 0], (set[str](), set[str]())
    with ExitStack() as stack:
        handles: list[Any] = []
        for file in (train, val):
            plain = stack.enter_context(atomic_file(file))
            handles.append(stack.enter_context(packed(plain, file)))
        for one in read_trajectories(path):
            side = int(groups[one.replay_id] in chosen)
            write_content(handles[side], content_of(one) if one.meta else seed_content_of(one))
            counts[side] += 1
            battles[side].add(one.replay_id)
    return SplitFiles(train, val, counts[0], counts[1], len(battles[0]), len(battles[1]))


def names_of_split(path: str | Path) -> tuple[Path, Path]:
    """IN.train.jsonl and IN.val.jsonl for IN.jsonl, with .gz where IN has it."""
    path = Path(path)
    gz = ".gz" if path.name.endswith(".gz") else ""
    stem = path.name.removesuffix(".gz").removesuffix(".jsonl")
    return path.with_name(f"{stem}.train.jsonl{gz}"), path.with_name(f"{stem}.val.jsonl{gz}")


def _groups(path: str | Path, by: By) -> dict[str, str]:
    """The group of every battle: the smallest key of the battles that belong together."""
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        while parent.setdefault(key, key) != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    battles = set()
    for one in read_trajectories(path):
        id = f"battle {one.replay_id}"
        battles.add(one.replay_id)
        root(id)
        for key in (*_content_keys(one), *_keys(one, by, path)):
            pair = sorted((root(id), root(key)))
            parent[pair[1]] = pair[0]
    members: dict[str, list[str]] = {}
    for key in parent:
        members.setdefault(root(key), []).append(key)
    wanted = {"battle": "battle ", "day": "day ", "player": "player "}[by]
    name = {
        place: min((key for key in keys if key.startswith(wanted)), default=place) for place, keys in members.items()
    }
    return {id: name[root(f"battle {id}")].removeprefix(wanted) for id in battles}


def _content_keys(one: BattleTrajectory) -> Iterator[str]:
    """A key that two ids of one battle share."""
    lines = battle_lines(one)
    if lines:
        yield f"log {hashlib.sha256(lines.encode()).hexdigest()}"


def battle_lines(one: BattleTrajectory) -> str:
    """What both sides of a battle saw alike, without names and hp: equal for the two sides, and for copies under other ids."""
    kept = [
        line for line in one.stream if line.startswith(("|move|", "|switch|", "|drag|", "|cant|", "|turn|", "|faint|"))
    ]
    return "\n".join("|".join(line.split("|")[:4]) for line in kept)


def _keys(one: BattleTrajectory, by: By, path: str | Path) -> Iterator[str]:
    if by == "day":
        if not one.meta.get("day"):
            raise DataError(
                f"{path}, replay_id {one.replay_id}, field 'meta.day': got none, must be a day; split by battle"
            )
        yield f"day {one.meta['day']}"
    elif by == "player":
        names = [line.split("|")[3] for line in one.stream if line.startswith("|player|") and line.count("|") > 2]
        names = [name for name in names if name]
        if not names:
            raise DataError(
                f"{path}, replay_id {one.replay_id}, field 'stream': got no |player| lines; split by battle"
            )
        yield from (f"player {name}" for name in names)


def check_disjoint(train: str | Path, val: str | Path) -> None:
    """Refuse a validation file that shares a battle with the training file.

    Raises:
        DataError: names how many, and the first.
    """

    def keys(path: str | Path) -> set[str]:
        found = set()
        for one in read_trajectories(path, []):
            found.add(f"battle {one.replay_id}")
            found.update(_content_keys(one))
        return found

    shared = keys(train) & keys(val)
    if shared:
        ids = sorted(key.removeprefix("battle ") for key in shared if key.startswith("battle "))
        what = f"{len(ids)} battles, such as {ids[0]}" if ids else f"{len(shared)} battles under other ids"
        raise DataError(f"{val} shares {what}, with {train}; split the whole file with `ludory pokemon split`")
