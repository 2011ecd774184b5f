"""Games on disk: replays with the one loop that plays a game for them, and trajectories for learners to read."""

from .formats.game_format import CheckedGames, GameFormat, StoredGames

__all__ = ["CheckedGames", "GameFormat", "StoredGames"]
