"""The event log of a league, and the state after its events."""
