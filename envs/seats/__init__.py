"""Seats: the table at which agents play, and the seats of a policy and of its opponents."""
