"""Scripted opponents for Pokémon battles."""
