"""Games on disk: replays with the one loop that plays a game for them, and trajectories for learners to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .checks import Problem
    from .columns import START, UNKNOWN_SEED, WEIGHT, Columns, concatenated, from_table, game_starts, taken, used_column
    from .dataset import TrajectoryDataset
    from .formats.game_format import CheckedGames, GameFormat, StoredGames
    from .formats.json_records import Problems, Record, json_records
    from .header import ExtraColumn, TrajectoryHeader, header_of
    from .playthrough import PlayedMove, Playthrough
    from .recording.decision_recorder import EARNED
    from .replay import record_replay, write_replay
    from .shards import MANIFEST, metadata_texts, open_shard, read_manifest, read_rows, write_dataset
    from .split import SPLITS, in_split_by_number
    from .viewing.game_rows import GameRow
    from .viewing.replay_page import LineTable, filled_page
    from .viewing.viewer import Viewer

__all__ = [
    "EARNED",
    "MANIFEST",
    "SPLITS",
    "START",
    "UNKNOWN_SEED",
    "WEIGHT",
    "CheckedGames",
    "Columns",
    "ExtraColumn",
    "GameFormat",
    "GameRow",
    "LineTable",
    "PlayedMove",
    "Playthrough",
    "Problem",
    "Problems",
    "Record",
    "StoredGames",
    "TrajectoryDataset",
    "TrajectoryHeader",
    "Viewer",
    "concatenated",
    "filled_page",
    "from_table",
    "game_starts",
    "header_of",
    "in_split_by_number",
    "json_records",
    "metadata_texts",
    "open_shard",
    "read_manifest",
    "read_rows",
    "record_replay",
    "taken",
    "used_column",
    "write_dataset",
    "write_replay",
]

__getattr__, __dir__ = published_by(__name__)
