"""Reads the recorded Hanabi games in tests/golden/hanabi (format in the README there) and replays them on any engine."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine.protocol import Engine
from ludory.envs.facts import Segment

FOLDER = Path(__file__).parents[1] / "golden" / "hanabi"
FILES = sorted(path.stem for path in FOLDER.glob("*.npz"))
OPTIONS = ("players", "colors", "ranks", "hand_size", "max_information_tokens", "max_life_tokens")

Golden = dict[str, Any]
Array = NDArray[Any]


def load(name: str) -> Golden:
    """Arrays of one file, with `meta` parsed and `options` for `make_game`."""
    with np.load(FOLDER / f"{name}.npz") as archive:
        data = {key: archive[key] for key in archive.files}
    meta = json.loads(str(data["meta"]))
    params = meta["params"]
    options = {key: params[key] for key in OPTIONS}
    options["observation"] = params.get("observation_type", "card_knowledge")
    options["terminal_deal"] = meta.get("terminal") == "rl_env"
    return data | {"meta": meta, "options": options}


def differences(engine: Engine, data: Golden, games: Any = None, most: int = 5) -> list[str]:
    """Replay recorded `games` (default all), one per game of `engine`; the first `most` differences in words, [] if none.

    Compares before every move and after the last one: counters, stacks, seat to move, legal mask, every seat's
    observation (by hash; bit for bit where the file keeps it); and after every move: rewards and end.
    """
    games = np.arange(len(data["deck"])) if games is None else np.asarray(games)
    assert len(games) == engine.num_games
    engine.reset(options={"deck": data["deck"][games]})
    first, lengths = data["step_ptr"][:-1][games], np.diff(data["step_ptr"])[games]
    found: list[str] = []
    for step in range(int(lengths.max()) + 1):
        position = _position(engine)
        running, ended = np.flatnonzero(step < lengths), np.flatnonzero(step == lengths)
        moves = first[running] + step
        before = f"before move {step + 1}"
        found += _compare(before, games, running, position, _recorded_decisions(data, moves))
        found += _compare(before, games, ended, position, _recorded_ends(data, games[ended]))
        found += _compare_whole(before, data, games, np.concatenate([running, ended]), step, position, engine)
        if len(found) >= most or not len(running):
            break
        actions = np.zeros(engine.num_games, np.int64)
        actions[running] = data["action"][moves]
        engine.step(actions)
        outcome = {"reward": to_numpy(engine.rewards), "done": to_numpy(engine.terminated)}
        recorded = {"reward": data["reward"][moves][:, None], "done": data["done"][moves]}
        found += _compare(f"after move {step + 1}", games, running, outcome, recorded)
    return found[:most]


def to_numpy(array: Any) -> Array:
    """An engine's array, which is a torch tensor on CUDA, as a NumPy array."""
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


COUNTERS = ("lives", "info", "score", "deck_size", "fireworks", "obs_crc")


def _position(engine: Engine) -> dict[str, Array]:
    """What the files hold of a position, for all games of `engine`."""
    state, players = engine.state, engine.facts.players
    packed = np.stack([to_numpy(engine.observe(seat=seat, packed=True)) for seat in range(players)], axis=1)
    fireworks, lives = to_numpy(state.fireworks), to_numpy(state.lives)
    return {
        "cur_player": to_numpy(engine.to_move),
        "legal": to_numpy(engine.legal()),
        "lives": lives,
        "info": to_numpy(state.tokens),
        "score": np.where(lives > 0, fireworks.sum(axis=1), 0),
        "deck_size": state.deck.shape[1] - to_numpy(state.deck_top).astype(int),
        "fireworks": fireworks,
        "packed": packed,
        "obs_crc": np.array([[zlib.crc32(seat.tobytes()) for seat in game] for game in packed], np.uint32),
    }


def _recorded_decisions(data: Golden, rows: Array) -> dict[str, Array]:
    legal = (data["legal"][rows, None] >> np.arange(data["meta"]["num_actions"], dtype=np.uint64)) & np.uint64(1)
    return {name: data[name][rows] for name in (*COUNTERS, "cur_player")} | {"legal": legal == 1}


def _recorded_ends(data: Golden, games: Array) -> dict[str, Array]:
    """A finished game has nobody to move, and its mask is all true."""
    nobody, all_true = np.full(len(games), -1), np.ones((len(games), data["meta"]["num_actions"]), bool)
    return {name: data[f"term_{name}"][games] for name in COUNTERS} | {"cur_player": nobody, "legal": all_true}


def _compare(
    when: str, games: Array, rows: Array, got: Mapping[str, Array], recorded: Mapping[str, Array]
) -> Iterator[str]:
    """Differences between rows `rows` of `got` and all of `recorded`."""
    for name, values in recorded.items():
        mine = got[name][rows]
        differs = mine != values
        for k in np.flatnonzero(differs.any(axis=tuple(range(1, differs.ndim)))):
            yield f"game {games[rows[k]]}, {when}: {name} is {_listed(mine[k])}, recorded {_listed(values[k])}"


def _listed(value: Any) -> str:
    array = np.asarray(value)
    return f"ids {np.flatnonzero(array).tolist()}" if array.dtype == bool and array.ndim else str(array.tolist())


def _compare_whole(
    when: str, data: Golden, games: Array, rows: Array, step: int, got: Mapping[str, Array], engine: Engine
) -> Iterator[str]:
    """The observations of those games whose file keeps them bit for bit."""
    whole = {int(game): int(start) for game, start in zip(data["full_game"], data["full_ptr"][:-1], strict=True)}
    for k in (k for k in rows if int(games[k]) in whole):
        kept = data["full_obs"][whole[int(games[k])] + step]
        for seat in np.flatnonzero((kept != got["packed"][k]).any(axis=1)):
            what = first_difference(got["packed"][k, seat], kept[seat], engine.facts.segments)
            yield f"game {games[k]}, {when}, seat {seat}: {what}"


def first_difference(got: Array, expected: Array, segments: tuple[Segment, ...]) -> str:
    """The first differing bit of two packed observations, named by its segment."""
    bit = int(np.flatnonzero(np.unpackbits(got) != np.unpackbits(expected))[0])
    segment = next((s for s in segments if s.start <= bit < s.start + s.length), Segment("padding", bit, 0))
    value = np.unpackbits(got)[bit]
    return f"bit {bit} ({segment.name}[{bit - segment.start}]) is {value}, recorded {1 - value}"
