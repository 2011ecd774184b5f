"""Exact beliefs about hidden hands of Hanabi."""
