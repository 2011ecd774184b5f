"""The quick policy of Texas 42: decisions of PIMC, and a small network fitted to them."""
