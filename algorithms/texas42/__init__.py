"""Learning at Texas 42 from exact values."""
