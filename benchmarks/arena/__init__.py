"""Benchmarks of the arena: speed, clones, leagues."""
