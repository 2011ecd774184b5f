"""Exact values of Texas 42 with all hands open."""
