"""`open_league`: what a league left on disk, for reading."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, NoReturn

from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.errors import OptionError

from .config import LeagueConfig
from .events import read_events, standing
from .fold import folded
from .pool import Pool
from .recorded import recorded_config
from .state import LeagueState


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
