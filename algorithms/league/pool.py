"""`Pool`: the network or agent behind a player's id."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from ludory.agents.agent import Agent
from ludory.agents.make import make_agent
from ludory.agents.networks.policy import Policy
from ludory.algorithms.checkpoint import read_checkpoint
from ludory.algorithms.teacher import policy_of
from ludory.envs.game import Game
from ludory.errors import CheckpointError

from .cast import Entrant
from .state import PlayerRecord

KEPT = 8
"""Frozen networks held in memory; the least recently used leaves first, so that memory does not grow with the league."""


class Pool:
    """Learners as they are now, frozen players from their files, anchors by name.

    Args:
        folder: of the league.
        game: what is played.
        record: the entry of a player.
        live: the network of a learner.
    """

    def __init__(
        self, folder: Path, game: Game, record: Callable[[str], PlayerRecord], live: Callable[[str], Policy]
    ) -> None:
        self.folder, self.game, self._record, self._live = folder, game, record, live
        self._frozen: OrderedDict[str, Policy] = OrderedDict()
        self._anchors: dict[str, Agent] = {}

    def entrant(self, id: str) -> Entrant:
        """Who plays under this id.

        Raises:
            CheckpointError: the file of a frozen player is missing or is not what the log says.
        """
        player = self._record(id)
        if player.role == "anchor":
            if id not in self._anchors:
                self._anchors[id] = make_agent(id, self.game)
            return self._anchors[id]
        return self._of_file(player) if player.frozen else self._live(id)

    def _of_file(self, player: PlayerRecord) -> Policy:
        if player.id in self._frozen:
            self._frozen.move_to_end(player.id)
            return self._frozen[player.id]
        assert player.file is not None
        file = self.folder / player.file
        check_file(file, player.sha256)
        policy = policy_of(file, *read_checkpoint(file), self.game).eval().requires_grad_(False)
        self._frozen[player.id] = policy
        if len(self._frozen) > KEPT:
            self._frozen.popitem(last=False)
        return policy


def file_hash(file: Path) -> str:
    """SHA-256 of a file's bytes.

    Raises:
        CheckpointError: there is no such file.
    """
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except FileNotFoundError as error:
        raise CheckpointError(f"{file}: missing, but the log of the league names it; put it back") from error


def check_file(file: Path, sha256: str | None) -> None:
    """Refuse a file that is not what the log says.

    Raises:
        CheckpointError: it is missing or was changed.
    """
    found = file_hash(file)
    if found != sha256:
        raise CheckpointError(f"{file}: SHA-256 {found}, the log of the league says {sha256}; put the old file back")
