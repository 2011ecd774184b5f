"""Files of older bots for a game like the arena: recorded ticks, feedback of a live client, manifests of runs."""
