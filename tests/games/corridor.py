"""A corridor with a goal at its right end and a hole at its left: one seat, rooms, and texts for language models."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ludory.envs.chance import begin_episode, draw
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Analysis, Field, Kernels, Look, Rules, header
from ludory.envs.rooms import SPLITS, split_of
from ludory.envs.text_codec import TextCodec, WorkedExample, decoder_of_names

LENGTH = 9
"""Cells: the hole is 0, the goal LENGTH - 1."""
ACTIONS = ("Left", "Right", "Jump")


@kernel
def corridor_reset(state, i):
    begin_episode(state, i)
    state.place[i] = state.room[i] if int(state.given[i]) else 1 + draw(state, i, LENGTH - 2)
    state.given[i] = 0
    state.steps[i] = 0
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def corridor_step(state, i, action):
    if action == 2:
        state.place[i] = 1 + draw(state, i, LENGTH - 2)
    else:
        state.place[i] += 2 * action - 1
    state.steps[i] += 1
    place = int(state.place[i])
    state.rewards[i, 0] = 1.0 if place == LENGTH - 1 else -0.125
    state.terminated[i] = place == 0 or place == LENGTH - 1
    state.truncated[i] = not state.terminated[i] and int(state.steps[i]) == int(state.limit[i])


@kernel
def corridor_legal(state, i, seat, mask):
    mask[0] = True
    mask[1] = True
    mask[2] = int(state.place[i]) != 4


@kernel
def corridor_observe(state, i, seat, out):
    out[int(state.place[i])] = 1


class CorridorRooms:
    """Rooms are places; the place itself stands for the hash, spread over the splits."""

    def draw(self, seeds, split=None):
        rooms = np.array([self._of(int(seed), split) for seed in seeds], np.int32)
        return {"room": rooms}

    def _of(self, seed: int, split: str | None) -> int:
        places = [p for p in range(1, LENGTH - 1) if split is None or SPLITS[int(split_of(self._hash(p)))] == split]
        return places[seed % len(places)]

    def _hash(self, place: int) -> int:
        return 1000 + {1: 85, 2: 95}.get(place, place)

    def hashes(self, options):
        return np.array([self._hash(int(room)) for room in options["room"]], np.uint64)


def write_line(state, rows, seat) -> list[str]:
    """`O..P....G`."""
    return [_line(int(state.place[row])) for row in rows]


def _line(place: int) -> str:
    cells = ["O", *("." * (LENGTH - 2)), "G"]
    cells[place] = "P"
    return "".join(cells)


def write_place(state, rows, seat) -> list[str]:
    """`P 3`."""
    return [f"P {int(state.place[row])}" for row in rows]


def write_compact(state, rows, seat) -> list[str]:
    """One word per cell, then `P 3`."""
    return [
        f"{' '.join(line)} {place}"
        for line, place in zip(write_line(state, rows, seat), write_place(state, rows, seat), strict=True)
    ]


def _example(style: str) -> WorkedExample:
    before, after = ("P 6", "P 8") if style in ("place", "places") else (_line(6), _line(8))
    return WorkedExample(before, "The goal is two steps to the right.", ("Right", "Right"), after)


STYLES: dict[str, Any] = {"line": write_line, "place": write_place, "compact": write_compact, "places": write_place}
CODEC = TextCodec(
    instruction="Walk to the goal and avoid the hole.",
    encode=lambda state, i, seat: write_line(state, [i], seat)[0],
    decode=decoder_of_names(lambda head, value: ACTIONS[value], len(ACTIONS)),
    symbols={"P": "you", "G": "goal", "O": "hole", ".": "floor"},
    action_names=ACTIONS,
    styles=STYLES,
    parsers={"place": lambda text: {"place": np.array(int(re.fullmatch(r"P (\d+)", text)[1]))}},
    example=_example,
)


def corridor(limit: int = 100) -> Game:
    """The game; a jump lands anywhere, and is not legal on cell 4."""
    facts = GameFacts(
        name="corridor",
        players=1,
        turns="sequential",
        reward="general",
        hidden_information=False,
        chance=True,
        heads=(Head("move", len(ACTIONS)),),
        observation=ObservationSpec("place", (LENGTH,), "uint8", flat_segments({"place": LENGTH})),
        longest_game=limit,
        min_return=-0.125 * limit,
        max_return=1,
    )
    fields = {
        "place": Field("int32", low=0, high=LENGTH - 1),
        "steps": Field("int32", low=0, high=limit),
        "limit": Field("int32", (), limit, low=limit, high=limit),
        "given": Field("int8", low=0, high=0),
        "room": Field("int32", low=0, high=LENGTH - 1),
    }
    return Game(
        facts,
        Rules(
            fields=header(1) | fields,
            kernels=Kernels(corridor_reset, corridor_step, corridor_legal, corridor_observe),
            start=lambda options, count: {
                "room": np.broadcast_to(np.asarray(options["room"], np.int32), count),
                "given": np.ones(count, np.int8),
            },
        ),
        look=Look(
            action_name=lambda head, value: ACTIONS[value],
            info=lambda state, i: {"success": int(state.place[i]) == LENGTH - 1},
        ),
        language=CODEC,
        analysis=Analysis(rooms=CorridorRooms()),
        id="Corridor",
    )
