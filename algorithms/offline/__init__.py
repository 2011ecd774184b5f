"""Learning from recorded games: batches, the training loop, augmentation."""
