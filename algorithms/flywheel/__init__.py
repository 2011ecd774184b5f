"""The flywheel: search from a blueprint, distil what it found into a network, and search from that one if it plays better."""
