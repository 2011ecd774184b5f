"""Benchmarks of Texas 42: speed, strength, bidding, networks."""
