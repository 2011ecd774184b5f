"""Solvers and optimal players of the puzzles."""
