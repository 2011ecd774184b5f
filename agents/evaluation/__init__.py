"""Scores of agents: games that are the same for whoever plays them, and their statistics."""
