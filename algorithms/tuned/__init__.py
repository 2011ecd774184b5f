"""Tuned settings of algorithms, as data: `ALGORITHM.json` holds one entry per game, which `ludory train` uses by default."""
