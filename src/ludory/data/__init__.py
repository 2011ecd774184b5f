"""Games on disk, move by move: replays, and the one loop that plays a game for them."""
