"""Networks of Hanabi, and conversion of those of another program."""
