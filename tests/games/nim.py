"""Two tiny games for tests of what is not Hanabi (several heads, simultaneous turns, competition, truncation, float observations), and a fixed policy."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ludory.envs.chance import begin_episode, draw
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field, Kernels, Look, Rules, header
from ludory.errors import OptionError

# --- Nim: seats in turn take 1 or 2 sticks from one heap; who takes the last stick wins. ---------------------------------

LARGEST_TAKE = 2


@kernel
def nim_reset(state, i):
    begin_episode(state, i)
    heaps, largest = state.heaps.shape[1], int(state.largest[i])
    for heap in range(heaps):
        drawn = 1 + draw(state, i, largest) if heap == 0 else draw(state, i, largest + 1)
        state.heaps[i, heap] = drawn if int(state.given[i]) == 0 else state.given_heaps[i, heap]
    state.given[i] = 0
    state.to_move[i] = 0
    state.turn[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def nim_legal(state, i, seat, mask):
    for heap in range(state.heaps.shape[1]):
        for take in range(LARGEST_TAKE):
            mask[heap * LARGEST_TAKE + take] = int(state.heaps[i, heap]) > take


@kernel
def take_sticks(state, i, heap, count):
    players, seat = state.rewards.shape[1], int(state.to_move[i])
    state.heaps[i, heap] -= min(count, int(state.heaps[i, heap]))
    left = 0
    for other in range(state.heaps.shape[1]):
        left += int(state.heaps[i, other])
    if left == 0:
        for s in range(players):
            state.rewards[i, s] = players - 1 if s == seat else -1
        state.terminated[i] = True
    state.turn[i] += 1
    state.to_move[i] = (seat + 1) % players
    if left > 0 and int(state.turn[i]) == int(state.limit[i]):
        state.truncated[i] = True


@kernel
def nim_step(state, i, action):
    take_sticks(state, i, action // LARGEST_TAKE, action % LARGEST_TAKE + 1)


@kernel
def nim_legal_by_heads(state, i, seat, mask):
    heaps = state.heaps.shape[1]
    for heap in range(heaps):
        mask[heap] = int(state.heaps[i, heap]) > 0
    for take in range(LARGEST_TAKE):
        mask[heaps + take] = True


@kernel
def nim_step_by_heads(state, i, action):
    take_sticks(state, i, action[0], action[1] + 1)


@kernel
def nim_observe(state, i, seat, out):
    """Heap sizes, then how many turns away the own move is."""
    heaps, players = state.heaps.shape[1], state.rewards.shape[1]
    for heap in range(heaps):
        out[heap] = int(state.heaps[i, heap])
    out[heaps] = (seat - int(state.to_move[i])) % players


def nim(players: int = 2, heaps: int = 3, largest: int = 4, limit: int = 100, two_heads: bool = False) -> Game:
    """Nim: sequential, zero sum, open; truncated after `limit` moves. `reset(options={"heaps": ...})` sets the heaps.

    two_heads: heap and number of sticks are chosen by a head each; of a heap with one stick, 2 takes that one.
    """

    def start(options: Mapping[str, Any], count: int) -> dict[str, np.ndarray]:
        if set(options) != {"heaps"}:
            raise OptionError(f"Nim has the reset option 'heaps', got {sorted(options)}")
        sizes = np.broadcast_to(np.asarray(options["heaps"], np.int32), (count, heaps))
        return {"given_heaps": sizes, "given": np.ones(count, np.int8)}

    facts = GameFacts(
        name="Nim",
        players=players,
        turns="sequential",
        reward="zero_sum",
        hidden_information=False,
        chance=True,
        heads=(Head("heap", heaps), Head("take", LARGEST_TAKE)) if two_heads else (Head("take", heaps * LARGEST_TAKE),),
        observation=ObservationSpec(
            "heaps", (heaps + 1,), "float32", flat_segments({"heaps": heaps, "turns": 1}), 0, max(largest, players)
        ),
        longest_game=min(limit, heaps * largest),
        min_return=-1,
        max_return=players - 1,
    )
    fields = {
        "heaps": Field("int32", (heaps,), low=0),
        "turn": Field("int32", low=0, high=limit),
        "largest": Field("int32", (), largest, low=largest, high=largest),
        "limit": Field("int32", (), limit, low=limit, high=limit),
        "given": Field("int8", low=0, high=0),
        "given_heaps": Field("int32", (heaps,), low=0),
    }
    rules = (nim_step_by_heads, nim_legal_by_heads) if two_heads else (nim_step, nim_legal)
    return Game(
        facts,
        Rules(fields=header(players) | fields, kernels=Kernels(nim_reset, *rules, nim_observe), start=start),
        look=Look(
            action_name=lambda head, action: (
                f"{facts.heads[head].name} {action + 1}"
                if two_heads
                else f"take {action % LARGEST_TAKE + 1} from heap {action // LARGEST_TAKE + 1}"
            ),
            info=lambda state, i: {"turn": int(state.turn[i])},
            text=lambda state, i, seat: " ".join("|" * int(heap) or "-" for heap in state.heaps[i]),
        ),
        id="Nim",
    )


# --- Matching: two seats choose a colour and a size at once, for a few rounds; no colour twice in a row. -----------------

COLORS, SIZES, NONE = 3, 2, -1


@kernel
def matching_reset(state, i):
    begin_episode(state, i)
    state.round[i] = 0
    state.bonus[i] = draw(state, i, COLORS)
    for seat in range(2):
        for head in range(2):
            state.last[i, seat, head] = NONE
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def matching_legal(state, i, seat, mask):
    for color in range(COLORS):
        mask[color] = int(state.last[i, seat, 0]) != color
    for size in range(SIZES):
        mask[COLORS + size] = True


@kernel
def matching_step(state, i, actions):
    """Seat 0 wins 1 if the colours match and 1/2 more if it is the bonus colour and the sizes match too, else it loses 1."""
    points = -1.0
    if actions[0, 0] == actions[1, 0]:
        points = 1.5 if actions[0, 0] == int(state.bonus[i]) and actions[0, 1] == actions[1, 1] else 1.0
    state.rewards[i, 0] = points
    state.rewards[i, 1] = points if int(state.shared[i]) else -points
    for seat in range(2):
        for head in range(2):
            state.last[i, seat, head] = actions[seat, head]
    state.bonus[i] = draw(state, i, COLORS)
    state.round[i] += 1
    state.terminated[i] = int(state.round[i]) == int(state.rounds[i])


@kernel
def matching_observe(state, i, seat, out):
    """Bonus colour, own last choice, the other's last choice, all one-hot."""
    out[int(state.bonus[i])] = 1
    at = COLORS
    for offset in range(2):
        for head in range(2):
            chosen = int(state.last[i, (seat + offset) % 2, head])
            if chosen != NONE:
                out[at + chosen] = 1
            at += COLORS if head == 0 else SIZES


