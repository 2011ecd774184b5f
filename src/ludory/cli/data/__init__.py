"""`ludory record`, `convert` and `check data`: recorded games."""
