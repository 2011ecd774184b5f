"""Trajectory files: JSON lines with what one side decided in one battle, in Ludory's schema or the one of the seed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from ludory.atomic import atomic_file
from ludory.data import Problems
from ludory.data.formats.battles import checked_trajectory
from ludory.envs.pokemon.formats import FIRST_GIMMICK, MOVES, num_actions
from ludory.errors import DataError, OptionError
from ludory.reading import check_finite, shown, unpacked

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

SCHEMA = 1
MISSING = -1
"""Action of a step whose label is missing."""
KINDS = ("free", "forced_switch", "pivot", "preview", "single")
LABEL_SOURCES = ("request", "seen", "inferred", "missing")
Schema = Literal["ludory", "seed"]


@dataclass(frozen=True, slots=True)
class BattleStep:
    """A decision of one side."""

    action: int
    """Id of the action, `MISSING` if the label is missing."""
    reward: float = 0.0
    done: bool = False
    at: int = 0
    """Number of lines of the stream before the decision."""
    mask: tuple[int, ...] = tuple(range(FIRST_GIMMICK))
    """Legal actions."""
    kind: str = "free"
    label_source: str = "seen"
    weight: float = 1.0
    gimmick: str = ""
    """Gimmick of the choice: mega, ultra, z, dynamax, tera; also where the action is the plain move."""
    choice: str = ""
    """The choice in words, such as "move thunderbolt" or "switch Starmie"."""
    observation: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the seed's schema, as written in the file; empty where observations follow from the stream."""


@dataclass(frozen=True, slots=True)
class BattleTrajectory:
    """The decisions of one side of a battle, in order."""

    replay_id: str
    player: str
    """p1 or p2."""
    total_reward: float
    steps: tuple[BattleStep, ...]
    stream: tuple[str, ...] = ()
    """Protocol lines that the side saw, with a line `R{"request":..,"order":..}` before each decision, or a spectator's lines."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """schema, format, gen, rules, slot_order, gimmick, mask_source, vocab_sha256, rating, day, source, agents, licence; empty in
    files of the seed."""

    @property
    def seat(self) -> int:
        """0 for p1, 1 for p2."""
        return 0 if self.player == "p1" else 1

    @property
    def actions(self) -> int:
        """Number of actions."""
        if not self.meta:
            return FIRST_GIMMICK
        return num_actions(int(self.meta["gen"]), self.meta.get("gimmick", "native"))


def read_trajectories(path: str | Path, skipped: list[str] | None = None) -> Iterator[BattleTrajectory]:
    """Yield the trajectories of a file, plain or gzip, one at a time.

    Args:
        path: JSON lines, in Ludory's schema or the seed's.
        skipped: takes the problems of lines that are left out; None: the first problem is an error.

    Raises:
        DataError: a problem, with file, line, field, what was got and what is wanted; or no trajectory at all.
        OSError: the file cannot be read.
    """
    found, seen = 0, dict[tuple[str, str], int]()
    try:
        opened, flaw = unpacked(path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from error
    with closing(opened) as handle:
        for number, line in enumerate(handle, 1):
            if not line.strip():
                continue
            # a fresh list for each line: skipping one must not raise the problems of another
            problems = Problems()
            content = checked_trajectory(line, f"{path}, line {number}", problems)
            if content is not None and "meta" in content:
                for name, got, allowed in _own_faults(content):
                    place = f"{path}, line {number}, replay_id {content['replay_id']}"
                    problems.add(place, name, got, allowed, content["replay_id"])
            if content is not None and not problems.texts:
                side = content["replay_id"], content["player"]
                # `setdefault` gives this number if the side is new
                if (before := seen.setdefault(side, number)) != number:
                    place = f"{path}, line {number}, replay_id {side[0]}"
                    problems.add(place, "player", f"{side[1]}, as in line {before}", "a side once in a file", side[0])
            if content is not None and not problems.texts:
                found += 1
                yield trajectory_of(content)
            elif skipped is None:
                problems.raise_if_any()
            else:
                skipped += problems.texts
    if flaw:
        problems = Problems()
        problems.add(str(path), "file", flaw, "a readable file, plain or gzip")
        if skipped is None:
            problems.raise_if_any()
        else:
            skipped += problems.texts
    if not found:
        raise DataError(
            f"{path}: no trajectory in it; `ludory pokemon convert IN -o OUT.jsonl` writes some from replays"
        )


def _own_faults(content: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Field, what was got and what is wanted, of what the seed's schema does not have."""
    meta, stream = content["meta"], content.get("stream", [])
    if not isinstance(meta, dict) or meta.get("schema") != SCHEMA:
        yield "meta.schema", shown(meta.get("schema") if isinstance(meta, dict) else meta), str(SCHEMA)
        return
    gen, gimmick = meta.get("gen"), meta.get("gimmick", "native")
    try:
        check_finite(meta, "meta")
    except TypeError as error:
        yield "meta", str(error), "finite numbers"
        return
    if type(gen) is not int or not 1 <= gen <= 9:
        yield "meta.gen", shown(gen), "1 to 9"
        return
    if gimmick not in ("native", "never"):
        yield "meta.gimmick", shown(gimmick), "native or never"
        return
    if not isinstance(stream, list) or not all(isinstance(line, str) for line in stream):
        yield "stream", shown(stream), "a list of lines"
        return
    before, actions = 0, num_actions(gen, gimmick)
    for number, step in enumerate(content["steps"]):
        # the first fault of a line is enough: the others mostly follow from it
        for name, got, allowed in _own_step_faults(step, before, len(stream), actions):
            yield f"steps.{number}.{name}", got, allowed
            return
        before = step["at"]


