"""Minari datasets (the Farama Foundation's format for offline data) as trajectories, and trajectories as Minari datasets.

Minari stores episodes of one actor. A trajectory set becomes one episode for each seat of each game, with observations
{"observation", "action_mask", "seat"} and infos `game`, `step` and `log_prob`.
"""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.data.checks import seat_order
from ludory.data.columns import UNKNOWN_SEED, Columns, concatenated, from_table, game_starts, taken
from ludory.data.dataset import TrajectoryDataset
from ludory.data.decisions import game_numbers
from ludory.data.header import TrajectoryHeader, header_from_json, header_to_json
from ludory.envs import make_game
from ludory.envs.facts import Head, ObservationSpec, Segment
from ludory.errors import DataError, LudoryError, PluginError
from ludory.reading import JsonError, parse_json

HEADER = "ludory_header"
"""Key of Ludory's header in the metadata of a Minari dataset."""


def _minari(*others: str) -> Any:
    """Import the package; `others` are packages that its HDF5 files need."""
    try:
        for name in others:
            importlib.import_module(name)
        return importlib.import_module("minari")
    except ImportError as error:
        raise PluginError(
            f'Minari datasets need {error.name}, which is not installed; type: pip install "ludory[minari]"'
        ) from error


class MinariTrajectories:
    """A Minari dataset, read in parts.

    Actions are Discrete, MultiDiscrete or MultiBinary. Observations are Box, MultiBinary, Discrete (as one-hot), or Dicts and Tuples of
    these, which are concatenated; 0/1 observations are stored as bits. Legal actions are `action_mask` of the observation or of the
    infos, else all. An episode is a game with one seat, but datasets written by `write_minari` are restored to their games.

    Args:
        source: folder of a dataset, or an id known to `minari.load_dataset`.

    Raises:
        PluginError: minari is not installed.
        DataError: the dataset does not exist, or its spaces are not supported.
    """

    def __init__(self, source: str | Path) -> None:
        self._dataset = _loaded(source)
        self.source = str(source)
        with _damage_told(source):
            stored = self._dataset.storage.metadata.get(HEADER)
            self.header = self._described() if stored is None else header_from_json(_parsed(stored, source), source)
        self._ours = stored is not None

    def _described(self) -> TrajectoryHeader:
        """A header made from the spaces."""
        spaces = _spaces()
        space = self._dataset.observation_space
        if isinstance(space, spaces.Dict) and "observation" in space.spaces:
            space = space.spaces["observation"]
        leaves = list(_leaves(space, "observation", self.source))
        sizes = [_size(leaf) for _, leaf in leaves]
        starts = np.cumsum([0, *sizes]).tolist()
        segments = tuple(
            Segment(name, start, size) for (name, _), start, size in zip(leaves, starts, sizes, strict=False)
        )
        bits = all(_is_bits(leaf) for _, leaf in leaves)
        lows = [float(np.min(leaf.low)) if isinstance(leaf, spaces.Box) else 0.0 for _, leaf in leaves]
        highs = [float(np.max(leaf.high)) if isinstance(leaf, spaces.Box) else 1.0 for _, leaf in leaves]
        spec = ObservationSpec(
            "minari",
            (sum(sizes),),
            "uint8" if bits else "float32",
            segments,
            min(lows),
            max(highs) if not bits else 1.0,
        )
        env = self._dataset.env_spec
        heads = _heads(self._dataset.action_space, self.source)
        return TrajectoryHeader(self._dataset.id if env is None else env.id, spec, heads, players=1)

    def parts(self) -> Iterator[Columns]:
        """Yield the games one by one.

        Raises:
            DataError: the files are damaged.
        """
        waiting: list[Columns] = []
        for columns in self._episodes():
            if waiting and waiting[0].games[0] != columns.games[0]:
                yield _one_game(waiting)
                waiting = []
            waiting.append(columns)
        if waiting:
            yield _one_game(waiting)

    def _episodes(self) -> Iterator[Columns]:
        with _damage_told(self.source):
            yield from map(self._episode, self._dataset.iterate_episodes())

    def _episode(self, episode: Any) -> Columns:
        seen, mask, seat = _parts_of(episode, len(episode.rewards))
        count, header, infos = len(episode.rewards), self.header, episode.infos or {}
        space = self._dataset.observation_space
        if isinstance(space, _spaces().Dict) and "observation" in space.spaces:
            space = space.spaces["observation"]
        flat = _flat(space, seen, count)
        legal = (
            np.ones((count, header.num_actions), bool) if mask is None else np.asarray(mask, bool).reshape(count, -1)
        )
        if legal.shape[1] != header.num_actions:
            raise DataError(
                f"{self.source}, episode {episode.id}, field 'action_mask': got {legal.shape[1]} values, must be {header.num_actions}"
            )
        last = np.arange(count) == count - 1
        terminated = last & np.asarray(episode.terminations, bool)
        start = getattr(self._dataset.action_space, "start", 0)
        known = infos.get("log_prob") if self._ours else None
        game = int(np.asarray(infos["game"]).ravel()[0]) if self._ours else int(episode.id)
        return Columns(
            games=np.full(count, game),
            seeds=np.full(count, UNKNOWN_SEED),
            steps=np.asarray(infos["step"]).ravel()[:count] if self._ours else np.arange(count),
            seats=np.asarray(seat).ravel()[:count].astype(np.int64) if self._ours else np.zeros(count, np.int64),
            observations=np.packbits(flat != 0, axis=1) if header.observation.bits else flat,
            masks=np.packbits(legal, axis=1),
            actions=np.asarray(episode.actions).reshape(count, -1).astype(np.int64) - start,
            log_probs=np.full((count, len(header.heads)), np.nan, np.float32)
            if known is None
            else np.asarray(known, np.float32).reshape(-1, len(header.heads))[:count],
            rewards=np.asarray(episode.rewards, np.float32),
            terminated=terminated,
            truncated=last & ~terminated,
            extras={},
        )


