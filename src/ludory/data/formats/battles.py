"""JSON lines with one trajectory of one player each, as the Pokemon pipeline writes them, read as trajectories of battles."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np

from ludory.data.columns import UNKNOWN_SEED, WEIGHT, Columns
from ludory.data.header import TrajectoryHeader
from ludory.envs.facts import Head, ObservationSpec, flat_segments
from ludory.errors import LogFormatError, OptionError
from ludory.reading import JsonError, parse_json, shown, unpacked

from .json_records import LARGEST, Problems

MOVES, SWITCHES = 4, 6
HEAD = Head("action", MOVES + SWITCHES)
PLAYERS = ("p1", "p2")
TARGETS = {0: (0, MOVES), 1: (MOVES, SWITCHES)}
"""First action id and number of targets of every action type."""


class _Place(NamedTuple):
    file: int
    line: int
    offset: int
    steps: int


class BattleTrajectories:
    """Files of lines {replay_id, player, total_reward, steps: [{observation, action_type, action_target, reward, done}]}, plain or gzip.

    Both players of a battle form one game, whose id depends only on its replay_id. Ids of actions are the target of a move (0-3)
    or 4 + the target of a switch. A step may have `mask` (legal ids; else all are) and `weight`. The numbers of an
    observation, also those in lists and objects, become a vector of floats with one entry for each name (`team_hp.0`), sorted by name.

    The files are read twice: here to check everything, and in `parts` to convert it. Only one battle is in memory at a time.

    Args:
        files: one or more.
        game: name of the game in the header.
        on_error: "skip-game" leaves out battles with a problem instead of refusing the files.

    Attributes:
        header: of the trajectories.
        battles: number of battles.
        absent: number of steps in which a field is missing and reads as 0, by name.
        ignored: number of values that are not numbers, by name.
        skipped: why battles were left out.
        skipped_battles: number of battles left out.

    Raises:
        LogFormatError: up to 20 problems with file, line, battle, step and field.
    """

    def __init__(
        self,
        files: str | Path | Sequence[str | Path],
        game: str = "pokemon",
        on_error: Literal["raise", "skip-game"] = "raise",
    ) -> None:
        if on_error not in ("raise", "skip-game"):
            raise OptionError(f"on_error={on_error!r}: must be raise or skip-game")
        self._files = [Path(file) for file in ([files] if isinstance(files, str | Path) else files)]
        self.ignored: Counter[str] = Counter()
        self._places: dict[str, dict[str, _Place]] = {}
        self._weighted = False
        problems, seen, lowest, highest = Problems(), Counter[str](), 0.0, 0.0
        for number in range(len(self._files)):
            # offsets of lines, so that `parts` can go back to them: only places are kept in memory
            for place, offset, text in self._lines(number, problems):
                trajectory = checked_trajectory(text, f"{self._files[number]}, line {place}", problems)
                if trajectory is None:
                    continue
                if not self._remember(trajectory, _Place(number, place, offset, len(trajectory["steps"])), problems):
                    continue
                for step in trajectory["steps"]:
                    values = dict(_numbers(step["observation"], "", self.ignored))
                    seen.update(values.keys())
                    lowest, highest = min([lowest, *values.values()]), max([highest, *values.values()])
                    self._weighted |= "weight" in step
        # a problem of no battle cannot be mended by leaving battles out
        if on_error == "raise" or problems.of_no_game:
            problems.raise_if_any()
        self._places = {id: found for id, found in self._places.items() if id not in problems.bad_games}
        if not self._places or not seen:
            problems.raise_if_any()
            raise LogFormatError(f"{', '.join(map(str, self._files))}: no trajectory with an observation in it")
        steps = sum(place.steps for found in self._places.values() for place in found.values())
        names = sorted(seen, key=_natural)
        self.absent = Counter({name: steps - seen[name] for name in names if seen[name] < steps})
        self.skipped, self.skipped_battles = tuple(problems.texts), len(problems.bad_games)
        self.battles = len(self._places)
        spec = ObservationSpec(
            "fields", (len(names),), "float32", flat_segments(dict.fromkeys(names, 1)), lowest, highest
        )
        self.header = TrajectoryHeader(
            game, spec, (HEAD,), len(PLAYERS), extra_columns=(WEIGHT,) if self._weighted else ()
        )

    def _remember(self, trajectory: dict[str, Any], place: _Place, problems: Problems) -> bool:
        """Note where a trajectory is; returns False if it is of another schema, or this player and battle has one already."""
        id, player = trajectory["replay_id"], trajectory["player"]
        if "meta" in trajectory:
            where = f"{self._files[place.file]}, line {place.line}, replay_id {id}"
            wanted = "the seed's schema (`ludory pokemon convert --schema seed`); `ludory train bc --data` takes both"
            problems.add(where, "meta", "a trajectory in Ludory's schema", wanted, id)
            return False
        before = self._places.setdefault(id, {}).get(player)
        if before is not None:
            where = f"{self._files[place.file]}, line {place.line}, replay_id {id}"
            problems.add(
                where, "player", f"{player} as in line {before.line} of {self._files[before.file]}", "once", id
            )
            return False
        self._places[id][player] = place
        return True

    def _lines(self, number: int, problems: Problems) -> Iterator[tuple[int, int, bytes]]:
        """Number, offset and text of every non-empty line."""
        try:
            handle, flaw = unpacked(self._files[number])
            with handle:
                offset, found = 0, False
                for line, text in enumerate([] if flaw else handle, 1):
                    if text.strip():
                        found = True
                        yield line, offset, text
                    # in bytes of the unpacked text, as `seek` counts
                    offset += len(text)
        except OSError as error:
            flaw = str(error)
        if flaw:
            problems.add(str(self._files[number]), "file", flaw, "a readable file, plain or gzip")
        elif not found:
            problems.add(str(self._files[number]), "file", "no trajectory", "one JSON object on a line")

    def parts(self) -> Iterator[Columns]:
        """Yield the battles one by one."""
        handles: dict[int, IO[bytes]] = {}
        try:
            for id, found in self._places.items():
                trajectories = {}
                for player, place in sorted(found.items()):
                    if place.file not in handles:
                        handles[place.file] = unpacked(self._files[place.file]).handle
                    handles[place.file].seek(place.offset)
                    trajectories[PLAYERS.index(player)] = parse_json(handles[place.file].readline())
                yield self._battle(game_id(id), trajectories)
        finally:
            for handle in handles.values():
                handle.close()

    def _battle(self, game: int, trajectories: dict[int, dict[str, Any]]) -> Columns:
        index = {segment.name: segment.start for segment in self.header.observation.segments}
        numbered = [
            (number, seat, step)
            for seat, trajectory in trajectories.items()
            for number, step in enumerate(trajectory["steps"])
        ]
        # both players' decisions by number: the battle in its course
        rows = sorted(numbered, key=lambda row: row[:2])
        steps = [step for _, _, step in rows]
        seen, masks = np.zeros((len(rows), len(index)), np.float32), np.zeros((len(rows), HEAD.size), bool)
        for row, step in enumerate(steps):
            for name, value in _numbers(step["observation"], "", Counter()):
                seen[row, index[name]] = value
            # a step without a mask may do anything
            masks[row, step.get("mask", slice(None))] = True
        lengths = {seat: len(trajectory["steps"]) for seat, trajectory in trajectories.items()}
        done = {seat: bool(trajectory["steps"][-1]["done"]) for seat, trajectory in trajectories.items()}
        last = np.array([number == lengths[seat] - 1 for number, seat, _ in rows])
        ended = np.array([done[seat] for _, seat, _ in rows])
        return Columns(
            games=np.full(len(rows), game),
            seeds=np.full(len(rows), UNKNOWN_SEED),
            steps=np.array([number for number, _, _ in rows]),
            seats=np.array([seat for _, seat, _ in rows]),
            observations=seen,
            masks=np.packbits(masks, axis=1),
            actions=np.array([[_action_id(step)] for step in steps]),
            log_probs=np.full((len(rows), 1), np.nan, np.float32),
            rewards=np.array([step["reward"] for step in steps], np.float32),
            terminated=last & ended,
            # of the player's own steps: each side ends with its last one
            truncated=last & ~ended,
            extras={WEIGHT.name: np.array([step.get("weight", 1.0) for step in steps], np.float32)}
            if self._weighted
            else {},
        )


def game_id(replay_id: str) -> int:
    """63 bits of SHA-256, so that a battle has the same id in every file and data set."""
    return int.from_bytes(hashlib.sha256(replay_id.encode()).digest()[:8], "big") >> 1


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts team.2 before team.10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _numbers(value: object, name: str, ignored: Counter[str]) -> Iterator[tuple[str, float]]:
    """Names and values of all numbers in an observation; null is absent."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, f"{name}.{key}" if name else str(key), ignored)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _numbers(inner, f"{name}.{number}", ignored)
    elif isinstance(value, bool | int | float) and abs(value) <= LARGEST:
        # booleans are 0 and 1
        yield name, float(value)
    elif value is not None:
        ignored[name] += 1


