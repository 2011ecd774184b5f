"""Hanabi as text and as SVG."""
