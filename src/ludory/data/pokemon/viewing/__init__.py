"""Logs of Pokémon battles as pages and as text; no simulator is needed."""
