"""`Pool` finds the network or agent of a player id; `open_league` reads the league of a folder."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn
from weakref import WeakValueDictionary

from ludory.agents import Agent, Policy, make_agent, policy_of
from ludory.algorithms.league.log.events import FILE as LOG
from ludory.algorithms.league.log.events import read_events, standing
from ludory.algorithms.league.log.state import LeagueState, PlayerRecord, load_state
from ludory.checkpoints import read_checkpoint
from ludory.envs import Game, make_game
from ludory.errors import CheckpointError, OptionError
from ludory.paths import path_inside

from .config import LeagueConfig, recorded_config
from .opponent_runners import Opponent

PLAYERS, CHECKPOINTS = "players", "checkpoints"
"""Folders of frozen players and of the learners' last checkpoints."""
KEPT = 64
"""Frozen networks kept in memory beside those that play (least recently used), so that memory does not grow with the league."""


class Pool:
    """Current networks of learners, frozen players from their files, anchors by name.

    A frozen player's file is not read again while anybody holds its network.

    Args:
        folder: of the league.
        game: what is played.
        record: returns the entry of a player.
        live: returns the network of a learner.
    """

    def __init__(
        self, folder: Path, game: Game, record: Callable[[str], PlayerRecord], live: Callable[[str], Policy]
    ) -> None:
        self.folder, self.game, self._record, self._live = folder, game, record, live
        self._recent: OrderedDict[str, Policy] = OrderedDict()
        self._frozen: WeakValueDictionary[str, Policy] = WeakValueDictionary()
        """Networks that anybody holds, such as opponents in running games."""
        self._anchors: dict[str, Agent] = {}

    def opponent(self, id: str) -> Opponent:
        """The network or agent that plays under this id.

        Raises:
            CheckpointError: the file of a frozen player is missing or differs from the log.
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
            CheckpointError: the file is missing or differs from the log.
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
    """The file of a frozen player's weights, or of a learner's last checkpoint.

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
    """Refuse a file that differs from the log.

    Raises:
        CheckpointError: it is missing or was changed.
    """
    found = file_hash(file)
    if found != sha256:
        raise CheckpointError(f"{file}: SHA-256 {found}, the log of the league says {sha256}; put the old file back")


class OpenedLeague(NamedTuple):
    """A league that is not running."""

    config: LeagueConfig
    game: Game
    state: LeagueState
    pool: Pool

    @property
    def final_main(self) -> str:
        """Id of the newest frozen copy of a main."""
        return [player.id for player in self.state.players if player.frozen and player.role == "main"][-1]


def open_league(folder: str | Path) -> OpenedLeague:
    """Read the log of a league; its frozen players can play.

    Raises:
        DataError: there is no league, or its log is damaged.
    """
    target = Path(folder)
    events = standing(read_events(target))
    config = recorded_config(events, target)
    state = load_state(target, events, config.decay)
    game = make_game(config.env, **config.options)
    return OpenedLeague(config, game, state, Pool(target, game, state.player, _no_learner))


def _no_learner(id: str) -> NoReturn:
    raise OptionError(f"{id} still learns; name one of its frozen copies, such as {id}@0")
