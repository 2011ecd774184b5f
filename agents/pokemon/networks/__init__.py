"""Networks for Pokémon battles: a shared encoder of Pokémon, scores of moves and switches by pointer, and two plain baselines."""
