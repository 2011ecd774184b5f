"""Ludory: games, agents and learning algorithms under one roof."""
