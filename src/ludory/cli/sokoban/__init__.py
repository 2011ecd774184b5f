"""`ludory sokoban` and `ludory check rooms`."""
