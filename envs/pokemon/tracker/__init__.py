"""What a seat knows of a battle, from protocol lines and requests: one implementation for live games and replays."""

from .state import BattleState, PokemonState, SideState
from .tracker import Tracker

__all__ = ["BattleState", "PokemonState", "SideState", "Tracker"]