def _own_step_faults(step: Mapping[str, Any], before: int, lines: int, actions: int) -> Iterator[tuple[str, str, str]]:
    at, action, mask = step.get("at"), step.get("action"), step.get("mask")
    for name in ("gimmick", "choice"):
        if not isinstance(step.get(name) or "", str):
            yield name, shown(step[name]), "a text"
    if type(at) is not int or not before <= at <= lines:
        yield "at", shown(at), f"{before}..{lines}, the lines before this decision"
    if step.get("kind") not in KINDS:
        yield "kind", shown(step.get("kind")), f"one of {', '.join(KINDS)}"
    if step.get("label_source") not in LABEL_SOURCES:
        yield "label_source", shown(step.get("label_source")), f"one of {', '.join(LABEL_SOURCES)}"
    if not isinstance(mask, list) or not mask or not all(type(one) is int and 0 <= one < actions for one in mask):
        yield "mask", shown(mask), f"a list of legal ids 0..{actions - 1}"
    elif step.get("label_source") == "missing" and action != MISSING:
        yield "action", shown(action), f"{MISSING}, since the label is missing"
    elif step.get("label_source") != "missing" and (type(action) is not int or action not in mask):
        yield "action", shown(action), f"one of the legal actions {', '.join(map(str, mask))}"
    elif (step["action_type"], step["action_target"]) != (expected := type_and_target(int(action or 0))):
        # both schemas stand in a line and must agree
        got = f"{shown(step['action_type'])}, {shown(step['action_target'])}"
        yield "action_type, action_target", got, f"{expected}, since the action is {action}"


def trajectory_of(content: Mapping[str, Any]) -> BattleTrajectory:
    """The trajectory of a checked JSON object."""
    meta = content.get("meta") or {}
    every = tuple(range(FIRST_GIMMICK))
    return BattleTrajectory(
        content["replay_id"],
        content["player"],
        float(content["total_reward"]),
        tuple(_step_of(step, every) for step in content["steps"]),
        tuple(content.get("stream") or ()),
        meta,
    )


def _step_of(step: Mapping[str, Any], every: tuple[int, ...]) -> BattleStep:
    kind, target = step["action_type"], step["action_target"]
    # of the seed's schema: action_type 0 is a move, 1 a switch
    plain = MISSING if kind < 0 else target if kind == 0 else MOVES + target
    return BattleStep(
        action=step.get("action", plain),
        reward=float(step["reward"]),
        done=bool(step["done"]),
        at=step.get("at", 0),
        mask=tuple(step.get("mask", every)),
        kind=step.get("kind", "free"),
        label_source=step.get("label_source", "seen"),
        weight=float(step.get("weight", 1.0)),
        gimmick=step.get("gimmick") or "",
        choice=step.get("choice", ""),
        observation=step["observation"],
    )


