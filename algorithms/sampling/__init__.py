"""Playing games to learn from: the sampler, its lanes, and the rollouts that it returns."""
