"""Observations of recorded decisions, computed from the stream by the tracker and encoder that live battles have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs.pokemon import observation as encoder
from ludory.envs.pokemon.columns import ENTITY_SIZE
from ludory.envs.pokemon.formats import FIRST_GIMMICK, gimmick_groups
from ludory.envs.pokemon.formats import MOVES as MOVES_OF_MENU
from ludory.envs.pokemon.tracker import Tracker
from ludory.envs.pokemon.tracker import layout as at
from ludory.envs.pokemon.vocab import UNKNOWN, numbers
from ludory.errors import DataError, OptionError

from .labels import SHORT
from .sides import Decision, SpectatorView
from .spectator import watch
from .trajectories import BattleTrajectory

MOVE_NUMBERS = numbers("moves")


class ObservedDecisions(NamedTuple):
    """The T decisions of a trajectory."""

    observations: NDArray[np.float32]  # [T, size]
    masks: NDArray[np.bool_]  # [T, A]
    actions: NDArray[np.int64]  # [T], `MISSING` where the label is missing
    weights: NDArray[np.float32]  # [T]
    rewards: NDArray[np.float32]  # [T]
    kinds: tuple[str, ...]


SPECS = {"entity": encoder.entity_spec, "flat": encoder.flat_spec, "seed41": encoder.seed41_spec}


def observation_for(first: BattleTrajectory, observation: str | None, path: str | Path) -> str:
    """What to compute from a file: `observation`; where it is None, entity, or seed41 for files of the seed's schema.

    Args:
        first: trajectory of the file.
        observation: "entity", "flat", "seed41" or None.
        path: of the file, for messages.

    Raises:
        OptionError: there is no such observation.
        DataError: it cannot be computed from a file of the seed's schema.
    """
    if observation is not None and observation not in SPECS:
        raise OptionError(f"observation={observation!r}: must be one of {', '.join(SPECS)}")
    wanted = observation or ("entity" if first.stream else "seed41")
    if wanted != "seed41" and not first.stream:
        raise DataError(
            f"{path}: files of the seed's schema hold 41 numbers for each decision, from which {wanted!r} cannot be computed; "
            'ask for observation="seed41", or convert the replays again with `ludory pokemon convert`'
        )
    return wanted


def observations_of(trajectory: BattleTrajectory, observation: str = "entity") -> ObservedDecisions:
    """What the side saw at each of its decisions.

    Args:
        trajectory: of Ludory's schema, or of the seed's, which has the numbers of `seed41` only.
        observation: "entity", "flat" or "seed41".

    Raises:
        DataError: a trajectory of the seed's schema is asked for another observation, or a log shows fewer decisions.
    """
    steps = trajectory.steps
    masks = np.zeros((len(steps), trajectory.actions), bool)
    for number, step in enumerate(steps):
        masks[number, list(step.mask)] = True
    if trajectory.stream:
        seen = _from_stream(trajectory, masks, observation)
    elif observation == "seed41":
        seen = np.stack([_seed_row(step.observation) for step in steps])
    else:
        raise DataError(
            f"battle {trajectory.replay_id}: a trajectory of the seed's schema has no stream, so {observation!r} cannot be computed; "
            'ask for observation="seed41"'
        )
    return ObservedDecisions(
        seen,
        masks,
        np.array([step.action for step in steps], np.int64),
        np.array([step.weight for step in steps], np.float32),
        np.array([step.reward for step in steps], np.float32),
        tuple(step.kind for step in steps),
    )


def _from_stream(trajectory: BattleTrajectory, masks: NDArray[np.bool_], observation: str) -> NDArray[np.float32]:
    view = watch(trajectory.stream, keep_illusion=True) if trajectory.meta.get("mask_source") == "spectator" else None
    # a spectator's log gives the course; requests are then made of what it shows
    tracker, stream, fed = _tracker(trajectory, view), trajectory.stream, 0
    points = [one for one in view.decisions if one.seat == trajectory.seat] if view is not None else []
    if view is not None and len(points) < len(trajectory.steps):
        raise DataError(
            f"battle {trajectory.replay_id}: {len(trajectory.steps)} decisions of seat {trajectory.seat}, of which its log shows "
            f"{len(points)}; convert its replay again, with `ludory pokemon convert`"
        )
    rows = np.zeros((len(masks), encoder.SEED41_SIZE if observation == "seed41" else ENTITY_SIZE), np.float32)
    for number, (step, mask, row) in enumerate(zip(trajectory.steps, masks, rows, strict=True)):
        # each decision sees the stream up to its request
        tracker.feed_all(stream[fed : step.at])
        fed = step.at
        if view is not None:
            _show_request(tracker, points[number], mask)
        if observation == "seed41":
            encoder.write_seed41(tracker, row)
        else:
            encoder.write_entity(tracker, mask, row)
    return encoder.flat_of_entity(rows) if observation == "flat" else rows


def _tracker(trajectory: BattleTrajectory, view: SpectatorView | None) -> Tracker:
    """Follows the battle from the side's seat; of a spectator's log, with the own moves that it shows until its end."""
    meta, own = trajectory.meta, dict[str, Sequence[str]]()
    if view is not None:
        team = view.teams[trajectory.seat]
        own = {member.nick: sorted(member.moves) for member in team if member.nick is not None}
    return Tracker(int(meta["gen"]), trajectory.seat, slot_order=str(meta.get("slot_order", "request")), own_moves=own)


def _show_request(tracker: Tracker, point: Decision, mask: NDArray[np.bool_]) -> None:
    """Write what a request would say, as far as the log shows it: the kind of choice, the menu, the gimmicks that are left.

    Moves stand where their actions are; places without a known move are unknown.
    """
    values = tracker.values
    values[at.PREVIEW] = point.kind == "preview"
    values[at.FORCED] = point.kind in ("forced_switch", "pivot")
    menu = values[at.MENU : at.MENU + at.MENU_SIZE]
    # 1 is "none" for moves; the other columns are numbers
    for place in range(at.MENU_SIZE):
        menu[place] = 1 if place < MOVES_OF_MENU else 0
    groups = gimmick_groups(tracker.gen) if len(mask) > FIRST_GIMMICK else ()
    # a gimmick is left if its first action is legal
    left = {
        SHORT.get(word, word)
        for number, words in enumerate(groups)
        for word in words
        if mask[FIRST_GIMMICK + MOVES_OF_MENU * number]
    }
    for number, name in enumerate(at.GIMMICKS):
        values[at.OFFERED + number] = name in left
    if point.kind in ("free", "single") and point.menu is not None:
        start = values[at.ACTIVE_ROW] * at.ROW
        block = start + (at.TEMPORARY if values[start + at.NUM_TEMPORARY] else at.MOVES)
        # the menu shows what was copied, the place is that of the copying move
        shown = {by: move for move, by in point.copied.items()}
        names = [point.move] if point.one_entry else [shown.get(name, name) for name in sorted(point.menu.moves)]
        for k in range(1 if point.one_entry else MOVES_OF_MENU):
            number = MOVE_NUMBERS[names[k]] if k < len(names) else UNKNOWN
            most = int(tracker.dex.move_pp[number])
            left_pp = [values[place + at.PP] for place in range(block, block + 4) if values[place] == number]
            menu[k] = number
            menu[at.MENU_PP_MAX + k] = most
            # unknown moves have full pp
            menu[at.MENU_PP + k] = left_pp[0] if left_pp and number else most
    values[at.MENU : at.MENU + at.MENU_SIZE] = menu


def _seed_row(fields: Mapping[str, Any]) -> NDArray[np.float32]:
    """The 41 numbers of a file of the seed; a missing field is 0, a list that is too long is cut."""
    row, start = np.zeros(encoder.SEED41_SIZE, np.float32), 0
    for name, size in encoder.SEED41_PARTS.items():
        values = np.atleast_1d(np.asarray(fields.get(name, 0), np.float32))[:size]
        row[start : start + len(values)] = values
        start += size
    return row


def with_seed_observations(trajectory: BattleTrajectory) -> BattleTrajectory:
    """The trajectory with the fields of `seed41` in every step, which readers of the seed's files need."""
    if not trajectory.stream:
        return trajectory
    rows = observations_of(trajectory, "seed41").observations
    steps = (replace(step, observation=_seed_fields(row)) for step, row in zip(trajectory.steps, rows, strict=True))
    return replace(trajectory, steps=tuple(steps))


def _seed_fields(row: NDArray[np.float32]) -> dict[str, Any]:
    """Names and values: numbers, or lists where a field has several."""
    fields: dict[str, Any] = {}
    start = 0
    for name, size in encoder.SEED41_PARTS.items():
        values = [round(float(value), 6) for value in row[start : start + size]]
        fields[name] = values if size > 1 else values[0]
        start += size
    return fields
