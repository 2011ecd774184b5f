"""Pokémon battles: single battles of Pokémon Showdown, two seats that move at once."""
