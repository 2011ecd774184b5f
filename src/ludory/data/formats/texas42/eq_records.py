"""E[Q] records, schema 2.1: the 28 decisions of a hand, with the value of each tile to a seat that sees only its own hand.

One safetensors file for each deal, with a header. A slot is a place in the mover's dealt hand, in ascending order of tiles. Values are
points still to be won by the mover's side.

| tensor | type, rows of | meaning |
| --- | --- | --- |
| `transcript_tokens` | uint8 [36, 8] | declaration, tiles held, plays in order; then zeros |
| `transcript_lengths` | int64 | tokens |
| `hand_slots` | int8 [7] | slot of the i-th tile held among the tokens, then -1 |
| `e_q_mean`, `e_q_var` | float32 [7] | mean and variance over worlds; -inf and 0 where the tile may not be played |
| `e_q_pdf` | float32 [7, 85] | probability of each value from -42 to 42 |
| `p_make` | float32 [7] | probability that the contract ends well for the mover's side; 0 where not legal |
| `legal_mask`, `action_taken` | bool [7], int64 | slots |
| `u_mean`, `u_max` | float32 | mean and largest standard deviation of the legal tiles |
| `ess`, `max_w`, `entropy`, `window_nll` | float32 | of the weights of the worlds |
| `n_samples`, `worlds_total` | int64 | number of worlds solved, and of all possible worlds |
| `converged` | bool | whether sampling stopped because the means were accurate enough |
| `exploration_mode`, `q_gap` | int8, float32 | 0 greedy, 1 Boltzmann, 2 epsilon, 3 blunder; mean value lost by it |
| `banked`, `bid`, `bidder`, `seat` | int8 [2], int16, int8, int8 | points of both teams so far; the contract; the seat to move |
| `game_idx`, `decision_idx`, `train_mask` | int64, int64, bool | seed; 0..27; whether the deal is of the training split |
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ludory.atomic import atomic_file
from ludory.envs.texas42.tiles import NELLO_HIGH, TILES
from ludory.errors import DataError
from ludory.reading import parse_json, shown

from .names import split_of

FORMAT, VERSION, HEADER, DIGEST = "ludory texas42 eq", "2.1", "ludory", "sha256"
DECISIONS, SLOTS, TOKENS, FEATURES, BINS = 28, 7, 36, 8, 85

COLUMNS: dict[str, tuple[str, tuple[int, ...]]] = {
    "transcript_tokens": ("uint8", (TOKENS, FEATURES)),
    "transcript_lengths": ("int64", ()),
    "hand_slots": ("int8", (SLOTS,)),
    "e_q_mean": ("float32", (SLOTS,)),
    "e_q_var": ("float32", (SLOTS,)),
    "e_q_pdf": ("float32", (SLOTS, BINS)),
    "p_make": ("float32", (SLOTS,)),
    "legal_mask": ("bool", (SLOTS,)),
    "action_taken": ("int64", ()),
    "u_mean": ("float32", ()),
    "u_max": ("float32", ()),
    "ess": ("float32", ()),
    "max_w": ("float32", ()),
    "entropy": ("float32", ()),
    "window_nll": ("float32", ()),
    "n_samples": ("int64", ()),
    "worlds_total": ("int64", ()),
    "converged": ("bool", ()),
    "exploration_mode": ("int8", ()),
    "q_gap": ("float32", ()),
    "banked": ("int8", (2,)),
    "bid": ("int16", ()),
    "bidder": ("int8", ()),
    "seat": ("int8", ()),
    "game_idx": ("int64", ()),
    "decision_idx": ("int64", ()),
    "train_mask": ("bool", ()),
}
"""Type and shape of a row of every tensor."""


RANGES = {
    "transcript_lengths": (1, TOKENS),
    "hand_slots": (-1, SLOTS - 1),
    "e_q_mean": (-42.001, 42.001),
    "e_q_var": (0, 42.0**2 * 4),
    "e_q_pdf": (-1e-6, 1.001),
    "p_make": (-1e-6, 1.001),
    "u_mean": (0, 100),
    "u_max": (0, 100),
    "max_w": (0, 1.001),
    "entropy": (-1e-3, 100),
    "window_nll": (-1e-3, 1e6),
    "n_samples": (1, 1 << 62),
    "worlds_total": (1, 1 << 62),
    "exploration_mode": (0, 3),
    "q_gap": (-1e-3, 84.001),
    "banked": (0, 42),
    "bidder": (0, 3),
    "seat": (0, 3),
}
"""Range of each tensor; of `e_q_mean` only where the tile is legal."""
MAY_BE_UNKNOWN = ("entropy", "window_nll")
HEADER_RANGES = {"seed": (1 << 63) - 1, "decl_id": NELLO_HIGH - 1, "leader": 3, "bidder": 3, "bid": (1 << 15) - 1}


class EqName(NamedTuple):
    """Deal of a file."""

    seed: int

    @property
    def path(self) -> Path:
        """Place below the folder: `train/seed_00000042.safetensors`."""
        return Path(split_of(self.seed)) / f"seed_{self.seed:08d}.safetensors"


class EqGame(NamedTuple):
    """A recorded hand."""

    header: dict[str, Any]
    """`seed`, `decl_id`, `deal` (28 tile ids, seat after seat), `leader`, `bid`, `bidder`, and the settings."""
    columns: dict[str, NDArray[Any]]
    """Tensors by name, as in `COLUMNS`; the first axis is the 28 decisions."""

    def hand(self, decision: int) -> list[int]:
        """Tile ids of the seat to move, by slot."""
        seat = int(self.columns["seat"][decision])
        return [int(tile) for tile in self.header["deal"][7 * seat : 7 * seat + 7]]

    @property
    def tiles(self) -> list[int]:
        """The 28 tiles in the order in which they were played."""
        return [self.hand(k)[int(self.columns["action_taken"][k])] for k in range(len(self.columns["seat"]))]


def empty_columns() -> dict[str, NDArray[Any]]:
    """All tensors of a hand, filled with zeros, means with -inf, and slots with -1."""
    columns = {name: np.zeros((DECISIONS, *shape), kind) for name, (kind, shape) in COLUMNS.items()}
    columns["e_q_mean"][:] = -np.inf
    columns["hand_slots"][:] = -1
    return columns


def write_eq(file: str | Path, game: EqGame) -> None:
    """Write a hand, atomically; equal hands give equal bytes.

    Raises:
        OutputError: the file cannot be written.
    """
    # the digest is of the tensors: safetensors itself has no checksum
    header = {"format": FORMAT, "version": VERSION} | game.header | {DIGEST: _digest(game.columns)}
    metadata = {HEADER: json.dumps(header, sort_keys=True)}  # one entry only: safetensors writes several in any order
    with atomic_file(file) as handle:
        handle.write(save({name: np.ascontiguousarray(game.columns[name]) for name in COLUMNS}, metadata))


def read_eq(file: str | Path) -> EqGame:
    """Read a recorded hand.

    Raises:
        DataError: the file is damaged or foreign, or violates the schema.
    """
    try:
        with safe_open(str(file), "numpy") as handle:
            header = _header(handle.metadata() or {}, file)
            columns = {name: cast(NDArray[Any], handle.get_tensor(name)) for name in handle.keys()}  # noqa: SIM118
    except DataError:
        raise
    except (OSError, SafetensorError, ValueError) as error:
        raise DataError(f"{file} cannot be read ({error}): must be a file of `ludory texas42 eq`") from error
    # files of older versions have none
    told = header.pop(DIGEST, None)
    game = EqGame(header, columns)
    check_game(game, file)
    # checked last, so that a wrong value is named before damage is told
    if told not in (None, _digest(columns)):
        raise DataError(f"{file} is damaged: its tensors are not those that were written")
    return game


def is_eq_file(file: Path) -> bool:
    """Whether a file begins like a recorded hand."""
    try:
        with open(file, "rb") as handle:
            return file.suffix == ".safetensors" and FORMAT.encode() in handle.read(1 << 12)
    except OSError:
        return False


def _digest(columns: dict[str, NDArray[Any]]) -> str:
    """SHA-256 of all tensors, in order."""
    found = hashlib.sha256()
    for name in COLUMNS:
        found.update(np.ascontiguousarray(columns[name]).tobytes())
    return found.hexdigest()


def _header(raw: dict[str, str], file: object) -> dict[str, Any]:
    header = parse_json(raw.get(HEADER, "{}"))
    if not isinstance(header, dict):
        raise DataError(f"{file}: the header is a {type(header).__name__}, must be a JSON object")
    if (header.get("format"), header.get("version")) != (FORMAT, VERSION):
        found = f"{header.get('format')!r} {header.get('version')!r}"
        raise DataError(f"{file}: format {found}, must be {FORMAT!r} {VERSION!r}; make one with `ludory texas42 eq`")
    return dict(header)


def check_game(game: EqGame, file: object) -> None:
    """Check a hand against the schema.

    Raises:
        DataError: the hand violates it; the message names file, tensor or row, and what is allowed.
    """
    for name, (kind, shape) in COLUMNS.items():
        found = game.columns.get(name)
        if found is None or found.shape != (DECISIONS, *shape) or str(found.dtype) != kind:
            got = "missing" if found is None else f"{found.dtype} {found.shape}"
            raise DataError(f"{file}: {name} is {got}, must be {kind} {(DECISIONS, *shape)}")
    _check_header(game.header, file)
    columns = game.columns
    # modulo, so that a wrong slot does not break the check that finds it
    taken = np.take_along_axis(columns["legal_mask"], columns["action_taken"][:, None] % SLOTS, 1)[:, 0]
    checks = {
        "action_taken": taken & (columns["action_taken"] >= 0) & (columns["action_taken"] < SLOTS),
        # -inf exactly where the tile may not be played
        "e_q_mean": (np.isfinite(columns["e_q_mean"]) == columns["legal_mask"]).all(axis=1),
        # probabilities of each legal slot add up to 1, of others to 0
        "e_q_pdf": np.allclose(columns["e_q_pdf"].sum(axis=2), columns["legal_mask"], atol=1e-3, rtol=0),
        "ess": (columns["ess"] <= columns["n_samples"] * 1.001) & (columns["ess"] >= 0.999),
        "game_idx": columns["game_idx"] == game.header["seed"],
        "decision_idx": columns["decision_idx"] == np.arange(DECISIONS),
        "train_mask": columns["train_mask"] == (split_of(game.header["seed"]) == "train"),
    }
    for name, (low, high) in RANGES.items():
        # illegal means are -inf, which is in no range
        found = np.where(columns["legal_mask"], columns[name], low) if name == "e_q_mean" else columns[name]
        checks.setdefault(name, np.ones(DECISIONS, bool))
        inside = ((found >= low) & (found <= high)) | (np.isnan(found) if name in MAY_BE_UNKNOWN else False)
        checks[name] = checks[name] & np.asarray(inside).reshape(DECISIONS, -1).all(axis=1)
    for name, good in checks.items():
        if not np.all(good):
            row = int(np.argmin(np.broadcast_to(good, DECISIONS)))
            raise DataError(
                f"{file}, decision {row}, {name}: {shown(columns[name][row].tolist())} is out of range or does not fit the legal slots"
            )
    # each tile once: the 28 choices are a permutation of the deal
    if sorted(game.tiles) != list(range(TILES)):
        raise DataError(f"{file}: action_taken: the tiles played are not the 28 tiles of the deal")


def _check_header(header: dict[str, Any], file: object) -> None:
    deal = header.get("deal")
    if not isinstance(deal, list) or any(type(one) is not int for one in deal) or sorted(deal) != list(range(TILES)):
        raise DataError(f"{file}: deal {shown(deal)}: must be the 28 tile ids, seat after seat")
    for name, most in HEADER_RANGES.items():
        value = header.get(name)
        if type(value) is not int or not 0 <= value <= most:
            raise DataError(f"{file}: {name} {shown(value)} in the header: must be an integer of 0..{most}")
