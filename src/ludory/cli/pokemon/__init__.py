"""Commands of Pokémon battles: installing the simulator, and data."""