def write_minari(dataset: TrajectoryDataset, folder: str | Path, name: str = "ludory/trajectories-v0") -> int:
    """Write a set as a Minari dataset in `folder`, one episode for each seat of each game; returns the number of episodes.

    Read it with `minari.MinariDataset(folder / "data")`, or move the folder to where `minari.load_dataset(name)` looks. Its
    `recover_environment()` makes the Gymnasium view of the game, if the game can be made by its id. Minari requires an observation after
    the last action, which is not recorded, so the last one is repeated. Extra columns are left out.

    Raises:
        PluginError: minari, or its extra hdf5, is not installed.
        DataError: the folder exists.
    """
    minari, spaces, header = _minari("h5py", "PIL"), _spaces(), dataset.header
    target = Path(folder)
    if target.exists():
        raise DataError(f"{target} exists; name another folder")
    seen = (
        spaces.MultiBinary(header.observation.size)
        if header.observation.bits
        else spaces.Box(-np.inf, np.inf, (header.observation.size,), np.float32)
    )
    space = spaces.Dict(
        {
            "observation": seen,
            "action_mask": spaces.MultiBinary(header.num_actions),
            "seat": spaces.Discrete(header.players),
        }
    )
    sizes = header.head_sizes
    actions = spaces.Discrete(sizes[0]) if len(sizes) == 1 else spaces.MultiDiscrete(sizes)
    from minari.dataset.minari_storage import MinariStorage

    partial = target.absolute().with_name(
        f".{target.name}.partial"
    )  # Minari resolves names in the folder relative to it
    shutil.rmtree(partial, ignore_errors=True)
    (partial / "data").mkdir(parents=True)
    storage = MinariStorage.new(partial / "data", space, actions, _env_spec(header), "hdf5")
    plain = header_to_json(header) | {"extra_columns": []}
    storage.update_metadata(
        {
            "dataset_id": name,
            "minari_version": minari.__version__,
            "algorithm_name": ", ".join(header.agents) or "unknown",
            "description": f"{header.game} with options {dict(header.options)}, one episode for each seat of each game",
            HEADER: json.dumps(plain),
        }
    )
    storage.update_episodes(_episodes(dataset))
    episodes = int(storage.total_episodes)
    partial.rename(target)
    return episodes


def _env_spec(header: TrajectoryHeader) -> Any:
    """The `EnvSpec` of the game's Gymnasium view; None if the game cannot be made by its id here."""
    from gymnasium.envs.registration import EnvSpec

    try:
        make_game(header.game, **header.options)
    except LudoryError:
        return None
    return EnvSpec(
        header.game,
        "ludory.envs.views.gymnasium_env:make_env",
        order_enforce=False,
        disable_env_checker=True,
        kwargs={"game": header.game, **header.options},
    )


def _episodes(dataset: TrajectoryDataset) -> Iterator[Any]:
    from minari.data_collector import EpisodeBuffer

    header = dataset.header
    for table in dataset.tables():
        columns = from_table(table, header)
        order, first = seat_order(columns, header.players, game_numbers(columns.games))
        for rows in np.split(order, np.flatnonzero(first)[1:]):
            one = taken(columns, np.append(rows, rows[-1]))
            seen = one.observations
            if header.observation.bits:
                seen = np.unpackbits(seen, axis=1, count=header.observation.size).astype(np.int8)
            yield EpisodeBuffer(
                observations={
                    "observation": seen,
                    "action_mask": np.unpackbits(one.masks, axis=1, count=header.num_actions).astype(np.int8),
                    "seat": one.seats,
                },
                actions=one.actions[:-1, 0] if len(header.heads) == 1 else one.actions[:-1],
                rewards=one.rewards[:-1].tolist(),
                terminations=one.terminated[:-1].tolist(),
                truncations=one.truncated[:-1].tolist(),
                infos={"game": one.games, "step": one.steps, "log_prob": one.log_probs},
            )


