"""A game of remembering: each seat sees a bit at its first decision and is asked for it at its last. Without memory the mean return is 0.5."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any

from ludory.envs.chance import begin_episode, draw
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field, Kernels, Look, Rules, header


@kernel
def memory_reset(state, i):
    begin_episode(state, i)
    for seat in range(state.rewards.shape[1]):
        state.bit[i, seat] = draw(state, i, 2)
    state.turn[i] = 0
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def memory_legal(state, i, seat, mask):
    mask[0] = True
    mask[1] = True


@kernel
def memory_step(state, i, action):
    players, seat, turn = state.rewards.shape[1], int(state.to_move[i]), int(state.turn[i])
    asked = turn // players == int(state.decisions[i]) - 1
    paid = asked and action == int(state.bit[i, seat])
    for other in range(players):
        state.rewards[i, other] = 1 / players if paid else 0.0
    state.turn[i] = turn + 1
    state.to_move[i] = (turn + 1) % players
    state.terminated[i] = turn + 1 == players * int(state.decisions[i])


@kernel
def memory_observe(state, i, seat, out):
    turn = int(state.turn[i]) // state.rewards.shape[1]
    if turn == 0:
        out[int(state.bit[i, seat])] = 1
    if turn == int(state.decisions[i]) - 1:
        out[2] = 1


def make_memory(players: int = 1, decisions: int = 4) -> Game:
    """Seats take turns, `decisions` each; the answer of a seat pays 1 / players to all if it is the bit that it saw."""
    options: dict[str, Any] = {"players": players, "decisions": decisions}
    facts = GameFacts(
        name="Memory",
        players=players,
        turns="sequential",
        reward="shared",
        hidden_information=players > 1,
        chance=True,
        heads=(Head("answer", 2),),
        observation=ObservationSpec("bit", (3,), "uint8", flat_segments({"bit": 2, "asked": 1})),
        longest_game=players * decisions,
        min_return=0,
        max_return=1,
    )
    fields = {
        "bit": Field("int8", (players,), low=0, high=1),
        "turn": Field("int32", low=0, high=players * decisions),
        "decisions": Field("int32", (), decisions, low=decisions, high=decisions),
    }
    return Game(
        facts,
        Rules(header(players) | fields, Kernels(memory_reset, memory_step, memory_legal, memory_observe)),
        look=Look(action_name=lambda head, action: f"say {action}"),
        id="Memory-v0",
        options=options,
    )
