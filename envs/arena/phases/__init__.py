"""The phases of a tick of the arena; `rules.py` calls them in order."""
