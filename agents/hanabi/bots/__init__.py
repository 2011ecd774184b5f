"""Rule bots of Hanabi: IGGI, Piers, CheatBot, and all of them as agents."""
