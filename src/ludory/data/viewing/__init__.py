"""Replays as pages and as videos."""
