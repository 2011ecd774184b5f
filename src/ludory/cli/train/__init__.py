"""`ludory train`, `train pipeline` and `flywheel`."""
