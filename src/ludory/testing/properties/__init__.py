"""The properties that `check_game` tests, a file per subject."""
