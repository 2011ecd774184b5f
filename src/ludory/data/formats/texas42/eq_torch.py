"""E[Q] records to and from the `torch.save` dictionaries of the first pipeline. Reading executes nothing in the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.envs import make_engine
from ludory.envs.texas42.start import seed_deal
from ludory.envs.texas42.tiles import NELLO_HIGH, tiles_of
from ludory.envs.texas42.worlds import Worlds, knowledge
from ludory.errors import DataError, LudoryError
from ludory.reading import check_zip, parse_json

from .eq_records import BINS, COLUMNS, DECISIONS, SLOTS, EqGame, check_game
from .names import split_of

ADDED = ("hand_slots", "p_make", "worlds_total", "banked", "bid", "bidder", "seat", "entropy", "window_nll")
"""Tensors that the first pipeline did not write."""
OWN = ("game_idx", "decision_idx", "train_mask")
"""Tensors that follow from the seed of a file."""
BID, BIDDER = 30, 0
"""Contract of its hands; the declaration is the last digit of the seed, and seat 0 leads."""


def write_pt(file: str | Path, game: EqGame) -> None:
    """Write a dictionary of the tensors by name, and `metadata` as JSON.

    Raises:
        OutputError: the file cannot be written.
    """
    import torch

    content = {name: torch.from_numpy(game.columns[name].copy()) for name in COLUMNS}
    with atomic_file(file) as handle:
        torch.save(content | {"metadata": json.dumps(game.header, sort_keys=True)}, handle)


def read_pt(file: str | Path) -> EqGame:
    """Read such a dictionary. One without a deal comes from the first pipeline; what that did not write is computed by replaying the hand.

    Raises:
        DataError: the file cannot be read without executing code, or violates the schema.
    """
    import torch

    try:
        check_zip(file, sums=True)
        content = torch.load(file, map_location="cpu", weights_only=True)
        metadata = content.pop("metadata", {})
        header = parse_json(metadata) if isinstance(metadata, str) else dict(metadata)
        if not isinstance(header, dict):
            raise TypeError(f"metadata {header!r}")
        columns = {name: tensor.numpy() for name, tensor in content.items()}
    except DataError:
        raise
    except Exception as error:  # torch raises many kinds of errors on damaged data
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise DataError(f"{file} cannot be read ({reason}): must be a dictionary of tensors and metadata") from error
    if "deal" not in header:
        header, columns = _completed(header, columns, file)
    game = EqGame(header, columns)
    check_game(game, file)
    return game


def _completed(
    header: dict[str, Any], columns: dict[str, NDArray[Any]], file: str | Path
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and tensors of a hand of the first pipeline in Ludory's form."""
    known = _cast(columns, file)
    seed = header["seed"] if "seed" in header else known["game_idx"][0] if "game_idx" in known else None
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise DataError(f"{file}: seed {seed!r} in metadata, must be the number that the deal follows from")
    seed = int(seed)
    decl = header.get("decl_id", seed % 10)
    if decl not in range(NELLO_HIGH):
        raise DataError(f"{file}: decl_id {decl!r} in metadata, must lie in 0..{NELLO_HIGH - 1}")
    hands = seed_deal(seed)
    deal = [tile for hand in hands for tile in hand]
    fixed = {"seed": seed, "decl_id": decl, "deal": deal, "leader": 0, "bidder": BIDDER, "bid": BID}
    own = {
        "game_idx": np.full(DECISIONS, seed, np.int64),
        "decision_idx": np.arange(DECISIONS),
        "train_mask": np.full(DECISIONS, split_of(seed) == "train"),
    }
    return header | fixed, {**own, **known, **_played_again(known, hands, fixed, file)}


def _cast(columns: dict[str, NDArray[Any]], file: str | Path) -> dict[str, NDArray[Any]]:
    """The required tensors, cast to Ludory's types; others are left out."""
    found = {}
    for name, (kind, shape) in COLUMNS.items():
        if name in columns:
            if columns[name].shape != (DECISIONS, *shape):
                raise DataError(
                    f"{file}: {name} is {columns[name].shape}, must be {(DECISIONS, *shape)}: one hand a file"
                )
            found[name] = columns[name].astype(kind)
        elif name not in (*ADDED, *OWN):
            raise DataError(f"{file}: {name} is missing")
    return found


def _played_again(
    known: dict[str, NDArray[Any]], hands: list[list[int]], contract: dict[str, Any], file: str | Path
) -> dict[str, NDArray[Any]]:
    """The tensors `ADDED`, found by replaying the hand; unknown properties of the weights are NaN."""
    added = {name: np.zeros((DECISIONS, *COLUMNS[name][1]), COLUMNS[name][0]) for name in ADDED}
    added["hand_slots"][:], added["bid"][:] = -1, BID
    added["entropy"][:] = added["window_nll"][:] = np.nan
    engine = make_engine("Texas42Play-v0", 1)
    options = {name: contract[name] for name in ("deal", "bid", "bidder", "leader")}
    engine.reset(options=options | {"decl": contract["decl_id"]})
    points = np.arange(BINS) - BINS // 2
    for k in range(DECISIONS):
        seat, banked = int(engine.state.to_move[0]), engine.state.points[0]
        slots = [hands[seat].index(tile) for tile in tiles_of(int(engine.state.held[0, seat]))]
        added["hand_slots"][k, : len(slots)] = slots
        added["seat"][k], added["banked"][k] = seat, banked
        added["worlds_total"][k] = Worlds(knowledge(engine.state, 0, seat)).count
        declares, need = seat % 2 == BIDDER % 2, BID - int(banked[BIDDER])
        makes = (points if declares else -points) >= 2 * need - (42 - int(banked.sum()))
        added["p_make"][k] = known["e_q_pdf"][k] @ (makes if declares else ~makes).astype(np.float32)
        slot = int(known["action_taken"][k])
        try:
            engine.step(np.array([hands[seat][slot] if 0 <= slot < SLOTS else -1]))
        except LudoryError as error:
            raise DataError(
                f"{file}, decision {k}, action_taken: slot {slot} is not a tile that seat {seat} may play in the deal of seed "
                f"{contract['seed']}, declaration {contract['decl_id']}"
            ) from error
    return added
