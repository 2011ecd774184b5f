"""Engines: batches of games as arrays, on the CPU, on a GPU, or around games whose rules live elsewhere."""
