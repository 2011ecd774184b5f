"""Decisions of a trajectory file one by one, with the call shapes of PyTorch's data sets; learners of Ludory read `shards` instead."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from ludory.atomic import atomic_folder
from ludory.cache_folder import cache_directory
from ludory.checkpoints import SUMS, check_checksums, write_checksums
from ludory.envs import Segment
from ludory.envs.pokemon.observation import ENCODER_VERSION
from ludory.envs.pokemon.vocab import VOCAB_SHA256
from ludory.errors import CheckpointError, DataError, OptionError

from .observations import SPECS, observation_for, observations_of
from .shards import check_origin, remapped
from .splitting import check_disjoint
from .trajectories import KINDS, MISSING, read_trajectories

if TYPE_CHECKING:
    import torch


class BattleSamples:
    """The labelled decisions of a trajectory file.

    Item k is a dict: one float32 array for each segment of the observation, `action` int64, `mask` bool [A], `weight` float32. Steps
    without a label, and those of weight 0, are not among them. The arrays are mapped from a cache folder, so that worker processes of any
    start method share them.

    Args:
        data_path: file of trajectories.
        observation: "entity", "flat" or "seed41"; None: entity, or seed41 for files of the seed's schema.
        max_trajectories: read the first ones only.
        max_samples: keep the first decisions only.
        kinds: of decisions to keep; None: all.
        weights: of kinds, instead of those in the file, such as {"single": 1.0}.
        train_path: refuse a file that shares a battle with this one.
        remap_vocab: accept data of other vocabularies, see `check_origin`.

    Raises:
        DataError: the file is damaged, shares battles, mixes numbers of actions, orders of moves or uses of gimmicks, is of other
            vocabularies, or has no label.
        OptionError: an argument is invalid.
    """

    def __init__(
        self,
        data_path: str | Path,
        observation: Literal["entity", "flat", "seed41"] | None = None,
        max_trajectories: int | None = None,
        max_samples: int | None = None,
        kinds: Collection[str] | None = None,
        weights: Mapping[str, float] | None = None,
        train_path: str | Path | None = None,
        remap_vocab: bool = False,
    ) -> None:
        for name, most in (("max_trajectories", max_trajectories), ("max_samples", max_samples)):
            if most is not None and most < 1:
                raise OptionError(f"{name}={most}: must be at least 1")
        for kind in (*(kinds or ()), *(weights or ())):
            if kind not in KINDS:
                raise OptionError(f"kind {kind!r}: must be one of {', '.join(KINDS)}")
        if train_path is not None:
            check_disjoint(train_path, data_path)
        # the first trajectory tells which schema the file has
        wanted = observation_for(next(iter(read_trajectories(data_path))), observation, data_path)
        self.segments: tuple[Segment, ...] = SPECS[wanted]().segments
        self.folder = cached_samples(data_path, wanted, remap_vocab)
        arrays = {
            name: np.load(self.folder / f"{name}.npy", mmap_mode="r")
            for name in ("actions", "weights", "kinds", "trajectories")
        }
        # a copy: the file on disk is shared and stays as it is
        weight = np.array(arrays["weights"])
        for kind, value in (weights or {}).items():
            weight[np.asarray(arrays["kinds"]) == KINDS.index(kind)] = value
        keep = (np.asarray(arrays["actions"]) != MISSING) & (weight > 0)
        if kinds is not None:
            keep &= np.isin(arrays["kinds"], [KINDS.index(kind) for kind in kinds])
        if max_trajectories is not None:
            keep &= np.asarray(arrays["trajectories"]) < max_trajectories
        self.rows: NDArray[np.int64] = np.flatnonzero(keep)[:max_samples]
        self.weights: NDArray[np.float32] = weight[self.rows]
        if not len(self.rows):
            raise DataError(
                f"{data_path}: no labelled decision is left; `ludory pokemon stats {data_path}` counts them"
            )
        self._open()

    def _open(self) -> None:
        self._arrays = {
            name: np.load(self.folder / f"{name}.npy", mmap_mode="r") for name in ("observations", "masks", "actions")
        }

    def __len__(self) -> int:
        """Number of decisions."""
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """One decision."""
        row = self.rows[index]
        seen = np.array(self._arrays["observations"][row])
        item: dict[str, Any] = {part.name: seen[part.start : part.start + part.length] for part in self.segments}
        return item | {
            "action": np.int64(self._arrays["actions"][row]),
            "mask": np.array(self._arrays["masks"][row]),
            "weight": np.float32(self.weights[index]),
        }

    def __getstate__(self) -> dict[str, Any]:
        """Without the mapped arrays, which another process opens itself."""
        return {name: value for name, value in self.__dict__.items() if name != "_arrays"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the arrays again."""
        self.__dict__.update(state)
        self._open()


