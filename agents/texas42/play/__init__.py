"""Agents that play tiles of Texas 42, and their beliefs about hidden hands."""
