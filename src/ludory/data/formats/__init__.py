"""Formats of other programs, read as trajectories and written."""
