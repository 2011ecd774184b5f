"""Games of hanab.live, read and written."""
