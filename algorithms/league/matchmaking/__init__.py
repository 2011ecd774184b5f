"""Who plays whom in a league, and when players are copied."""
