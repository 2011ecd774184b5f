"""Jobs of Texas 42 that write files: shards of the oracle, labels."""