def write_trajectories(path: str | Path, trajectories: Iterable[BattleTrajectory], schema: Schema = "ludory") -> int:
    """Write a file, gzip if its name ends in .gz; returns the number of trajectories. The file appears whole or not at all.

    Args:
        path: to write.
        trajectories: one line each.
        schema: "seed" leaves out what its readers do not know, and steps whose label is missing.

    Raises:
        OptionError: the schema is unknown.
        OutputError: the file cannot be written.
    """
    if schema not in ("ludory", "seed"):
        raise OptionError(f"schema={schema!r}: must be ludory or seed")
    count = 0
    with atomic_file(path) as plain, packed(plain, path) as handle:
        for one in trajectories:
            content = content_of(one) if schema == "ludory" else seed_content_of(one)
            if content["steps"]:
                write_content(handle, content)
                count += 1
    return count


def write_content(handle: SupportsWrite[bytes], content: Mapping[str, Any]) -> None:
    """Write a JSON object as a line."""
    handle.write(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def packed(plain: IO[bytes], path: str | Path) -> gzip.GzipFile | _Plain:
    """A context with `write` of bytes into an open file, as gzip if the name ends in .gz."""
    if str(path).endswith(".gz"):
        # no name and no time in the header: equal content gives equal bytes
        return gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0)
    return _Plain(plain)


class _Plain:
    """A file that its owner closes."""

    def __init__(self, handle: IO[bytes]) -> None:
        self.write = handle.write

    def __enter__(self) -> _Plain:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def content_of(trajectory: BattleTrajectory) -> dict[str, Any]:
    """The JSON object of a trajectory in Ludory's schema."""
    return {
        **_head(trajectory),
        "meta": dict(trajectory.meta),
        "stream": list(trajectory.stream),
        "steps": [
            {
                **_seed_step(step),
                "at": step.at,
                "action": step.action,
                "mask": list(step.mask),
                "kind": step.kind,
                "label_source": step.label_source,
                "weight": step.weight,
                "gimmick": step.gimmick or None,
                "choice": step.choice,
            }
            for step in trajectory.steps
        ],
    }


def seed_content_of(trajectory: BattleTrajectory) -> dict[str, Any]:
    """The JSON object in the seed's schema: without the steps whose label is missing, gimmicks as plain moves.

    If the last step is left out, the step before it is the last, with its reward.
    """
    kept = [_seed_step(step) for step in trajectory.steps if step.action != MISSING]
    if kept:
        # what steps without a label were paid goes to the last one that stays
        left_out = sum(step.reward for step in trajectory.steps) - sum(step["reward"] for step in kept)
        kept[-1] |= {"done": trajectory.steps[-1].done, "reward": kept[-1]["reward"] + left_out}
    return {**_head(trajectory), "steps": kept}


def _head(trajectory: BattleTrajectory) -> dict[str, Any]:
    return {
        "replay_id": trajectory.replay_id,
        "player": trajectory.player,
        "total_reward": trajectory.total_reward,
    }


def _seed_step(step: BattleStep) -> dict[str, Any]:
    kind, target = type_and_target(step.action)
    return {
        "observation": dict(step.observation),
        "action_type": kind,
        "action_target": target,
        "reward": step.reward,
        "done": step.done,
    }


def type_and_target(action: int) -> tuple[int, int]:
    """The seed's action type (0 move, 1 switch) and target of an action; -1, -1 if the label is missing."""
    if action == MISSING:
        return -1, -1
    if action < MOVES:
        return 0, action
    return (1, action - MOVES) if action < FIRST_GIMMICK else (0, (action - FIRST_GIMMICK) % MOVES)


def last_rewards(steps: Sequence[BattleStep], reward: float) -> tuple[BattleStep, ...]:
    """The steps with the battle's reward on the last one, which ends it."""
    return (*steps[:-1], replace(steps[-1], reward=reward, done=True)) if steps else ()
