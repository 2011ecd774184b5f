"""`Teacher`: a frozen policy from a checkpoint, identified by the hash of its weights."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch

from ludory.agents import Policy, policy_of
from ludory.checkpoints.checkpoint import read_checkpoint, weights_hash
from ludory.envs.game import Game


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
