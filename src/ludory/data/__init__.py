"""Games on disk: replays with the one loop that plays a game for them, and trajectories for learners to read."""
