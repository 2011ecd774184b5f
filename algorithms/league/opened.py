"""`open_league`: what a league left on disk, for reading."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, NoReturn

from ludory.algorithms.league.log.events import read_events, standing
from ludory.algorithms.league.log.recorded import recorded_config
from ludory.algorithms.league.log.state import LeagueState
from ludory.algorithms.league.log.state_snapshots import folded
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.errors import OptionError

from .config import LeagueConfig
from .player_files import Pool


class OpenedLeague(NamedTuple):
    """A league that does not run."""

    config: LeagueConfig
    game: Game
    state: LeagueState
    pool: Pool


def open_league(folder: str | Path) -> OpenedLeague:
    """Read a league's log; its frozen players can play.

    Raises:
        DataError: there is no league, or its log is damaged.
    """
    target = Path(folder)
    events = standing(read_events(target))
    config = recorded_config(events, target)
    state = folded(target, events, config.decay)
    game = make_game(config.env, **config.options)
    return OpenedLeague(config, game, state, Pool(target, game, state.player, _no_learner))


def _no_learner(id: str) -> NoReturn:
    raise OptionError(f"{id} still learns; name one of its frozen copies, such as {id}@0")
