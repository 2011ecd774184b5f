"""Agents that play tiles of Texas 42, and what they believe about hidden hands."""
