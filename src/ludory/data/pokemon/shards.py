"""Trajectory files of battles as cached datasets, so that learners read them like any other recorded games.

A dataset lies in the cache folder under the file's SHA-256, the observation, the version of the encoder and the vocabularies: a better
encoder needs no new file, and no dataset of an older one is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ludory import data
from ludory.atomic import atomic_file
from ludory.cache_folder import cache_directory
from ludory.claims import claimed
from ludory.data.dataset import NAMES
from ludory.data.formats.battles import game_id
from ludory.envs import Head, make_game
from ludory.envs.conventions import warn_of_rules
from ludory.envs.pokemon import NETWORKS
from ludory.envs.pokemon.formats import RULES
from ludory.envs.pokemon.observation import ENCODER_VERSION
from ludory.envs.pokemon.vocab import VOCAB_SHA256
from ludory.errors import DataError
from ludory.plugins import games

from .observations import SPECS, observation_for, observations_of
from .splitting import battle_lines
from .trajectories import MISSING, BattleTrajectory, read_trajectories

NOT_TOLD = (None, "", "unknown")
"""Values of `rules` of which nothing can be said, as in replays from elsewhere."""


def check_origin(trajectory: BattleTrajectory, place: object, remap_vocab: bool = False) -> None:
    """Compare the vocabularies and rules of a trajectory with this version's; other rules are a warning, once.

    Observations of trajectories with a `stream` are computed from names, so remapping is to compute them with this version's vocabularies.

    Args:
        trajectory: to be learnt from. Files of the seed's schema tell neither, and are taken as they are.
        place: its file, for messages.
        remap_vocab: accept another vocabulary where names are known.

    Raises:
        DataError: the vocabularies differ, and `remap_vocab` is False or the names are not known.
    """
    rules, found = trajectory.meta.get("rules"), trajectory.meta.get("vocab_sha256")
    if rules not in NOT_TOLD:
        warn_of_rules(str(place), str(rules), RULES)
    if found in (None, VOCAB_SHA256):
        return
    told = (
        f"{place}, battle {trajectory.replay_id}: vocab_sha256 {str(found)[:12]}, this version has {VOCAB_SHA256[:12]}"
    )
    if not trajectory.stream:
        raise DataError(
            f"{told}; the names of that vocabulary are not in the file (it has no stream), so its ids cannot be remapped: "
            "convert the replays again with `ludory pokemon convert`"
        )
    if not remap_vocab:
        raise DataError(
            f"{told}; type remap_vocab=True (--remap-vocab) to number the names of its stream by this version's vocabularies"
        )


def remapped(name: str, remap_vocab: bool) -> str:
    """Name of a cache folder; one that was made by remapping is not found without it."""
    return f"{name}-remapped" if remap_vocab else name


SHARD_GAMES = 500


class _Kind(NamedTuple):
    """What all trajectories of a dataset share, but for the format."""

    format: str
    actions: int
    slot_order: str
    gimmick: str


def cached_shards(path: str | Path, observation: str | None = None, remap_vocab: bool = False) -> Path:
    """The folder of the dataset of a trajectory file; converted now if it is not in the cache yet.

    Args:
        path: of the file.
        observation: "entity", "flat" or "seed41"; None: entity, or seed41 for files of the seed's schema.
        remap_vocab: accept data of other vocabularies, see `check_origin`.

    Raises:
        DataError: a line is not a trajectory, trajectories of several kinds are mixed, or they are of other vocabularies.
        OptionError: no such observation.
    """
    source = Path(path)
    first = next(iter(read_trajectories(source)))
    wanted = observation_for(first, observation, source)
    check_origin(first, source, remap_vocab)
    name = f"{_hash_of(source)[:16]}-{wanted}-{ENCODER_VERSION}-{VOCAB_SHA256[:8]}"
    folder = cache_directory("pokemon-data") / remapped(name, remap_vocab)
    if not (folder / data.MANIFEST).exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        # one process converts, the others wait for it
        with claimed(folder, wait=True):
            if not (folder / data.MANIFEST).exists():
                _convert(source, wanted, folder, remap_vocab)
    return folder


def _hash_of(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _convert(source: Path, observation: str, folder: Path, remap_vocab: bool) -> None:
    """Write the dataset beside its place, then rename: it appears whole or not at all."""
    # leftovers of a conversion that was killed
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="converting-") as place:
        target = Path(place) / "dataset"
        battles: dict[str, dict[str, str]] = {"names": {}, "logs": {}}
        sides, kinds = Counter[str](), Counter[_Kind]()
        for one in read_trajectories(source):
            check_origin(one, source, remap_vocab)
            sides[one.replay_id] += 1
            kinds[_kind(one)] += 1
        header = _header(source, observation, kinds)
        data.write_dataset(target, header, _battles(source, observation, sides, battles), SHARD_GAMES)
        with atomic_file(target / NAMES, "w") as handle:
            json.dump(battles, handle)
        os.rename(target, folder)


def _battles(
    source: Path, observation: str, sides: Counter[str], battles: dict[str, dict[str, str]]
) -> Iterator[data.Columns]:
    """The decisions of each battle, of one side or both; the sides may stand anywhere in the file."""
    # both sides wait for each other, wherever they stand in the file
    waiting: dict[str, list[data.Columns]] = {}
    for one in read_trajectories(source):
        parts = waiting.setdefault(one.replay_id, [])
        parts.append(_columns(one, observation))
        battles["names"][str(game_id(one.replay_id))] = one.replay_id
        battles["logs"][str(game_id(one.replay_id))] = log_hash(one)
        if len(parts) == sides[one.replay_id]:
            rows = data.concatenated(waiting.pop(one.replay_id))
            yield data.taken(rows, np.lexsort((rows.seats, rows.steps)))


def log_hash(trajectory: BattleTrajectory) -> str:
    """SHA-256 of what all who saw the battle saw alike; "" without a stream."""
    lines = battle_lines(trajectory)
    return hashlib.sha256(lines.encode()).hexdigest() if lines else ""


def _columns(one: BattleTrajectory, observation: str) -> data.Columns:
    """The decisions of one side. A missing label is stored as the first legal action with weight 0, so that memories see the position."""
    found = observations_of(one, observation)
    count, missing = len(found.actions), found.actions == MISSING
    last = np.arange(count) == count - 1
    return data.Columns(
        games=np.full(count, game_id(one.replay_id)),
        seeds=np.full(count, data.UNKNOWN_SEED),
        steps=np.arange(count),
        seats=np.full(count, one.seat),
        observations=found.observations,
        masks=np.packbits(found.masks, axis=1),
        actions=np.where(missing, found.masks.argmax(1), found.actions)[:, None],
        log_probs=np.full((count, 1), np.nan, np.float32),
        rewards=found.rewards,
        terminated=last & one.steps[-1].done,
        truncated=last & (not one.steps[-1].done),
        extras={data.WEIGHT.name: np.where(missing, 0, found.weights).astype(np.float32)},
    )


def _header(source: Path, observation: str, kinds: Counter[_Kind]) -> data.TrajectoryHeader:
    """The header of the dataset: the game of the file's format, as it is played.

    Raises:
        DataError: formats of different actions, or orders of moves, in one file.
    """
    # most battles decide which game it is; different actions are refused
    (format, count, slot_order, gimmick), _ = kinds.most_common(1)[0]
    if len({kind[1:] for kind in kinds}) > 1:
        told = "; ".join(
            f"{kind.format or 'no format'}, {kind.actions} actions, slot_order {kind.slot_order}, gimmick {kind.gimmick}"
            for kind in kinds
        )
        raise DataError(
            f"{source}: a dataset is of one number of actions, one order of moves and one use of gimmicks, got {told}; split the file, or take "
            "gimmick='never' for all"
        )
    options: dict[str, Any] = {"observation": observation} if observation != "entity" else {}
    options |= {"gimmick": gimmick} if gimmick != "native" else {}
    options |= {"slot_order": slot_order} if slot_order != "request" else {}
    # the game whose id fixes just this format
    ids = [id for id in games.ids() if dict(games.get(id).fixed) == {"format": format}]
    if len(kinds) == 1 and format and ids:
        return data.header_of(make_game(ids[0], **options), extra_columns=(data.WEIGHT,))
    facts = {"turns": "simultaneous", "network": NETWORKS[observation]}
    heads = (Head("choice", count),)
    return data.TrajectoryHeader("pokemon", SPECS[observation](), heads, 2, extra_columns=(data.WEIGHT,), facts=facts)


def _kind(one: BattleTrajectory) -> _Kind:
    meta = one.meta
    return _Kind(
        str(meta.get("format", "")), one.actions, meta.get("slot_order", "request"), meta.get("gimmick", "native")
    )
