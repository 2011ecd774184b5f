"""Pokémon battles as data: replays and input logs, the labels that can be read from them, and files of trajectories."""
