"""Sokoban."""
