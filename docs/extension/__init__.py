"""What the manual takes from the code itself, so that it cannot go stale: facts and pictures of games, options, ids, the reference."""
