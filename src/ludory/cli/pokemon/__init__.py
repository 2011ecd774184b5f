"""`ludory pokemon`."""
