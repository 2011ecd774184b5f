"""Engines: batches of games as arrays, on the CPU, on a GPU, or for games whose rules run elsewhere."""
