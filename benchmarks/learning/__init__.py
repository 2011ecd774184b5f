"""Learning curves, and the speed of learners."""