@contextmanager
def _damage_told(source: str | Path) -> Iterator[None]:
    """Turn the many kinds of errors that Minari and h5py raise for damaged files into `DataError`."""
    try:
        yield
    except (LudoryError, ImportError):
        raise
    except Exception as error:
        raise DataError(
            f"{source} cannot be read as a Minari dataset ({type(error).__name__}: {error}); name its folder, or fetch it with "
            f"`minari download {source}`"
        ) from error


def _loaded(source: str | Path) -> Any:
    minari, path = _minari(), Path(source)
    try:
        with _damage_told(source):
            if path.is_dir():
                return minari.MinariDataset(str(path / "data" if (path / "data").is_dir() else path))
            return minari.load_dataset(str(source))
    except ImportError as error:
        raise PluginError(
            f'{source} needs more than is installed ({error}); type: pip install "ludory[minari]"'
        ) from error


def _parsed(stored: Any, source: str | Path) -> Any:
    try:
        return parse_json(stored)
    except (JsonError, TypeError) as error:
        raise DataError(f"{source}, field {HEADER!r}: got {error}, must be a JSON object") from error


def _spaces() -> Any:
    from gymnasium import spaces

    return spaces


def _leaves(space: Any, name: str, source: str) -> Iterator[tuple[str, Any]]:
    """Names and simple spaces, with Dicts and Tuples flattened."""
    spaces = _spaces()
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        for key, part in parts:
            yield from _leaves(part, f"{name}.{key}", source)
    elif isinstance(space, spaces.Box | spaces.MultiBinary | spaces.Discrete):
        yield name, space
    else:
        raise DataError(
            f"{source}, field {name!r}: got {space}, must be Box, MultiBinary, Discrete, or a Dict or Tuple of these"
        )


def _size(space: Any) -> int:
    return int(space.n) if isinstance(space, _spaces().Discrete) else int(np.prod(space.shape))


def _is_bits(space: Any) -> bool:
    if isinstance(space, _spaces().Box):
        return np.issubdtype(space.dtype, np.integer) and bool((space.low >= 0).all() and (space.high <= 1).all())
    return True


def _heads(space: Any, source: str) -> tuple[Head, ...]:
    spaces = _spaces()
    if isinstance(space, spaces.Discrete):
        return (Head("action", int(space.n)),)
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        return tuple(Head(f"action{head}", int(size)) for head, size in enumerate(space.nvec))
    if isinstance(space, spaces.MultiBinary):
        return tuple(Head(f"action{head}", 2) for head in range(_size(space)))
    raise DataError(f"{source}, field 'actions': got {space}, must be Discrete, MultiDiscrete or MultiBinary")


def _parts_of(episode: Any, count: int) -> tuple[Any, Any, Any]:
    """Observations, masks and seats of the first `count` steps; None if absent."""
    seen, infos = episode.observations, episode.infos or {}
    mask, seat = infos.get("action_mask"), None
    if isinstance(seen, dict) and "observation" in seen:
        seen, mask, seat = seen["observation"], seen.get("action_mask", mask), seen.get("seat")
    return seen, None if mask is None else mask[:count], seat


def _flat(space: Any, values: Any, count: int) -> NDArray[np.float32]:
    """(count, size) float32, the leaves concatenated."""
    spaces = _spaces()
    if isinstance(space, spaces.Dict | spaces.Tuple):
        keys = list(space.spaces) if isinstance(space, spaces.Dict) else range(len(space.spaces))
        return np.concatenate([_flat(space.spaces[key], values[key], count) for key in keys], 1)
    if isinstance(space, spaces.Discrete):
        places = np.arange(int(space.n)) + int(space.start)
        one_hot: NDArray[np.float32] = (np.asarray(values[:count]).reshape(-1, 1) == places).astype(np.float32)
        return one_hot
    return np.asarray(values)[:count].reshape(count, -1).astype(np.float32)


def _one_game(parts: list[Columns]) -> Columns:
    """Join the seats of a game as rows in the order of its moves."""
    rows = concatenated(parts)
    assert len(game_starts(rows.games)) == 1
    return taken(rows, np.lexsort((rows.seats, rows.steps)))