def _action_id(step: dict[str, Any]) -> int:
    return int(TARGETS[step["action_type"]][0] + step["action_target"])


def checked_trajectory(text: bytes, place: str, problems: Problems) -> dict[str, Any] | None:
    """The trajectory of a line; None if anything is wrong with it.

    With `meta` it is in the schema of `ludory.data.pokemon.trajectories`, which checks what the seed's schema lacks.
    """
    try:
        content = parse_json(text)
    except JsonError as error:
        # a line without its end is most likely one that was being written
        cut = not text.endswith(b"\n")
        problems.add(place, "record", "the file ends inside a record" if cut else error, "a JSON object")
        return None
    if not isinstance(content, dict):
        problems.add(place, "record", f"a {type(content).__name__}", "a JSON object")
        return None
    missing = [name for name in ("replay_id", "player", "total_reward", "steps") if name not in content]
    if missing:
        id = content.get("replay_id")
        problems.add(place, missing[0], f"no {', '.join(missing)}", "there", id if isinstance(id, str) else None)
        return None
    id = content["replay_id"]
    if not isinstance(id, str) or not id:
        problems.add(place, "replay_id", shown(id), "the name of a battle")
        return None
    before = len(problems.texts)
    place = f"{place}, replay_id {id}"
    if content["player"] not in PLAYERS:
        problems.add(place, "player", shown(content["player"]), "p1 or p2", id)
    if not _finite(content["total_reward"]):
        problems.add(place, "total_reward", shown(content["total_reward"]), "a finite number", id)
    steps = content["steps"]
    if not isinstance(steps, list) or not steps:
        problems.add(place, "steps", "none" if steps == [] else shown(steps), "a list of at least one step", id)
        return None
    for number, step in enumerate(steps):
        for field, got, allowed in _step_faults(step, number == len(steps) - 1, "meta" in content):
            # steps of Ludory's schema are checked further in `ludory.data.pokemon.trajectories`
            problems.add(f"{place}, step {number}", field, got, allowed, id)
    return content if len(problems.texts) == before else None


