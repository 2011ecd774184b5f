"""`ludory train` and `flywheel`."""
