"""Benchmarks of Pokémon battles."""