def _finite(value: object) -> bool:
    return type(value) in (int, float) and abs(value) <= LARGEST  # type: ignore[arg-type]


def _step_faults(step: object, last: bool, own: bool) -> Iterator[tuple[str, str, str]]:
    """Field, what was got and what is allowed."""
    if not isinstance(step, dict):
        yield "steps", f"a {type(step).__name__}", "a JSON object"
        return
    missing = [name for name in ("observation", "action_type", "action_target", "reward", "done") if name not in step]
    if missing:
        yield missing[0], f"no {', '.join(missing)}", "there"
        return
    if not isinstance(step["observation"], dict):
        yield "observation", f"a {type(step['observation']).__name__}", "an object of fields"
    else:
        for name, value in _all_values(step["observation"], ""):
            if isinstance(value, int | float) and not abs(value) <= LARGEST:
                # JSON may hold NaN and Infinity although the standard forbids it
                big = "NaN or infinity" if isinstance(value, float) and not math.isfinite(value) else shown(value)
                yield f"observation.{name}", big, "finite, as float32"
                break
    kind, target = step["action_type"], step["action_target"]
    if own:
        pass
    elif type(kind) is not int or kind not in TARGETS:
        yield "action_type", shown(kind), "0 (move) or 1 (switch)"
    elif type(target) is not int or not 0 <= target < TARGETS[kind][1]:
        yield "action_target", shown(target), f"0..{TARGETS[kind][1] - 1} for action_type {kind}"
    else:
        yield from _mask_faults(step, _action_id(step))
    for name in ("reward", "weight"):
        if name in step and (not _finite(step[name]) or (name == "weight" and step[name] < 0)):
            yield name, shown(step[name]), "a finite number" + (" of at least 0" if name == "weight" else "")
    # 1 and 0 for true and false, as some writers have it; but not 1.0
    if step["done"] not in (True, False) or not isinstance(step["done"], bool | int):
        yield "done", shown(step["done"]), "true or false"
    elif step["done"] and not last:
        yield "done", "true before the last step", "true on the last step only"


def _mask_faults(step: dict[str, Any], action: int) -> Iterator[tuple[str, str, str]]:
    ids = step.get("mask", [action])
    if not isinstance(ids, list) or not ids or not all(type(one) is int and 0 <= one < HEAD.size for one in ids):
        yield "mask", shown(ids), f"a list of legal ids 0..{HEAD.size - 1}"
    elif action not in ids:
        yield "action_target", f"action {action}, which is not legal", f"among {', '.join(map(str, ids))}"


def _all_values(value: object, name: str) -> Iterator[tuple[str, object]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield name, value
        return
    for key, part in inner:
        yield from _all_values(part, f"{name}.{key}" if name else str(key))
