"""The quick policy of Texas 42: decisions of a player, and a small network fitted to them."""
