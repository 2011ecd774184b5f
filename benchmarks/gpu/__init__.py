"""What one GPU gives: correctness against the CPU first, then rates, training and search."""