def create_dataloader(
    data_path: str | Path, batch_size: int = 64, shuffle: bool = True, num_workers: int = 4, **options: Any
) -> torch.utils.data.DataLoader[dict[str, torch.Tensor]]:
    """A loader of the decisions of a file, as dicts of tensors.

    Args:
        data_path: file of trajectories.
        batch_size: decisions in a batch.
        shuffle: draw them in random order.
        num_workers: processes, which are spawned; 0 reads in this one.
        options: of `BattleSamples`.
    """
    import torch
    from torch.utils.data import DataLoader

    samples: Any = BattleSamples(data_path, **options)
    return DataLoader(
        samples,
        batch_size=batch_size,
        shuffle=shuffle,
        num_workers=num_workers,
        pin_memory=torch.cuda.is_available(),
        multiprocessing_context="spawn" if num_workers else None,
    )


def cached_samples(path: str | Path, observation: str, remap_vocab: bool = False) -> Path:
    """The folder of a file's arrays, computed now if it is not in the cache; its name holds the file's hash, encoder and vocabularies.

    Raises:
        DataError: the file is damaged, is of other vocabularies, or mixes numbers of actions, orders of moves or uses of gimmicks.
    """
    # by content, not by name: a file that changed gets another folder
    with Path(path).open("rb") as handle:
        digest = hashlib.sha256()
        while part := handle.read(1 << 20):
            digest.update(part)
    check_origin(next(iter(read_trajectories(path))), path, remap_vocab)
    name = f"{digest.hexdigest()[:16]}-{observation}-{ENCODER_VERSION}-{VOCAB_SHA256[:8]}"
    folder = cache_directory("pokemon-samples") / remapped(name, remap_vocab)
    if not _is_whole(folder):
        with atomic_folder(folder) as place:
            _write(Path(path), observation, place, remap_vocab)
            write_checksums(place)
    return folder


def _is_whole(folder: Path) -> bool:
    """Whether the arrays are there as they were written."""
    try:
        check_checksums(folder)
    except CheckpointError:
        return False
    # checksums are written last
    return (folder / SUMS).exists()


def _write(path: Path, observation: str, place: Path, remap_vocab: bool) -> None:
    """Count first, then fill arrays on disk: one trajectory at a time is in memory."""
    steps, shapes = 0, set[tuple[int, str, str]]()
    for one in read_trajectories(path):
        check_origin(one, path, remap_vocab)
        steps += len(one.steps)
        order, gimmick = (str(one.meta.get(name, "unknown")) for name in ("slot_order", "gimmick"))
        shapes.add((one.actions, order, gimmick))
    if len(shapes) > 1:
        told = "; ".join(
            f"{count} actions, slot_order {order}, gimmick {gimmick}" for count, order, gimmick in sorted(shapes)
        )
        raise DataError(
            f"{path}: all trajectories must have one number of actions, one order of moves and one use of gimmicks, got {told}"
        )
    size, actions = SPECS[observation]().shape[0], next(iter(shapes))[0]
    kinds: dict[str, tuple[Any, tuple[int, ...]]] = {
        "observations": (np.float32, (steps, size)),
        "masks": (np.bool_, (steps, actions)),
        "actions": (np.int64, (steps,)),
        "weights": (np.float32, (steps,)),
        "kinds": (np.int8, (steps,)),
        "trajectories": (np.int64, (steps,)),
    }
    # written to disk as they are filled: files may be larger than the memory
    arrays = {name: open_memmap(place / f"{name}.npy", "w+", dtype, shape) for name, (dtype, shape) in kinds.items()}
    start = 0
    for number, one in enumerate(read_trajectories(path)):
        found = observations_of(one, observation)
        rows = slice(start, start := start + len(one.steps))
        arrays["observations"][rows], arrays["masks"][rows] = found.observations, found.masks
        arrays["actions"][rows], arrays["weights"][rows] = found.actions, found.weights
        arrays["kinds"][rows] = [KINDS.index(kind) for kind in found.kinds]
        arrays["trajectories"][rows] = number
    for array in arrays.values():
        array.flush()
