"""Commands of Pokémon battles: the simulator's installation, and data."""