def matching(rounds: int = 4, shared: bool = False) -> Game:
    """Matching: simultaneous, two heads, zero sum or (`shared`) cooperative."""
    parts = {"bonus": COLORS, "own_color": COLORS, "own_size": SIZES, "other_color": COLORS, "other_size": SIZES}
    facts = GameFacts(
        name="Matching",
        players=2,
        turns="simultaneous",
        reward="shared" if shared else "zero_sum",
        hidden_information=False,
        chance=True,
        heads=(Head("color", COLORS), Head("size", SIZES)),
        observation=ObservationSpec("bits", (sum(parts.values()),), "uint8", flat_segments(parts)),
        longest_game=rounds,
        min_return=-1.5 * rounds,
        max_return=1.5 * rounds,
    )
    fields = {
        "round": Field("int32", low=0, high=rounds),
        "rounds": Field("int32", (), rounds, low=rounds, high=rounds),
        "bonus": Field("int32", low=0, high=COLORS - 1),
        "shared": Field("int8", (), int(shared), low=int(shared), high=int(shared)),
        "last": Field("int32", (2, 2), NONE, low=NONE, high=(COLORS - 1, SIZES - 1)),
    }
    return Game(
        facts,
        Rules(header(2) | fields, Kernels(matching_reset, matching_step, matching_legal, matching_observe)),
        look=Look(
            action_name=lambda head, value: ("red", "green", "blue")[value] if head == 0 else ("small", "large")[value],
            info=lambda state, i: {"round": int(state.round[i]), "bonus": int(state.bonus[i])},
        ),
        id="Matching",
    )


# --- A fixed policy: the same mask and turn always give the same legal action. -------------------------------------------


def scripted(mask: np.ndarray, turn: int, head_sizes: Sequence[int]) -> np.ndarray:
    """Legal values (H,) under a flat mask (A,)."""
    parts = np.split(np.asarray(mask), np.cumsum(head_sizes)[:-1])
    return np.array([np.flatnonzero(part)[(7 * turn + 3) % np.count_nonzero(part)] for part in parts])
