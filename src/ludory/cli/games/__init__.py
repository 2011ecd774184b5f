"""`ludory play` and `ludory watch`: one game at this terminal."""
