"""Trained agents that ship with Ludory: for each a file of weights, and a card that says how it was made and how it plays."""
