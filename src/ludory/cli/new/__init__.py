"""`ludory new`."""
