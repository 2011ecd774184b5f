"""`ludory texas42`."""
