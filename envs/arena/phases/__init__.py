"""The phases of a tick of the arena, in files of their own; `rules.py` calls them in order."""
