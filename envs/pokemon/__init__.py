"""Pokémon battles on the rules of Pokémon Showdown."""
