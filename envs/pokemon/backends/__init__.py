"""Programs that hold the rules of Pokémon battles, and how they are installed."""
