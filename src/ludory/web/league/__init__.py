"""The page of a league, also while it runs."""
