"""E[Q] of a decision with hidden hands: sampled worlds, their weights, and recorded play that explores."""
