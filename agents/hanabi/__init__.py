"""Rule bots for Hanabi."""
