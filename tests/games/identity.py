"""A one-step game that any learner must master: the observation says which action pays."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any

from ludory.envs.chance import begin_episode, draw
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field, Kernels, Look, Rules, header

CHOICES = 4


@kernel
def identity_reset(state, i):
    begin_episode(state, i)
    state.asked[i] = draw(state, i, CHOICES)
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def identity_legal(state, i, seat, mask):
    for action in range(CHOICES):
        mask[action] = True


@kernel
def identity_step(state, i, action):
    state.rewards[i, 0] = 1 if action == int(state.asked[i]) else 0
    state.terminated[i] = True


@kernel
def identity_observe(state, i, seat, out):
    out[int(state.asked[i])] = 1


def make_identity(**options: Any) -> Game:
    """One seat, one decision, reward 1 for the action that the observation names."""
    facts = GameFacts(
        name="Identity",
        players=1,
        turns="sequential",
        reward="shared",
        hidden_information=False,
        chance=True,
        heads=(Head("action", CHOICES),),
        observation=ObservationSpec("asked", (CHOICES,), "uint8", flat_segments({"asked": CHOICES})),
        longest_game=1,
        min_return=0,
        max_return=1,
    )
    return Game(
        facts,
        Rules(
            header(1) | {"asked": Field("int8", low=0, high=CHOICES - 1)},
            Kernels(identity_reset, identity_step, identity_legal, identity_observe),
        ),
        look=Look(action_name=lambda head, action: f"say {action}"),
        id="Identity-v0",
        options=options,
    )
