"""`ludory league`."""
