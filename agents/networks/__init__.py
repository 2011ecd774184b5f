"""Neural networks that choose moves: layers, policies, and the distribution over actions."""
