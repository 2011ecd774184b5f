"""The event log of a league and the state that it adds up to."""
