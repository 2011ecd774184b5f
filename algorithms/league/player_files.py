"""`Pool`: the network or agent behind a player's id."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from weakref import WeakValueDictionary

from ludory.agents.agent import Agent
from ludory.agents.make import make_agent
from ludory.agents.networks.policy import Policy
from ludory.algorithms.league.log.events import FILE as LOG
from ludory.algorithms.league.log.state import PlayerRecord
from ludory.algorithms.sampling.teacher import policy_of
from ludory.checkpoints.checkpoint import read_checkpoint
from ludory.envs.game import Game
from ludory.errors import CheckpointError, OptionError
from ludory.paths import path_inside

from .cast import Entrant

PLAYERS, CHECKPOINTS = "players", "checkpoints"
"""Folders of frozen players and of the learners' last checkpoints."""
KEPT = 64
"""Frozen networks held in memory beside those that play; the least recently used leaves first, so that memory does not grow with the league."""


class Pool:
    """Learners as they are now, frozen players from their files, anchors by name.

    The file of a frozen player is read once as long as somebody holds its network, however many others play.

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
        self._recent: OrderedDict[str, Policy] = OrderedDict()
        self._frozen: WeakValueDictionary[str, Policy] = WeakValueDictionary()
        """All that anybody holds, such as opponents in games that are under way."""
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

    def file(self, id: str) -> Path:
        """The checkpoint of a frozen player.

        Raises:
            OptionError: the player is not frozen.
            CheckpointError: the file is missing or is not what the log says.
        """
        player = self._record(id)
        if not player.frozen or player.file is None:
            raise OptionError(f"{id}: has no weights of its own in {self.folder}; name a frozen player such as main0@0")
        file = player_file(self.folder, player)
        check_file(file, player.sha256)
        return file

    def _of_file(self, player: PlayerRecord) -> Policy:
        policy = self._frozen.get(player.id)
        if policy is None:
            file = self.file(player.id)
            policy = policy_of(file, *read_checkpoint(file), self.game).eval().requires_grad_(False)
            self._frozen[player.id] = policy
        self._recent[player.id] = policy
        self._recent.move_to_end(player.id)
        if len(self._recent) > KEPT:
            self._recent.popitem(last=False)
        return policy


def player_file(folder: Path, player: PlayerRecord) -> Path:
    """Where the weights of a frozen player lie, or a learner's last checkpoint.

    Raises:
        CheckpointError: the log names a file that is not in `players/` or `checkpoints/` of the league.
    """
    file = path_inside(folder, player.file, folder / LOG, CheckpointError)
    home = folder / (PLAYERS if player.frozen else CHECKPOINTS)
    if file.parent != home:
        raise CheckpointError(
            f"{folder / LOG}: names {player.file!r} as the file of {player.id}; must be a file in {home}"
        )
    return file


def file_hash(file: Path) -> str:
    """SHA-256 of a file's bytes.

    Raises:
        CheckpointError: there is no such file.
    """
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except FileNotFoundError as error:
        raise CheckpointError(f"{file}: missing, but the log of the league names it; put it back") from error
    except OSError as error:
        raise CheckpointError(
            f"{file}: cannot be read ({error.strerror}), but the log of the league names it"
        ) from error


def check_file(file: Path, sha256: str | None) -> None:
    """Refuse a file that is not what the log says.

    Raises:
        CheckpointError: it is missing or was changed.
    """
    found = file_hash(file)
    if found != sha256:
        raise CheckpointError(f"{file}: SHA-256 {found}, the log of the league says {sha256}; put the old file back")
