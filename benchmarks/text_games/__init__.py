"""Benchmarks of the text games and of the language models that play them."""
