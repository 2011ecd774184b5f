"""Reset options of Texas 42: deal, shaker, contract, and the first bids and plays."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs import Game, KernelEngine, check_range, refuse_unknown
from ludory.errors import IllegalActionError, OptionError

from .options import check_contract
from .state import DEAL, DECLARE_0, PLAY_0, POSITION
from .tiles import TILE_NAMES, TILES, parse_tile

HAND_KEYS = ("deal", "seed_deal", "shaker", "bids", "decl", "plays")
PLAY_KEYS = ("deal", "seed_deal", "decl", "bid", "bidder", "leader", "points", "plays")
Fields = dict[str, NDArray[Any]]


def seed_deal(seed: int) -> list[list[int]]:
    """Four sorted hands: `random.Random(seed).shuffle` of 0..27 cut in sevens, as in oracle files."""
    tiles = list(range(TILES))
    random.Random(seed).shuffle(tiles)
    return [sorted(tiles[k : k + 7]) for k in range(0, TILES, 7)]


def start_hand(game: Game, given: Mapping[str, Any], count: int) -> Fields:
    """Field values for the next reset of `count` hands or matches; every option may also be a list of `count`.

    deal: 28 tile ids seat after seat, four lists of 7, or four texts "6-4,5-5,...". seed_deal: its seed.
    shaker: seat. bids: up to four action ids from the left of the shaker. decl: declared next. plays: tiles played next.
    `bids`, `decl` and `plays` need `deal` or `seed_deal`, and `shaker`; `plays` also `decl`.

    Raises:
        OptionError: unknown key, or a value that is not allowed; for illegal moves it lists the legal ones.
    """
    _check_keys(game, given, HAND_KEYS)
    fields = _deal_fields(given, count)
    if given.get("shaker") is not None:
        fields["given_shaker"] = _seats("shaker", given["shaker"], count)
    moves = [*_moves("bids", given, count, 4, 0)]
    if given.get("decl") is not None:
        moves += [_integers("decl", given["decl"], count) + DECLARE_0]
    moves += _moves("plays", given, count, TILES, PLAY_0)
    if not moves:
        return fields
    if "dealt" not in fields or "given_shaker" not in fields:
        raise OptionError("bids, decl and plays need deal=... (or seed_deal=...) and shaker=...")
    return _position(game, fields, moves, count)


def start_play(game: Game, given: Mapping[str, Any], count: int) -> Fields:
    """Field values for the next reset of `count` hands of fixed contract; every option may also be a list of `count`.

    deal, seed_deal: as `start_hand`. decl, bid, bidder, leader: the contract. points: of Team 0 and Team 1 to begin with.
    plays: tiles played, in order; they need `deal` (or `seed_deal`) and `decl`.

    Raises:
        OptionError: unknown key, or a value that is not allowed; for illegal moves it lists the legal ones.
    """
    _check_keys(game, given, PLAY_KEYS)
    fields = _deal_fields(given, count)
    standing = game.rules.fields["contract"].fill
    contract = np.full((count, 6), -1, np.int16)
    for column, (key, low, high) in enumerate([("decl", 0, 13), ("bid", 30, 294), ("bidder", 0, 3), ("leader", 0, 3)]):
        if given.get(key) is not None:
            contract[:, column] = _integers(key, given[key], count)
            for value in contract[:, column]:
                check_range(key, int(value), low, high)
    if given.get("points") is not None:
        contract[:, 4:] = _points(given["points"], count)
    reward = "make" if game.rules.fields["setup"].fill[8] == 0 else "points"
    for row in np.unique(contract[:, :4], axis=0):
        decl, bid, bidder, leader = (int(v) if v >= 0 else standing[k] for k, v in enumerate(row))
        check_contract(None if decl < 0 else decl, bid, bidder, None if leader < 0 else leader, reward)
    fields["given_contract"] = contract
    moves = _moves("plays", given, count, TILES, 0)
    if not moves:
        return fields
    if "dealt" not in fields or (contract[:, 0] < 0).any():
        raise OptionError("plays need deal=... (or seed_deal=...) and decl=...")
    return _position(game, fields, moves, count)


def _position(game: Game, fields: Fields, moves: list[NDArray[np.int64]], count: int) -> Fields:
    """All fields of the state after `moves`, which are played by the rules."""
    # the inner engine takes values of fields as its options
    engine = KernelEngine(
        replace(game, rules=replace(game.rules, start=lambda options, rows: dict(options))), count, seed=0, threads=1
    )
    engine.reset(options=fields)
    try:
        # moves are played by the rules, so that an illegal one is found and named
        for move in moves:
            engine.step(move)
    except IllegalActionError as error:
        raise OptionError(f"bids, decl or plays: {error}") from error
    if engine.over.any():
        raise OptionError(f"game {int(np.argmax(engine.over))} is over after the given moves: give fewer of them")
    kept = {name: array for name, array in engine.fields().items() if name in game.rules.fields}
    return {name: array for name, array in kept.items() if name not in ("random", "rewards")} | {
        "given": np.full(count, POSITION, np.int8)
    }


def _check_keys(game: Game, given: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    refuse_unknown(game.facts.name, "reset option", given, keys)
    if given.get("deal") is not None and given.get("seed_deal") is not None:
        raise OptionError("give either deal or seed_deal, not both")


def _deal_fields(given: Mapping[str, Any], count: int) -> Fields:
    if given.get("seed_deal") is not None:
        seeds = _integers("seed_deal", given["seed_deal"], count)
        deals = np.array([seed_deal(int(seed)) for seed in seeds]).reshape(count, TILES)
    elif given.get("deal") is not None:
        deals = _deals(given["deal"], count)
    else:
        return {}
    masks = (1 << deals.reshape(count, 4, 7)).sum(axis=2)
    return {"dealt": masks.astype(np.int32), "given": np.full(count, DEAL, np.int8)}


def _deals(deal: Any, count: int) -> NDArray[np.int64]:
    """The option `deal` as tile ids (count, 28)."""
    # texts are parsed, anything else is taken for numbers
    hands = [[parse_tile(tile) for tile in hand.split(",")] for hand in _texts(deal)] or deal
    try:
        array = np.asarray(hands)
    except ValueError as error:
        raise OptionError(f"deal: hands must be of one length, seven tiles ({error})") from error
    if array.dtype.kind not in "iu" or array.size not in (TILES, TILES * count):
        raise OptionError(
            f"deal: shape {array.shape}, dtype {array.dtype}: must be 28 tile ids, four lists of 7, or four texts "
            f'"6-4,5-5,..."; for each of {count} games, or once for all'
        )
    rows = array.reshape(-1, TILES).astype(np.int64)
    for row in rows:
        _check_deal(row)
    return np.broadcast_to(rows, (count, TILES))


def _texts(deal: Any) -> list[str]:
    """All hands if they are given as texts, else an empty list."""
    array = np.asarray(deal, dtype=object).ravel() if not isinstance(deal, np.ndarray) else deal.ravel()
    return [str(hand) for hand in array] if len(array) and all(isinstance(hand, str) for hand in array) else []


def _check_deal(row: NDArray[np.int64]) -> None:
    outside = row[(row < 0) | (row >= TILES)]
    if len(outside):
        raise OptionError(f"deal: {int(outside[0])} is no tile id, ids are 0..{TILES - 1}")
    times = np.bincount(row, minlength=TILES)
    missing = ", ".join(TILE_NAMES[tile] for tile in np.flatnonzero(times == 0))
    doubled = ", ".join(TILE_NAMES[tile] for tile in np.flatnonzero(times > 1))
    if missing:
        raise OptionError(f"deal: {missing} missing, {doubled} more than once")


def _moves(key: str, given: Mapping[str, Any], count: int, most: int, offset: int) -> list[NDArray[np.int64]]:
    """One array (count,) of action ids per move."""
    if given.get(key) is None:
        return []
    array = np.asarray(given[key])
    if array.ndim not in (1, 2) or (array.size and array.dtype.kind not in "iu") or array.shape[-1] > most:
        raise OptionError(f"{key}: must be at most {most} integers, the same number in each of {count} games")
    if array.ndim == 2 and len(array) != count:
        raise OptionError(f"{key}: {len(array)} rows for {count} games")
    rows = np.broadcast_to(array.astype(np.int64), (count, array.shape[-1]))
    return [row + offset for row in rows.T]


def _points(points: Any, count: int) -> NDArray[np.int64]:
    array = np.asarray(points)
    if array.shape not in ((2,), (count, 2)) or array.dtype.kind not in "iu" or array.min() < 0 or array.max() > 42:
        raise OptionError(f"points={points!r}: must be two integers from 0 to 42, for Team 0 and Team 1")
    return np.broadcast_to(array, (count, 2)).astype(np.int64)


def _seats(key: str, seats: Any, count: int) -> NDArray[np.int8]:
    array = _integers(key, seats, count)
    for seat in array:
        check_range(key, int(seat), 0, 3)
    return array.astype(np.int8)


def _integers(key: str, values: Any, count: int) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.shape not in ((), (count,)):
        raise OptionError(f"{key}={values!r}: must be an integer, or {count} of them")
    return np.broadcast_to(array, (count,)).astype(np.int64)
