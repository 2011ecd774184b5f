"""Search logs of Hanabi."""
