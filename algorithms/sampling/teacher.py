"""`Teacher`: a frozen policy from a checkpoint, identified by the hash of its weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ludory.agents.networks.build import build_policy, saved_policy
from ludory.agents.networks.policy import Policy, refuse_not_finite
from ludory.checkpoints.checkpoint import read_checkpoint, weights_hash
from ludory.envs.conventions import check_conventions
from ludory.envs.game import Game
from ludory.errors import CheckpointError


class Teacher(NamedTuple):
    """A frozen policy, and the SHA-256 of its weights."""

    policy: Policy
    sha256: str


def load_teacher(file: str | Path, game: Game, device: torch.device) -> Teacher:
    """The policy of a checkpoint, frozen.

    Raises:
        CheckpointError: unreadable, or of a game with other observations or actions.
    """
    policy = policy_of(file, *read_checkpoint(file), game).to(device).eval().requires_grad_(False)
    return Teacher(policy, weights_hash(policy.state_dict()))


def policy_of(file: str | Path, header: Mapping[str, Any], tensors: Mapping[str, Tensor], game: Game) -> Policy:
    """The network that a checkpoint describes, with its weights, for `game`.

    Raises:
        CheckpointError: it does not fit the game.
    """
    policy = build_policy(saved_policy(file, header), game.facts)
    take_weights(policy, file, header, tensors, game)
    return policy


def take_weights(
    policy: Policy, file: str | Path, header: Mapping[str, Any], tensors: Mapping[str, Tensor], game: Game
) -> None:
    """Load a checkpoint's weights.

    Raises:
        CheckpointError: they do not fit the game, or are not finite.
    """
    check_conventions(header["env"].get("conventions", {}), game, str(file))
    weights = {name.partition("/")[2]: tensor for name, tensor in tensors.items() if name.startswith("policy/")}
    refuse_not_finite(file, weights)
    try:
        policy.load_state_dict(weights)
    except RuntimeError as error:
        raise CheckpointError(
            f"{file}: the network of a {header.get('algorithm')} on {header['env']['id']} does not fit {game.id} ({error})"
        ) from error
