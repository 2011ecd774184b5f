"""What a seat of the arena sees: `full`, `tactical`, and the whole scene for a privileged value."""
