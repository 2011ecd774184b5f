"""Benchmarks of Hanabi agents, search and beliefs."""
