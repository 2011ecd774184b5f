"""Sequences of older files as trajectories that learners can read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.data import UNKNOWN_SEED, Columns, ExtraColumn, TrajectoryHeader, header_of, taken, used_column
from ludory.envs import Game, Head, ObservationSpec, flat_segments
from ludory.envs.arena.codec import HEADS
from ludory.errors import DataError

from . import recorder
from .load import MIXED, SequenceSet
from .manifest import link
from .observation import FEATURES
from .sequence import STEPS, TrajectorySequence

JOINT = ExtraColumn("joint_log_prob", "float32")
"""Log-probability of the whole action; NaN where unknown."""
TICK = ExtraColumn("tick", "int64")
USED = used_column(len(HEADS))


class Converted(NamedTuple):
    """Trajectories in memory."""

    header: TrajectoryHeader
    columns: Columns


def as_trajectories(data: SequenceSet, game: Game | None = None) -> Converted:
    """All sequences of a set, one row per step.

    A sequence with `game` and `seat` keeps them. Any other is a game of its own, whose id is made from the last two components of
    its path. Where a file does not say what was legal, every action was.

    Args:
        data: sequences with the same features.
        game: the game that was played, with the observation and heads of the set; None: make the header from the set alone.

    Raises:
        DataError: the features are mixed, the game does not fit the set, or two sequences are the same seat of one game.
    """
    if data.features == MIXED:
        raise DataError("mixed features cannot be told apart later; convert recorder files and feedback streams apart")
    places = _places(data.sequences)
    order = sorted(range(len(places)), key=lambda number: places[number])
    sequences, games = [data.sequences[number] for number in order], [places[number] for number in order]
    extras = _extra_columns(sequences)
    header = _header(data, max(seat for _, seat in games) + 1, game, extras)
    lengths = [sequence.length for sequence in sequences]
    steps = np.concatenate([np.arange(length) for length in lengths])
    columns = Columns(
        games=np.repeat(np.array([one for one, _ in games]), lengths),
        seeds=np.full(len(steps), UNKNOWN_SEED),
        steps=steps,
        seats=np.repeat(np.array([seat for _, seat in games]), lengths),
        observations=np.concatenate([sequence.obs for sequence in sequences]),
        masks=np.packbits(np.concatenate([_legal(sequence, sum(data.sizes)) for sequence in sequences]), axis=1),
        actions=np.concatenate([np.stack([sequence.actions[name] for name in HEADS], 1) for sequence in sequences]),
        log_probs=np.concatenate([_by_head(sequence) for sequence in sequences]),
        rewards=np.concatenate([sequence.rewards for sequence in sequences]),
        terminated=np.concatenate([sequence.terminated for sequence in sequences]),
        truncated=np.concatenate([sequence.truncated for sequence in sequences]),
        extras={extra.name: _extra(extra, sequences) for extra in extras},
    )
    by_move = np.lexsort((columns.seats, columns.steps, columns.games))
    return Converted(header, taken(columns, by_move))


def _places(sequences: Sequence[TrajectorySequence]) -> list[tuple[int, int]]:
    """Game and seat of every sequence."""
    found: dict[tuple[int, int], str] = {}
    parts: dict[str, int] = {}
    for sequence in sequences:
        path = sequence.extras["path"]
        parts[path] = parts.get(path, 0) + 1
        known = "game" in sequence.extras and "seat" in sequence.extras
        place = (sequence.extras["game"], sequence.extras["seat"]) if known else (_game_id(path, parts[path]), 0)
        if place in found:
            raise DataError(
                f"{found[place]} and {path} are both seat {place[1]} of game {place[0]}; convert them apart"
            )
        found[place] = path
    return list(found)


def _game_id(path: str, part: int) -> int:
    """63 bits of SHA-256, so that an episode is in the same split wherever its folder is."""
    return int.from_bytes(hashlib.sha256(f"{link(path)}|{part}".encode()).digest()[:8], "big") >> 1


def _header(data: SequenceSet, players: int, game: Game | None, extras: tuple[ExtraColumn, ...]) -> TrajectoryHeader:
    heads = tuple(Head(name, size) for name, size in zip(HEADS, data.sizes, strict=True))
    if game is None:
        low = min(float(sequence.obs.min()) for sequence in data.sequences)
        high = max(float(sequence.obs.max()) for sequence in data.sequences)
        names = FEATURES if data.features == recorder.FEATURES else [f"feature_{k}" for k in range(len(FEATURES))]
        spec = ObservationSpec(
            data.features, (len(FEATURES),), "float32", flat_segments(dict.fromkeys(names, 1)), low, high
        )
        return TrajectoryHeader(data.features, spec, heads, players, extra_columns=extras)
    facts = game.facts
    if facts.observation.name != data.features or facts.heads != heads or facts.players < players:
        raise DataError(
            f"the files hold {data.features}, heads {data.sizes} and {players} seats; {game.id} with these options has "
            f"{facts.observation.name}, {facts.head_sizes} and {facts.players}: give --option observation={data.features} "
            f"--option heads={'seed' if data.sizes[0] == data.sizes[2] else 'default'}, or leave the game out"
        )
    return header_of(game, extra_columns=extras)


def _legal(sequence: TrajectorySequence, size: int) -> NDArray[np.bool_]:
    found = sequence.extras[STEPS].get("legal")
    return np.ones((sequence.length, size), np.bool_) if found is None else found


def _by_head(sequence: TrajectorySequence) -> NDArray[np.float32]:
    return np.stack([sequence.behavior_logp_heads[name] for name in HEADS], 1)


def _extra_columns(sequences: Sequence[TrajectorySequence]) -> tuple[ExtraColumn, ...]:
    found = [JOINT]
    if all("tick_id" in sequence.extras[STEPS] for sequence in sequences):
        found.append(TICK)
    if all("used" in sequence.extras[STEPS] for sequence in sequences):
        found.append(USED)
    return tuple(found)


def _extra(extra: ExtraColumn, sequences: Sequence[TrajectorySequence]) -> NDArray[Any]:
    if extra == JOINT:
        return np.concatenate([sequence.behavior_logp for sequence in sequences])
    name = "tick_id" if extra == TICK else extra.name
    return np.concatenate([sequence.extras[STEPS][name] for sequence in sequences])
